"""Files and frames as people have them: late quotes, folders that name columns, zones, huge numbers."""

from __future__ import annotations

from collections.abc import Callable
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

NAMED = {"truth": "y", "guess": "g", "unit": "u"}
ROWS = 60


def _frame(rows: int = ROWS, **columns: Any) -> pl.DataFrame:
    truth = [i % 2 for i in range(rows)]
    return pl.DataFrame(
        {"y": truth, "g": truth, "u": [f"u{i % 3}" for i in range(rows)]} | columns, strict=False
    )


def _units(place: Any, **named: Any) -> dict[Any, int]:
    run = muster.evaluate(place, **NAMED | named, draws=0)
    return dict(zip(run.units["unit"].tolist(), run.units["n"].tolist(), strict=True))


def _times(place: Any) -> list[Any]:
    run = muster.evaluate(place, **NAMED, time="t", draws=0)
    found = run.estimates
    return found["time"][(found["summary"] == "per_sample") & (found["measure"] == "accuracy")].tolist()


def test_quotes_that_come_late_in_a_csv_are_quotes(tmp_path: Path) -> None:
    plain, quoted = ["u0,0,0"] * 30_000, ['"u0",0,0'] * 20_000 + ['"a, b",1,1'] * 10
    (tmp_path / "a.csv").write_text("\n".join(["u,y,g", *plain, *quoted]) + "\n", encoding="utf-8")

    assert _units(tmp_path / "a.csv") == {"a, b": 10, "u0": 50_000}


def test_one_and_one_point_nought_are_one_unit_in_a_csv(tmp_path: Path) -> None:
    _frame(u=["1", "1.0", "2"] * 20).write_csv(tmp_path / "a.csv")

    assert _units(tmp_path / "a.csv") == {1: 40, 2: 20}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_name_columns_that_files_do_not_have(kind: str, tmp_path: Path) -> None:
    for site in ("007", "8"):
        (tmp_path / f"site={site}").mkdir()
        frame, file = _frame().drop("u"), tmp_path / f"site={site}" / f"a.{kind}"
        frame.write_csv(file) if kind == "csv" else frame.write_parquet(file)

    assert set(_units(tmp_path, unit="site").values()) == {ROWS}
    assert len(_units(tmp_path, unit="site")) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("folder", ["u=A", "U=A", "y=9"])
