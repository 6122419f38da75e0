"""What careless data gets: an error that says which file, row and unit, and what is near."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import muster
from muster.errors import BadConfig, BadData
from tests.populations import rows_of

ROWS = 60


@pytest.fixture
def frame(rng: np.random.Generator) -> pl.DataFrame:
    given = rows_of(rng, rows=ROWS, units=3)
    scores = {f"p_{k}": given["scores"][:, k] for k in range(3)}
    return pl.DataFrame({"client": given["unit"], "label": given["truth"], **scores})


def _csv(frame: pl.DataFrame, folder: Path) -> str:
    frame.write_csv(folder / "a.csv")
    return str(folder / "a.csv")


def _parquet(frame: pl.DataFrame, folder: Path) -> str:
    frame.write_parquet(folder / "a.parquet")
    return str(folder / "a.parquet")


def _frame(frame: pl.DataFrame, _: Path) -> pl.DataFrame:
    return frame


doors = pytest.mark.parametrize("door", [_csv, _parquet, _frame], ids=["csv", "parquet", "frame"])
Door = Callable[[pl.DataFrame, Path], Any]
NAMED = {"truth": "label", "scores": "p_*", "unit": "client"}


@doors
def test_a_missing_column_names_what_is_there_and_what_is_near(
    door: Door, frame: pl.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(BadData, match=r"no column 'lable' .*did you mean 'label'\?; there are: client"):
        muster.evaluate(door(frame, tmp_path), **NAMED | {"truth": "lable"})
    with pytest.raises(BadData, match=r"no column matches 'q_\*'; there are: client, label, p_0"):
        muster.evaluate(door(frame, tmp_path), **NAMED | {"scores": "q_*"})


@doors
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.9, "the scores sum to"),
        (-0.2, "negative"),
        (float("nan"), "not a number"),
        (None, "not a number"),
    ],
)
def test_scores_that_are_not_probabilities_name_row_and_unit(
    door: Door, value: float | None, said: str, frame: pl.DataFrame, tmp_path: Path
) -> None:
    broken = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(value)).otherwise(pl.col("p_1")).alias("p_1"),
        pl.when(pl.int_range(pl.len()) == 7).then(0.9).otherwise(pl.col("p_0")).alias("p_0"),
    )
    unit = frame["client"][7]
    with pytest.raises(BadData, match=rf"scores of 1 rows .* row 7, unit {unit}: .*{said}"):
        muster.evaluate(door(broken, tmp_path), **NAMED)


@doors
def test_unnormalised_scores_are_divided_when_that_is_allowed(
    door: Door, frame: pl.DataFrame, tmp_path: Path
) -> None:
    doubled = frame.with_columns(pl.col("^p_.*$") * 2)
    with pytest.raises(BadData, match=r"sum to 2, not 1.*allow.unnormalised"):
        muster.evaluate(door(doubled, tmp_path), **NAMED)
    run = muster.evaluate(door(doubled, tmp_path), **NAMED, allow_unnormalised=True, draws=0)
    plain = muster.evaluate(frame, **NAMED, draws=0)

    assert run.value("log_loss") == pytest.approx(plain.value("log_loss"))


@doors
def test_labels_outside_the_classes_are_named(door: Door, frame: pl.DataFrame, tmp_path: Path) -> None:
    strange = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(8).otherwise("label").alias("label")
    )
    with pytest.raises(BadData, match=r"labels outside the classes: 8; the classes are 0, 1, 2"):
        muster.evaluate(door(strange, tmp_path), **NAMED)


@doors
@pytest.mark.parametrize("labels", [[5, 7, 9], ["cat", "dog", "owl"], [0.0, 1.0, 2.0], ["a=b", 'q"', "ü\n"]])
def test_labels_of_any_kind_are_mapped_and_none_is_dropped(
    door: Door, labels: list[Any], frame: pl.DataFrame, tmp_path: Path
) -> None:
    renamed = frame.with_columns(
        pl.col("label").replace_strict(dict(enumerate(labels)), return_dtype=pl.Series(labels).dtype)
    )
    run = muster.evaluate(door(renamed, tmp_path), **NAMED, draws=0)
    plain = muster.evaluate(frame, **NAMED, draws=0)

    assert run.estimate("accuracy").n == ROWS
    assert run.value("accuracy") == pytest.approx(plain.value("accuracy"))
    if labels[0] != 0:
        assert any("were taken as the classes" in note for note in run.manifest["notes"])


@doors
def test_missing_labels_are_counted(door: Door, frame: pl.DataFrame, tmp_path: Path) -> None:
    holes = frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("client").alias("client")
    )
    with pytest.raises(BadData, match=r"2 (of 60 )?rows"):
        muster.evaluate(door(holes, tmp_path), **NAMED)


@doors
def test_duplicated_rows_are_told_with_a_count(door: Door, frame: pl.DataFrame, tmp_path: Path) -> None:
    run = muster.evaluate(door(pl.concat([frame, frame[:9]]), tmp_path), **NAMED, draws=0)
    clean = muster.evaluate(door(frame, tmp_path), **NAMED, draws=0)

    assert run.manifest["notes"] == ["9 rows repeat another row in every column"]
    assert clean.manifest["notes"] == []


def test_duplicated_items_are_told_with_a_count(frame: pl.DataFrame) -> None:
    numbered = frame.with_columns(item=pl.int_range(pl.len()) // 2, client=pl.lit("one"))
    run = muster.evaluate(numbered, **NAMED, item="item", draws=0)

    assert run.manifest["notes"] == ["30 items are there more than once"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_an_empty_or_broken_file_is_named(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(b"")
    with pytest.raises(BadData, match=r"the file is empty"):
        muster.evaluate(file, **NAMED)
    file.write_bytes(b"PAR1 this is not what it says it is \x00\xff" * 20)
    with pytest.raises(BadData, match=name):
        muster.evaluate(file, **NAMED)


def test_a_truncated_parquet_file_is_named(frame: pl.DataFrame, tmp_path: Path) -> None:
    file = Path(_parquet(frame, tmp_path))
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(BadData, match=r"a\.parquet: cannot be read"):
        muster.evaluate(file, **NAMED)


def test_arrow_text_that_cannot_be_read_says_what_to_do(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_ipc(tmp_path / "a.arrow")
    with pytest.raises(BadData, match=r"Utf8View .*compat_level=polars\.CompatLevel\.oldest\(\)"):
        muster.evaluate(tmp_path / "a.arrow", **NAMED)


@doors
def test_no_rows_is_an_error(door: Door, frame: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(BadData, match="nothing to evaluate"):
        muster.evaluate(door(frame[:0], tmp_path), **NAMED)


def test_mixed_types_across_files_name_both_files(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_parquet(tmp_path / "a.parquet")
    frame.with_columns(pl.col("label").cast(pl.String)).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(BadData, match=r"'label' is BIGINT in .*a\.parquet and VARCHAR in .*b\.parquet"):
        muster.evaluate(tmp_path, **NAMED)


def test_files_of_different_kinds_are_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    _csv(frame, tmp_path)
    _parquet(frame, tmp_path)
    with pytest.raises(BadData, match="different kinds"):
        muster.evaluate(tmp_path, **NAMED)


def test_no_such_place(tmp_path: Path) -> None:
    for place in (tmp_path / "none.csv", tmp_path, str(tmp_path / "*.parquet")):
        with pytest.raises(BadData, match=r"no such file|no files of a known kind"):
            muster.evaluate(place, **NAMED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"guess": [0, 1]}, r"guess: expected one value a row \(3\)"),
        ({"scores": [[0.5, 0.5]]}, r"scores: expected numbers of shape \[rows, classes\]"),
        ({"scores": [["a", "b"]] * 3}, r"scores: expected numbers"),
        ({"guess": [0, 1, None]}, r"guess: 1 rows have no value, the first is row 2"),
        ({"guess": [0, 1, 0], "confidence": [0.5, 1.5, 0.1]}, r"confidence: .* row 1 has 1\.5"),
        ({}, r"need the answers \(guess\) or the scores"),
    ],
)
def test_arrays_that_do_not_fit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadData, match=said):
        muster.evaluate(truth=[0, 1, 1], **given)


def test_arrays_beside_a_frame_are_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(BadConfig, match="truth must name columns"):
        muster.evaluate(frame, truth=np.zeros(ROWS), scores="p_*")


def test_nothing_given() -> None:
    with pytest.raises(BadConfig, match="what is to be evaluated"):
        muster.evaluate()


def test_measures_that_the_data_cannot_give_are_named() -> None:
    with pytest.raises(BadData, match="auroc needs scores"):
        muster.evaluate(truth=[0, 1], guess=[0, 1], measures=["auroc"])


def test_exact_ranking_refuses_to_read_in_blocks(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.sources.stream.BLOCK", 10)
    with pytest.raises(BadData, match="auroc_exact need all rows of a unit at once"):
        muster.evaluate(_parquet(frame, tmp_path), **NAMED, measures=["auroc_exact"])
