"""A log of a federation: what is read from it, through every door, and what careless logs get."""
# ruff: noqa: PD011

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from muster.errors import BadConfig, BadData
from muster.records import ALARM, QUIET, UNKNOWN
from muster.sources.rounds import read_rounds

ROW = {"unit": "a", "round": 1, "accuracy": 0.5, "n": 10}
LONG = [
    {"unit": unit, "round": moment, "metric": metric, "value": value / 16, "n": 8 + moment}
    for moment in (1, 2, 3)
    for unit, value in (("c10", 4), ("c9", 12))
    for metric in ("accuracy", "loss")
]


def log(*rows: dict[str, Any]) -> dict[str, list[Any]]:
    """Rows as columns."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in columns}


def _jsonl(rows: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "log.jsonl"


def _packed(rows: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "log.ndjson.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return folder / "log.ndjson.gz"


def _folder(rows: list[dict[str, Any]], folder: Path) -> Path:
    half = len(rows) // 2
    for name, some in (("a", rows[:half]), ("b [2]", rows[half:])):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, some)))
    return folder


def _csv(rows: list[dict[str, Any]], folder: Path) -> str:
    pl.DataFrame(rows).write_csv(folder / "log.csv")
    return str(folder / "log.csv")


def _parquet(rows: list[dict[str, Any]], folder: Path) -> list[str]:
    pl.DataFrame(rows).write_parquet(folder / "log.parquet")
    return [str(folder / "log.parquet")]


def _arrow(rows: list[dict[str, Any]], folder: Path) -> Path:
    pl.DataFrame(rows).write_ipc(folder / "log.arrow", compat_level=pl.CompatLevel.oldest())
    return folder / "log.arrow"


def _pandas(rows: list[dict[str, Any]], _: Path) -> pd.DataFrame:
    return pd.DataFrame(rows)


def _polars(rows: list[dict[str, Any]], _: Path) -> pl.LazyFrame:
    return pl.LazyFrame(rows)


def _relation(rows: list[dict[str, Any]], folder: Path) -> duckdb.DuckDBPyRelation:
    return duckdb.read_parquet(_parquet(rows, folder))


def _mapping(rows: list[dict[str, Any]], _: Path) -> dict[str, list[Any]]:
    return log(*rows)


DOORS = [_jsonl, _packed, _folder, _csv, _parquet, _arrow, _pandas, _polars, _relation, _mapping]
doors = pytest.mark.parametrize("door", DOORS, ids=[door.__name__[1:] for door in DOORS])
Door = Callable[[list[dict[str, Any]], Path], Any]


@doors
def test_a_long_log_is_the_same_through_every_door(door: Door, tmp_path: Path) -> None:
    rows = [row | {"alarm_ks": [None, True, False][row["round"] - 1], "drift": 0} for row in LONG]
    found, notes = read_rounds(door(rows, tmp_path))

    assert notes == []
    assert found.metric == "accuracy"
    assert found.rounds.tolist() == [1, 2, 3]
    assert found.units.tolist() == ["c9", "c10"]
    assert found.values.tolist() == [[0.75, 0.25]] * 3
    assert found.rows.tolist() == [[9, 9], [10, 10], [11, 11]]
    assert found.drifted is not None
    assert not found.drifted.any()
    assert found.onset is None
    assert found.alarms["ks"].units.tolist() == [[UNKNOWN] * 2, [ALARM] * 2, [QUIET] * 2]
    assert found.alarms["ks"].whole.tolist() == [UNKNOWN, ALARM, QUIET]


@doors
def test_values_that_are_missing_are_missing_through_every_door(door: Door, tmp_path: Path) -> None:
    rows = [row | {"value": None if row["round"] == 2 else row["value"]} for row in LONG]
    found, notes = read_rounds(door(rows, tmp_path))

    assert np.isnan(found.values[1]).all()
    assert found.rows[1].tolist() == [0, 0]
    assert "rows without a value, whose unit was not there: 2" in notes
    assert "rounds without any value, which are kept, without rows: 2" in notes


def test_each_metric_is_read_by_its_name() -> None:
    loss, _ = read_rounds(log(*[row | {"value": 7.5} for row in LONG]), which="loss")

    assert loss.metric == "loss"
    assert (loss.values == 7.5).all()
    with pytest.raises(BadData, match=r"no metric 'los'; did you mean 'loss'\?; there are: accuracy, loss"):
        read_rounds(log(*LONG), which="los")
    with pytest.raises(BadData, match="1 rows name no metric; the first is row 1"):
        read_rounds(log(LONG[0], LONG[1] | {"metric": None}))


def test_without_a_column_of_metrics_the_name_is_taken_as_given() -> None:
    rows = [{"unit": 7, "round": 1, "value": 0.5, "n": 4}]

    assert read_rounds(log(*rows))[0].metric == "accuracy"
    assert read_rounds(log(*rows), which="f1")[0].metric == "f1"
    assert read_rounds(log(*rows))[0].units.tolist() == ["7"]


def test_a_wide_log_and_columns_of_other_names() -> None:
    rows = [{"client": "a", "server_round": 1, "accuracy": 0.5, "loss": 1.5, "num_examples": 4}]
    found, notes = read_rounds(log(*rows), unit="client", round="server_round", n="num_examples")

    assert found.values.tolist() == [[0.5]]
    assert notes == ["columns that were not used: loss"]
    assert read_rounds(log(*rows), unit="client", round="server_round", n="num_examples", which="loss")[
        0
    ].values.tolist() == [[1.5]]


def test_missing_columns_are_said_at_once_with_near_names() -> None:
    with pytest.raises(BadData) as said:
        read_rounds(log({"units": "a", "rounds": 1, "acuracy": 0.5}))

    assert str(said.value) == (
        "the table: no column 'unit' (unit); did you mean 'units'?; no column 'round' (round); did you mean "
        "'rounds'?; no column 'value' (value), nor one named like the metric, 'accuracy'; did you mean "
        "'acuracy'?; there are: units, rounds, acuracy"
    )
    for part in ("n", "alarm", "drift", "metric"):
        with pytest.raises(BadData, match=rf"no column 'accurac' \({part}\); did you mean 'accuracy'"):
            read_rounds(log(ROW), **{part: "accurac"})
    with pytest.raises(BadConfig, match="'round' cannot play two parts"):
        read_rounds(log(ROW), n="round")


@pytest.mark.parametrize("second", [ROW, ROW | {"accuracy": 0.75}])
def test_rows_that_are_there_twice_are_an_error_that_names_them(second: dict[str, Any]) -> None:
    with pytest.raises(BadData, match=r"same unit and round, 1 times: unit 'a', round 1 \(rows 0, 2\)"):
        read_rounds(log(ROW, ROW | {"unit": "b"}, second))
    many = [ROW | {"unit": f"u{i}"} for i in range(9)]
    with pytest.raises(BadData, match=r"round, 9 times: unit 'u0'.* unit 'u3', round 1 \(rows 3, 12\); keep"):
        read_rounds(log(*many, *many))


def test_the_same_round_of_two_metrics_is_not_there_twice() -> None:
    assert read_rounds(log(*LONG))[0].values.shape == (3, 2)


def test_rounds_that_are_missing_are_kept_without_rows_and_counted() -> None:
    found, notes = read_rounds(log(ROW, ROW | {"round": 5}))

    assert found.rounds.tolist() == [1, 2, 3, 4, 5]
    assert found.rows[:, 0].tolist() == [10, 0, 0, 0, 10]
    assert np.isnan(found.pooled[1:4]).all()
    assert notes == ["rounds without any value, which are kept, without rows: 2, 3, 4"]


def test_units_that_come_and_go_are_counted() -> None:
    rows = [ROW, ROW | {"round": 2}, ROW | {"unit": "b"}, ROW | {"unit": "c", "round": 2, "accuracy": None}]
    found, notes = read_rounds(log(*rows))

    assert np.isnan(found.values).tolist() == [[False, False, True], [False, True, True]]
    assert found.rows.tolist() == [[10, 10, 0], [10, 0, 0]]
    assert notes == [
        "rows without a value, whose unit was not there: 1",
        "units that never have a value: c",
        "units that are not there in every round: 2 of 3 (3 of 6 unit-rounds without a value)",
    ]


def test_the_first_round_is_said_not_guessed() -> None:
    zero = log(ROW | {"round": 0}, ROW)
    with pytest.raises(BadData, match=r"round 0 of unit 'a' \(row 0\) .* first_round=0 \(--first-round 0\)"):
        read_rounds(zero)
    found, notes = read_rounds(zero, first_round=0)

    assert found.rounds.tolist() == [0, 1]
    assert notes == []
    assert read_rounds(log(ROW), first_round=0)[1] == ["round 0 is missing: the log starts at round 1"]
    late, notes = read_rounds(log(ROW | {"round": 7}))

    assert late.rounds.tolist() == [7]
    assert notes == ["rounds 1 to 6 are missing: the log starts at round 7"]
    with pytest.raises(BadConfig, match="first_round: expected a whole number, got '0'"):
        read_rounds(zero, first_round="0")  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "said"), [(1.5, "1.5"), ("first", "'first'"), (None, "nan"), ("", "''")])
def test_rounds_are_whole_numbers(given: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(
        BadData, match=r"unit 'a' \(row 1\): column 'round' is .*: a round is a whole"
    ) as error:
        read_rounds(log(ROW, ROW | {"round": given}))

    assert said in str(error.value) or "None" in str(error.value)
    with pytest.raises(BadData, match=r"log\.jsonl: unit 'a' \(row 1\): column 'round' is"):
        read_rounds(_jsonl([ROW, ROW | {"round": given}], tmp_path))


def test_rounds_that_look_like_times_are_refused() -> None:
    with pytest.raises(BadData, match=r"2 rounds between 1700000000 and 1700003600: .* something else"):
        read_rounds(log(ROW | {"round": 1_700_000_000}, ROW | {"round": 1_700_003_600}))


@pytest.mark.parametrize("which", ["accuracy", "f1", "recall", "precision", "auc"])
def test_shares_are_from_0_to_1(which: str) -> None:
    rows = [{"unit": "a", "round": 1, which: 1.0, "n": 4}, {"unit": "b", "round": 1, which: 87.5, "n": 4}]
    with pytest.raises(
        BadData, match=rf"unit 'b', round 1 \(row 1\): column '{which}' is 87.5.*in percent\?"
    ):
        read_rounds(log(*rows), which=which)
    with pytest.raises(BadData, match=r"is -0\.5: \w+ is a share, from 0 to 1 \(rows like it: 1\)"):
        read_rounds(log(rows[0], rows[1] | {which: -0.5}), which=which)
    rows = [{"unit": "a", "round": 1, "loss": -3.0, "n": 4}]

    assert read_rounds(log(*rows), which="loss")[0].values.tolist() == [[-3.0]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n": -4}, r"column 'n' is -4: it counts rows"),
        ({"n": 2.5}, r"column 'n' is 2\.5: it counts rows"),
        ({"n": 0}, r"column 'n' is 0: a value needs rows behind it"),
        ({"n": None}, r"how many rows are behind the value\?"),
        ({"n": "few"}, r"column 'n' is 'few': expected a number"),
        ({"accuracy": "high"}, r"column 'accuracy' is 'high': expected a number"),
        ({"accuracy": float("inf")}, r"column 'accuracy' is inf: expected a number"),
    ],
)
@pytest.mark.parametrize("door", [_jsonl, _mapping], ids=["jsonl", "mapping"])
def test_bad_values_name_unit_round_and_row(
    given: dict[str, Any], said: str, door: Door, tmp_path: Path
) -> None:
    rows = [ROW, ROW | {"unit": "b"}, ROW | {"unit": "b", "round": 2} | given]
    with pytest.raises(
        BadData, match=said.replace(r"is -4:", r"is -4(\.0)?:").replace("is 0:", r"is 0(\.0)?:")
    ):
        read_rounds(door(rows, tmp_path))
    with pytest.raises(BadData, match=r"unit 'b', round 2 \(row 2\)"):
        read_rounds(door(rows, tmp_path))


@pytest.mark.parametrize("value", [None, float("nan"), "NaN", "", "NA"])
def test_no_value_means_that_the_unit_was_not_there(value: Any) -> None:
    for n in (0, 10, None):
        found, notes = read_rounds(log(ROW, ROW | {"unit": "b", "accuracy": value, "n": n}))

        assert found.rows.tolist() == [[10, 0]]
        assert notes[0] == "rows without a value, whose unit was not there: 1"
    with pytest.raises(BadData, match="no row has a value of accuracy"):
        read_rounds(log(ROW | {"accuracy": value}))


def test_without_counts_each_value_counts_as_one_row_which_is_said() -> None:
    bare = {name: value for name, value in ROW.items() if name != "n"}
    found, notes = read_rounds(log(bare, bare | {"unit": "b", "accuracy": 1.0}))

    assert found.rows.tolist() == [[1, 1]]
    assert found.pooled.tolist() == [0.75]
    assert "intervals of units are undefined" in notes[0]
    assert "columns that were not used: n" in read_rounds(log(ROW), n="")[1]


def test_alarms_of_units_and_of_the_whole() -> None:
    rows = [
        ROW | {"alarm": 0, "alarm_ks": None},
        ROW | {"unit": "b", "alarm": 1, "alarm_ks": None},
        ROW | {"round": 2, "alarm": "false", "alarm_ks": True},
    ]
    found, _ = read_rounds(log(*rows))

    assert set(found.alarms) == {"alarm", "ks"}
    assert found.alarms["alarm"].units.tolist() == [[QUIET, ALARM], [QUIET, UNKNOWN]]
    assert found.alarms["alarm"].whole.tolist() == [ALARM, QUIET]
    assert found.alarms["ks"].units.tolist() == [[UNKNOWN, UNKNOWN], [ALARM, UNKNOWN]]
    assert found.alarms["ks"].whole.tolist() == [UNKNOWN, ALARM]
    assert read_rounds(log(*rows), alarm="")[0].alarms == {}
    with pytest.raises(BadData, match=r"unit 'a', round 1 \(row 0\): column 'alarm' is 0\.7: an alarm is"):
        read_rounds(log(ROW | {"alarm": 0.7}))


@pytest.mark.parametrize("server", [None, ""])
def test_rows_without_a_unit_are_the_servers(server: Any, tmp_path: Path) -> None:
    quiet = {"alarm_x": True, "alarm_y": True}
    rows = [
        ROW | quiet,
        ROW | {"round": 2} | quiet,
        {"unit": server, "round": 1, "accuracy": 0.9, "alarm_x": False},
        {"unit": server, "round": 0, "accuracy": 0.1, "alarm_x": True},
    ]
    for given in (log(*rows), _jsonl(rows, tmp_path)):
        found, notes = read_rounds(given)

        assert found.units.tolist() == ["a"]
        assert found.values.tolist() == [[0.5], [0.5]]
        assert found.alarms["x"].whole.tolist() == [QUIET, UNKNOWN]
        assert found.alarms["y"].whole.tolist() == [ALARM, ALARM]
        assert notes[0].startswith("rows of the server from before round 1 or after round 2, where no unit")
        assert notes[1].startswith("rows without a unit, which are the server's: 1; of them only the alarms")
    with pytest.raises(BadData, match=r"the server, round 1 \(rows 1, 2\)"):
        read_rounds(log(ROW, rows[2], rows[2]))
    with pytest.raises(BadData, match="no row of accuracy has a unit"):
        read_rounds(log(rows[2]))


@pytest.mark.parametrize(
    ("concepts", "note"),
    [
        ([False, True], []),
        ([0, 1], []),
        (["false", "True"], []),
        ([None, 3], ["column 'drift': 3 are taken as drift"]),
        (["none", "winter"], ["column 'drift': winter are taken as drift"]),
    ],
)
def test_drift_is_true_or_the_name_of_a_concept(concepts: list[Any], note: list[str]) -> None:
    before, after = concepts
    found, notes = read_rounds(log(ROW | {"drift": before}, ROW | {"round": 2, "drift": after}))

    assert found.drifted is not None
    assert found.drifted.tolist() == [[False], [True]]
    assert found.onset == 1
    assert notes == note


def test_drift_goes_on_while_a_unit_is_away() -> None:
    rows = [
        ROW | {"unit": unit, "round": moment, "drift": moment > 1} for unit in "ab" for moment in (1, 2, 4)
    ]
    found, notes = read_rounds(log(*rows[:2], *rows[3:]))

    assert found.drifted is not None
    assert found.drifted.T.tolist() == [[False, True, True, True]] * 2
    assert "drift of 3 unit-rounds without a row is taken from the round before" in notes


def test_drift_that_is_no_truth_is_refused() -> None:
    for given in (0.13, -1):
        with pytest.raises(
            BadData, match=rf"unit 'a', round 1 \(row 0\): column 'drift' is {given}: drift is"
        ):
            read_rounds(log(ROW | {"drift": given}))


def test_drift_may_be_said_from_outside() -> None:
    rows = [ROW | {"unit": unit, "round": moment} for unit in ("c-1", "c-2") for moment in (1, 2, 3)]
    every, _ = read_rounds(log(*rows), drift_round=2)
    some, _ = read_rounds(log(*rows), drift_round=3, affected=["c-2"])
    one, _ = read_rounds(log(*rows), drift_round=3, affected="c-2")
    nothing, _ = read_rounds(log(*rows))

    assert nothing.drifted is None
    for found, expected in (
        (every, [[False] * 2, [True] * 2, [True] * 2]),
        (some, [[False] * 2, [False] * 2, [False, True]]),
        (one, [[False] * 2, [False] * 2, [False, True]]),
    ):
        assert found.drifted is not None
        assert found.drifted.tolist() == expected
    first = "drift begins in the first round, 1: there is no baseline before it"

    assert read_rounds(log(*rows), drift_round=1)[1] == [first]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"drift_round": 9}, "drift_round: 9 is not a round of the log: 1 to 1"),
        ({"drift_round": 0}, "drift_round: 0 is not a round of the log"),
        ({"drift_round": 1.5}, "drift_round: expected the number of a round, got 1.5"),
        ({"drift_round": 1, "affected": ["client10"]}, r"no unit 'client10'; did you mean 'client-10'\?"),
        ({"affected": ["client-10"]}, r"affected: say too from which round on \(drift_round\)"),
        ({"drift_round": 1, "drift": "d"}, "said by column 'd' and by drift_round"),
    ],
)
def test_drift_that_cannot_be_is_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        read_rounds(log(ROW | {"unit": "client-10", "d": 0}), **how)


def test_files_that_are_empty_broken_or_none(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    for text, said in (
        ("", "the file is empty"),
        ("\n \n", "no rows"),
        ('{"unit": "a", "round": 1}\n\n{"unit": "a", "rou', r"log\.jsonl, line 3: not JSON: .*\"rou'"),
        ('[{"unit": "a"}]', "each line must be an object"),
        ('{"unit": "a"}\n5', "each line must be an object"),
    ):
        file.write_text(text)
        with pytest.raises(BadData, match=said):
            read_rounds(file)
    (tmp_path / "log.csv").write_text("unit,round,accuracy\n")
    with pytest.raises(BadData, match="no rows"):
        read_rounds(tmp_path / "log.csv")
    (tmp_path / "log.txt").write_text("unit")
    with pytest.raises(BadData, match=r"unknown kind of file; known: \.jsonl"):
        read_rounds(tmp_path / "log.txt")
    for place in (tmp_path / "other.jsonl", tmp_path / "other.csv", str(tmp_path / "*.ndjson")):
        with pytest.raises(BadData, match="no such file"):
            read_rounds(place)
    with pytest.raises(BadData, match="different kinds"):
        read_rounds([file, tmp_path / "log.csv"])
    with pytest.raises(BadData, match="more than once"):
        read_rounds([file, file])
    with pytest.raises(BadConfig, match="expected a path, a table or a mapping of columns, got int"):
        read_rounds(5)


def test_json_that_python_writes_is_read(tmp_path: Path) -> None:
    rows = [
        ROW | {"accuracy": float("nan")},
        ROW | {"unit": 3},
        ROW | {"unit": 3, "round": 2, "late": {"x": 1}},
    ]
    found, notes = read_rounds(_jsonl(rows, tmp_path))

    assert found.units.tolist() == ["3", "a"]
    assert found.rows.tolist() == [[10, 0], [10, 0]]
    assert "columns that were not used: late" in notes


def test_names_in_a_csv_are_read_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("unit,round,accuracy,n\n01,1,0.5,4\n1,1,0.75,4\n1.10,1,0.25,4\n")

    assert read_rounds(tmp_path / "log.csv")[0].units.tolist() == ["01", "1", "1.10"]


def test_missing_values_of_pandas_are_missing() -> None:
    frame = pd.DataFrame([ROW | {"alarm": True}, ROW | {"unit": pd.NA, "alarm": pd.NA}])
    frame["alarm"] = frame["alarm"].astype("boolean")
    found, _ = read_rounds(frame)

    assert found.units.tolist() == ["a"]
    assert found.alarms["alarm"].units.tolist() == [[ALARM]]


def test_a_large_log_is_read_in_a_moment(rng: np.random.Generator, tmp_path: Path) -> None:
    units, rounds = 10_000, 50
    frame = pl.DataFrame(
        {
            "unit": [f"unit-{i}" for i in range(units)] * rounds,
            "round": np.repeat(np.arange(1, rounds + 1), units),
            "accuracy": rng.random(units * rounds),
            "n": rng.integers(1, 100, units * rounds),
            "alarm_ks": rng.random(units * rounds) < 0.1,
            "drift": np.repeat(np.arange(1, rounds + 1) > 20, units),
        }
    )
    frame.write_parquet(tmp_path / "log.parquet")
    start = time.process_time()
    found, notes = read_rounds(tmp_path / "log.parquet")

    assert time.process_time() - start < 5
    assert found.values.shape == (rounds, units)
    assert found.onset == 20
    assert notes == []
    assert np.array_equal(found.values[:, 1], frame["accuracy"].to_numpy().reshape(rounds, units)[:, 1])