def test_a_folder_does_not_take_the_place_of_a_column(folder: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    file = tmp_path / folder / f"a.{kind}"
    _frame().write_csv(file) if kind == "csv" else _frame().write_parquet(file)

    assert _units(tmp_path) == {"u0": 20, "u1": 20, "u2": 20}


def test_parquet_files_of_other_columns_and_order_are_matched_by_name(tmp_path: Path) -> None:
    _frame().write_parquet(tmp_path / "1.parquet")
    _frame().select("u", "g", "y").with_columns(more=pl.lit(1)).write_parquet(tmp_path / "2.parquet")

    assert _units(tmp_path) == {"u0": 40, "u1": 40, "u2": 40}


def test_files_without_rows_do_not_sink_the_others(tmp_path: Path) -> None:
    _frame().write_parquet(tmp_path / "1.parquet")
    _frame(0, u=pl.Series([], dtype=pl.Float64)).write_parquet(tmp_path / "2.parquet")

    assert _units(tmp_path) == {"u0": 20, "u1": 20, "u2": 20}
    with pytest.raises(BadData, match=r"2\.parquet: no rows"):
        _units(tmp_path / "2.parquet")


def test_an_arrow_file_without_batches_is_named(tmp_path: Path) -> None:
    _frame(0).write_ipc(tmp_path / "a.arrow", compat_level=pl.CompatLevel.oldest())
    with pytest.raises(BadData, match=r"a\.arrow: no rows"):
        _units(tmp_path / "a.arrow")


def test_files_of_the_same_bytes_are_noted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _frame().write_csv(tmp_path / f"{name}.csv")
    (note,) = muster.evaluate(tmp_path, **NAMED, draws=0).manifest["notes"]

    assert "the same bytes are in" in note
    assert "counted twice" in note


def test_a_folder_with_a_manifest_of_its_own_is_data(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        _frame(u=[name] * ROWS).write_csv(tmp_path / name / "x.csv")
    (tmp_path / "b" / "manifest.json").write_text("{}", encoding="utf-8")

    assert _units(tmp_path) == {"a": ROWS, "b": ROWS}


def test_lines_of_other_lengths_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,y,g\na,0,0\nb,1\nc,1,1,1\nd,0,0\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"a\.csv: (no table: some line|cannot be read)"):
        _units(tmp_path / "a.csv")


def test_a_name_that_no_file_can_have_is_said(tmp_path: Path) -> None:
    for name in ("x" * 5000 + ".csv", "\udce9.csv"):
        with pytest.raises(BadData, match="cannot be the name of a file"):
            _units(name)


Door = Callable[[pl.DataFrame, Path], Any]


def _parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def _relation(frame: pl.DataFrame, _: Path) -> duckdb.DuckDBPyRelation:
    return duckdb.from_arrow(frame.to_arrow())


DOORS: dict[str, Door] = {
    "parquet": _parquet,
    "polars": lambda frame, _: frame,
    "pandas": lambda frame, _: frame.to_pandas(),
    "duckdb": _relation,
}
doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@doors
def test_units_that_are_numbers_are_spelled_alike(door: Door, tmp_path: Path) -> None:
    single = _frame(u=pl.Series([0.1, 0.2, 0.3] * 20, dtype=pl.Float32))

    assert _units(door(single, tmp_path)) == {"0.1": 20, "0.2": 20, "0.3": 20}
    run = muster.evaluate(door(single, tmp_path), **NAMED, holdout=["0.3"], draws=0)
    assert run.units["unit"].tolist() == ["0.1", "0.2"]


@doors
def test_what_is_not_a_number_is_no_unit(door: Door, tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no value"):
        _units(door(_frame(u=[0.5, 1.5, float("nan")] * 20), tmp_path))


@doors
def test_large_whole_numbers_stay_apart(door: Door, tmp_path: Path) -> None:
    large = _frame(u=pl.Series([2**63, 2**63 + 1, 5] * 20, dtype=pl.UInt64))
    found = _units(door(large, tmp_path))

    assert {str(unit): n for unit, n in found.items()} == {"5": 20, str(2**63): 20, str(2**63 + 1): 20}
    muster.evaluate(door(large, tmp_path), **NAMED, draws=0).save(tmp_path / "run")


def test_huge_whole_numbers_stay_apart() -> None:
    truth = [0, 1] * 30
    for units in ([2**63, 2**63 + 1, -1], [2**70, 2**70 + 1, 3], [1e19, 2e19, 3e19]):
        assert len(muster.evaluate(truth=truth, guess=truth, unit=units * 20, draws=0).units) == 3
    relation = duckdb.sql(
        f"SELECT i % 2 AS y, i % 2 AS g, (i % 3 + {2**53})::HUGEINT AS u FROM range(60) t(i)"
    )
    assert len(_units(relation)) == 3


@doors
def test_a_day_is_a_day(door: Door, tmp_path: Path) -> None:
    days = _frame(t=[date(2026, 1, 9), date(2026, 1, 10)] * 30)

    assert [str(time)[:10] for time in _times(door(days, tmp_path))] == ["2026-01-09", "2026-01-10"]


@doors
def test_times_with_a_zone_are_in_utc(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the end of summer time, what is later by the clock may be earlier."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    zoned = _frame(t=["2025-10-26T00:30:00", "2025-10-26T01:30:00"] * 30).with_columns(
        pl.col("t").str.to_datetime(time_zone="UTC").dt.convert_time_zone("Europe/Berlin")
    )

    assert [str(time)[:16] for time in _times(door(zoned, tmp_path))] == [
        "2025-10-26 00:30",
        "2025-10-26 01:30",
    ]


@doors
def test_true_is_1_as_a_slice_too(door: Door, tmp_path: Path) -> None:
    frame = _frame(f=[True, False] * 30)
    frame.write_csv(tmp_path / "a.csv")
    for given in (door(frame, tmp_path), tmp_path / "a.csv"):
        run = muster.evaluate(given, **NAMED, slices=["f"], draws=0)

        assert set(run.estimates["slice"].tolist()) >= {"f=0", "f=1"}


def test_masked_values_are_missing() -> None:
    mask = [0, 0, 1] * 20
    truth, scores = [0, 1, 1] * 20, np.full((60, 2), 0.5)
    for name, given in (
        ("truth", {"truth": np.ma.array(truth, mask=mask), "guess": truth}),
        ("unit", {"truth": truth, "guess": truth, "unit": np.ma.array(truth, mask=mask)}),
        ("scores", {"truth": truth, "scores": np.ma.array(scores, mask=scores > 1) + np.ma.masked}),
    ):
        with pytest.raises(BadData, match=f"{name}: .* masked"):
            muster.evaluate(**given, draws=0)


def test_a_single_score_is_a_probability_also_where_scores_are_divided() -> None:
    with pytest.raises(BadData, match=r"the score is 1\.05, above 1"):
        muster.evaluate(truth=[0, 1] * 30, scores=[0.1, 1.05] * 30, allow_unnormalised=True)


def test_log_loss_does_not_depend_on_the_width_of_numbers() -> None:
    truth, sure = np.array([0, 1] * 30), np.eye(2)[[0, 0] * 30]
    single = muster.per_unit(truth=truth, scores=sure.astype(np.float32), measures=["log_loss"])
    double = muster.per_unit(truth=truth, scores=sure, measures=["log_loss"])

    assert single["log_loss"][0] == pytest.approx(double["log_loss"][0])
    assert double["log_loss"][0] == pytest.approx(-np.log(np.finfo(float).eps) / 2)


@pytest.mark.parametrize("times", [["round 8", "round 9", "round 10"], [8, 9, 10], [0.5, 1.0, 10.25]])
def test_the_number_of_a_run_is_that_of_its_last_time(times: list[Any]) -> None:
    truth, time = np.tile([0, 1], 90), np.repeat(np.array([*times, None], dtype=object)[:-1], 60)
    guess = np.where(np.arange(180) >= 120, 0, truth)
    run = muster.evaluate(truth=truth, guess=guess, time=time, draws=0)

    assert run.value("accuracy") == 0.5
    assert run.value("accuracy", "per_unit") == 0.5
    assert f"Accuracy at {times[-1]} is 0.5000" in run.sections[0].lead


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"truth": None, "guess": [0]}, BadData, "truth: expected one label a row, got NoneType"),
        ({"truth": (i for i in [0, 1]), "guess": [0, 1]}, BadData, "got generator"),
        ({"truth": [b"\xff", b"a"], "guess": [b"a", b"a"]}, BadData, r"truth: b'\\xff' is not UTF-8"),
    ],
)
def test_truth_that_is_none(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        muster.evaluate(**given)


def test_columns_of_a_frame_that_cannot_be_meant() -> None:
    numbered = pd.DataFrame({0: [0.5, 0.5], 1: [0.5, 0.5], "y": [0, 1]})
    with pytest.raises(BadConfig, match="scores: columns are named by text, got 0"):
        muster.evaluate(numbered, truth="y", scores=[0, 1])
    twice = pd.DataFrame([[0, 0.5, 0.5], [1, 0.5, 0.5]], columns=["y", "p_0", "p_0"])
    with pytest.raises(BadData, match="column 'p_0' is there more than once"):
        muster.evaluate(twice, truth="y", scores="p_*")


def test_slices_may_be_a_frame_or_named_by_numbers() -> None:
    truth, groups = [0, 1] * 30, ["a", "b"] * 30
    for slices in (pd.DataFrame({"g": groups}), {7: groups}):
        run = muster.evaluate(truth=truth, guess=truth, slices=slices, draws=0)

        assert len(set(run.estimates["slice"].tolist())) >= 3
