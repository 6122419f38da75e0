"""Labels of every kind, through every door, mean the same; what cannot be told is said."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import muster
from muster.errors import BadConfig, BadData
from muster.sources.classes import resolve

TRUTH, GUESS = [0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1]


def _units(place: Any, **named: Any) -> dict[Any, int]:
    run = muster.evaluate(place, **{"truth": "y", "guess": "g", "unit": "u"} | named, draws=0)
    return dict(zip(run.units["unit"].tolist(), run.units["n"].tolist(), strict=True))


def _csv(folder: Path, **columns: Any) -> Path:
    pl.DataFrame({"y": TRUTH, "g": GUESS, "u": list("aabbcc")} | columns, strict=False).write_csv(
        folder / "a.csv"
    )
    return folder / "a.csv"


def test_versions_in_a_csv_stay_apart(tmp_path: Path) -> None:
    place = _csv(tmp_path, u=["1.1", "1.10", "1.2", "1.1", "1.10", "1.2"])

    assert _units(place) == {"1.1": 2, "1.10": 2, "1.2": 2}


def test_a_value_that_comes_late_in_a_csv_is_not_rounded(tmp_path: Path) -> None:
    rows = 30_000
    unit = [str(i % 3) for i in range(rows - 3)] + ["1.25"] * 3
    pl.DataFrame({"y": [0] * rows, "g": [0] * rows, "u": unit}).write_csv(tmp_path / "a.csv")

    assert _units(tmp_path / "a.csv")["1.25"] == 3


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), (True, False)])
def test_true_and_false_are_1_and_0(words: tuple[Any, Any], tmp_path: Path) -> None:
    truth = [words[0] if y else words[1] for y in TRUTH]
    place = _csv(tmp_path, y=truth)
    frame = pl.read_csv(place, infer_schema=False).with_columns(pl.col("g").cast(pl.Int64))
    for given in (place, frame):
        assert muster.evaluate(given, truth="y", guess="g", draws=0).value("accuracy") == pytest.approx(4 / 6)
    arrays = muster.evaluate(truth=np.array(TRUTH, bool), guess=GUESS, draws=0)

    assert arrays.value("accuracy") == pytest.approx(4 / 6)
    assert arrays.manifest["classes"] == ["0", "1"]


@pytest.mark.parametrize(
    ("times", "last"),
    [
        ([0.5, 1.25, 1.5] * 2, 1.5),
        ([-10.5, -9.5, -8.5] * 2, -8.5),
        ([1e-7, 0.5, 0.75] * 2, 0.75),
        (["round 9", "round 10", "round 9"] * 2, "round 10"),
        ([9, 10, 9] * 2, 10),
        (["2026-01-09", "2026-01-10", "2025-12-31"] * 2, "2026-01-10"),
    ],
)
def test_the_last_time_is_the_last_through_every_door(times: list[Any], last: Any, tmp_path: Path) -> None:
    place = _csv(tmp_path, t=times)
    frame = pl.DataFrame({"y": TRUTH, "g": GUESS, "u": list("aabbcc"), "t": times})
    frame.write_parquet(tmp_path / "a.parquet")
    for given in (place, tmp_path / "a.parquet", frame):
        run = muster.evaluate(given, truth="y", guess="g", unit="u", time="t", draws=0)

        assert run.estimates.where(run.estimates["summary"] == "gini")["time"].tolist() == [last]


@pytest.mark.parametrize("kind", [pd.Timestamp, date.fromisoformat, np.datetime64])
def test_dates_are_times(kind: Any) -> None:
    times = [kind(text) for text in ("2026-01-09", "2026-01-10", "2025-12-31")] * 2
    run = muster.evaluate(truth=TRUTH, guess=GUESS, time=times, draws=0)

    assert str(run.estimates["time"][-1]).startswith("2026-01-10")


def test_missing_values_of_any_library_are_refused() -> None:
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(BadData, match="unit: 1 rows have no value, the first is row 2"):
            muster.evaluate(truth=TRUTH, guess=GUESS, unit=["a", "b", missing, "a", "b", "a"])
    relation = duckdb.sql("SELECT 1 AS y, 1 AS g, nullif('c' || (i % 2), 'c1') AS u FROM range(4) t(i)")
    with pytest.raises(BadData, match="unit: 2 rows have no value"):
        muster.evaluate(relation, truth="y", guess="g", unit="u")


def test_a_slice_may_be_named_like_a_part(tmp_path: Path) -> None:
    place = _csv(tmp_path, time=["x", "y"] * 3, unit=["kg"] * 6, truth=["p", "q"] * 3)
    for given in (place, pl.read_csv(place)):
        run = muster.evaluate(
            given, truth="y", guess="g", unit="u", slices=["time", "unit", "truth"], draws=0
        )

        assert run.units["unit"].tolist() == ["a", "b", "c"]
        assert set(run.estimates["slice"].tolist()) >= {"time=x", "time=y", "unit=kg", "truth=p"}


def test_scores_are_matched_with_the_classes_they_name(rng: np.random.Generator) -> None:
    truth = rng.choice(["cat", "dog", "eel"], 300)
    scores = np.where(truth[:, None] == np.array(["cat", "dog", "eel"]), 0.8, 0.1)
    frame = pd.DataFrame(scores, columns=["p_cat", "p_dog", "p_eel"]).assign(y=truth)
    turned = ["p_eel", "p_dog", "p_cat"]

    assert muster.evaluate(frame, truth="y", scores=turned, draws=0).value("accuracy") == 1
    assert muster.evaluate(truth=truth, scores=frame[turned], draws=0).value("accuracy") == 1
    with pytest.raises(BadData, match="do not name the classes cat, dog, eel; say which is which"):
        muster.evaluate(frame.rename(columns={"p_cat": "p_cow"}), truth="y", scores="p_*")
    named = muster.evaluate(
        frame.set_axis(["a", "b", "c", "y"], axis=1), truth="y", scores=["a", "b", "c"],
        classes=["cat", "dog", "eel"], draws=0,
    )  # fmt: skip
    assert named.value("accuracy") == 1


@pytest.mark.parametrize(
    ("truth", "scores", "names"),
    [
        ([True, False], ["p_False", "p_True"], ("0", "1")),
        ([10, 11], ["p_11", "p_10"], ("11", "10")),
        (["a", "b"], ["score a", "score b"], ("a", "b")),
        (["a", "b"], ["a.prob", "b.prob"], ("a", "b")),
        ([0, 1], ["p_10", "p_11"], None),
    ],
)
def test_names_of_scores(truth: list[Any], scores: list[str], names: tuple[str, ...] | None) -> None:
    if names is None:
        with pytest.raises(BadData, match="do not name the classes"):
            resolve(truth, [], scores)
    else:
        assert resolve(truth, [], scores).names == names


def test_what_is_likely_a_mistake_is_noted() -> None:
    shifted = muster.evaluate(truth=[1, 2] * 20, scores=np.full((40, 3), 1 / 3), draws=0)
    apart = muster.evaluate(truth=["Cat", "Dog"], guess=["cat", "dog"], draws=0)

    assert "class 0 never occurs" in shifted.manifest["notes"][0]
    assert "written alike" in apart.manifest["notes"][0]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"classes": [0, 0, 1]}, BadData, "a class is named twice"),
        ({"unit": ["", "a", "b"] * 2}, BadData, "a unit has an empty name"),
        ({"slices": ["a"] * 6}, BadConfig, "slices: expected a mapping"),
        ({"confidence": ["x"] * 6}, BadData, "confidence: expected numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        muster.evaluate(truth=TRUTH, guess=GUESS, **given)


def test_something_that_is_no_table_is_refused() -> None:
    with pytest.raises(BadConfig, match="expected a path, a table or a mapping of columns, got int"):
        muster.evaluate(3, truth="y", guess="g")


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    place = _csv(tmp_path)
    with pytest.raises(BadData, match="named more than once"):
        muster.evaluate([place, str(tmp_path / "*.csv")], truth="y", guess="g")


def test_hidden_folders_and_runs_are_no_data(tmp_path: Path) -> None:
    _csv(tmp_path)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    _csv(tmp_path / ".ipynb_checkpoints")
    run = muster.evaluate(tmp_path, truth="y", guess="g", draws=0)
    run.save(tmp_path / "runs" / "first")
    again = muster.evaluate(tmp_path, truth="y", guess="g", draws=0)

    assert run.estimate("accuracy").n == again.estimate("accuracy").n == 6


def test_a_file_name_with_brackets_is_that_file(tmp_path: Path) -> None:
    _csv(tmp_path).rename(tmp_path / "a[1].csv")
    pl.DataFrame({"y": [0] * 9, "g": [0] * 9, "u": ["z"] * 9}).write_csv(tmp_path / "a1.csv")

    assert _units(tmp_path / "a[1].csv") == {"a": 2, "b": 2, "c": 2}


def test_a_line_of_a_csv_that_begins_like_a_comment_is_a_line(tmp_path: Path) -> None:
    place = _csv(tmp_path, u=["#1", "#1", "b", "b", "#1", "c"])
    text = place.read_text(encoding="utf-8").replace("y,g,u", "u,y,g")
    rows = [",".join([line.split(",")[2], *line.split(",")[:2]]) for line in text.splitlines()[1:]]
    place.write_text("\n".join(["u,y,g", *rows]) + "\n", encoding="utf-8")

    assert _units(place) == {"#1": 3, "b": 2, "c": 1}


def test_files_whose_csv_types_were_guessed_differently_go_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,p_0,p_1,u\n0,1,0,7\n1,0,1,7\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("y,p_0,p_1,u\n0,0.6,0.4,c1\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("y,p_0,p_1,u\n", encoding="utf-8")
    run = muster.evaluate(tmp_path, truth="y", scores="p_*", unit="u", draws=0)

    assert run.units["unit"].tolist() == ["7", "c1"]
    assert run.value("accuracy") == 1


def test_a_column_that_is_not_used_may_differ(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": TRUTH, "g": GUESS, "extra": [1] * 6})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.with_columns(pl.col("extra").cast(pl.String)).write_parquet(tmp_path / "b.parquet")

    assert muster.evaluate(tmp_path, truth="y", guess="g", draws=0).estimate("accuracy").n == 12


def test_folders_may_give_a_column_of_any_text(tmp_path: Path) -> None:
    for client in ("1", "c1"):
        (tmp_path / f"client={client}").mkdir()
        pl.DataFrame({"y": TRUTH, "g": GUESS}).write_parquet(tmp_path / f"client={client}" / "a.parquet")

    assert _units(tmp_path, unit="client") == {"1": 6, "c1": 6}


def test_categories_in_an_arrow_file_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"y": TRUTH, "g": GUESS, "u": pd.Categorical([5, 6] * 3)})
    frame.to_feather(tmp_path / "a.feather")
    with pytest.raises(BadData, match="u is dictionary-encoded"):
        _units(tmp_path / "a.feather")

    assert _units(frame) == {5: 3, 6: 3}
