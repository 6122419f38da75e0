"""The Flower bridge: every reply is a row, no strategy notices, and a real run gives what clients said."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.exception import InconsistentMessageReplies
from flwr.serverapp.strategy import FedAvg, FedMedian, Strategy

from muster.bridges.flower import SIDECAR, Watched, named, report, sums_of
from muster.errors import BadConfig
from muster.sources.rounds import read_rounds
from muster.suites.federation import evaluate
from tests import flower

pytestmark = pytest.mark.flower
GOOD = {"accuracy": 0.5, "num-examples": 10}


class Asking(FedAvg):
    """Asks two nodes, whoever there is."""

    def configure_evaluate(self, *_: Any) -> Iterable[Message]:
        return (flower.message(node) for node in (1, 2))


def _unit(name: str) -> ConfigRecord:
    return ConfigRecord({"unit": name})


def _watched(**settings: Any) -> tuple[Watched, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    return Watched(FedAvg(), rows, **settings), rows


def _by(rows: list[dict[str, Any]], metric: str = "accuracy") -> dict[str, tuple[Any, Any]]:
    return {row["unit"]: (row["value"], row["error"]) for row in rows if row["metric"] == metric}


def test_one_row_a_client_and_metric() -> None:
    watched, rows = _watched()
    said = [
        flower.reply({"accuracy": 0.25 * node, "loss": 1.0, "num-examples": 10 * node}, node)
        for node in (1, 2)
    ]
    mean = watched.aggregate_evaluate(3, said)

    assert mean == FedAvg().aggregate_evaluate(3, said)
    assert rows[2] == {
        "unit": "2", "round": 3, "metric": "accuracy", "value": 0.5, "n": 20,
        "phase": "evaluate", "node": "2", "error": None,
    }  # fmt: skip
    assert [row["metric"] for row in rows] == ["accuracy", "loss"] * 2


@pytest.mark.parametrize("inner", [FedAvg(), FedMedian()])
def test_the_strategy_does_what_it_did(inner: Strategy, rng: np.random.Generator) -> None:
    given = [{"w": rng.normal(size=3).astype(np.float32)} for _ in range(4)]

    def replies() -> Iterable[Message]:
        return [flower.reply(GOOD, node, arrays) for node, arrays in enumerate(given, 1)]

    watched = Watched(inner, [])
    found, metrics = watched.aggregate_train(1, iter(replies()))
    plain, also = inner.aggregate_train(1, replies())

    assert found is not None
    np.testing.assert_array_equal(found["w"].numpy(), plain["w"].numpy())
    assert metrics == also
    assert watched.min_train_nodes == 2
    assert {row["metric"] for row in watched.sink} == {"train/accuracy"}
    with pytest.raises(AttributeError):
        _ = watched.nothing


def test_train_and_evaluate_may_name_a_metric_alike(tmp_path: Path) -> None:
    watched = Watched(FedAvg(), tmp_path / "new" / "log.jsonl")
    for number in (1, 2):
        watched.aggregate_train(number, [flower.reply(GOOD, arrays={"w": np.ones(2)})])
        watched.aggregate_evaluate(number, [flower.reply({**GOOD, "accuracy": 0.7})])

    assert read_rounds(watched.log)[0].values.tolist() == [[0.7], [0.7]]
    assert read_rounds(watched.log, which="train/accuracy")[0].values.tolist() == [[0.5], [0.5]]


def test_who_failed_or_kept_silent_is_a_row() -> None:
    rows: list[dict[str, Any]] = []
    watched = Watched(Asking(), rows)
    asked = watched.configure_evaluate(1, ArrayRecord(), ConfigRecord(), None)
    watched.aggregate_evaluate(1, [flower.reply(GOOD, 1, muster=_unit("north"))])
    watched.aggregate_evaluate(2, [flower.reply(GOOD, 2), flower.failure(1)])
    watched.aggregate_evaluate(3, [flower.failure(1, None), flower.reply(GOOD, 2)])

    assert [message.metadata.dst_node_id for message in asked] == [1, 2]
    assert _by(rows[:2]) == {"north": (0.5, None), "2": (None, "no reply")}
    assert _by(rows[2:4]) == {"north": (None, "out of memory"), "2": (0.5, None)}
    assert _by(rows[4:])["north"] == (None, "error 2")


def test_a_log_with_failures_is_evaluated() -> None:
    watched, rows = _watched()
    for number in range(1, 4):
        found = flower.failure(1) if number == 2 else flower.reply(GOOD, 1)
        watched.aggregate_evaluate(number, [found, flower.reply({**GOOD, "accuracy": 0.9}, 2)])
    log, notes = read_rounds(watched.log)
    run = evaluate(watched.log, how={"draws": 20})

    assert log.rows.tolist() == [[10, 10], [0, 10], [10, 10]]
    assert "rows without a value, whose unit was not there: 1" in notes
    assert "columns that were not used: phase, node, error" in notes
    assert run.value("accuracy", "mean") == pytest.approx(0.7)
    assert len(rows) == 6


def test_a_failure_before_any_metric_is_known_is_still_written() -> None:
    watched, rows = _watched()
    watched.aggregate_evaluate(1, [flower.failure(1, "\x1b[31m" + "trace " * 100 + "\x1b[0mno GPU")])
    watched.aggregate_evaluate(2, [flower.failure(1), flower.reply(GOOD, 2)])

    assert (rows[0]["metric"], rows[0]["value"]) == ("unknown", None)
    assert rows[0]["error"].startswith("... ")
    assert rows[0]["error"].endswith("trace no GPU")
    assert read_rounds(watched.log)[0].rows.tolist() == [[0, 10]]


@pytest.mark.parametrize(
    ("metrics", "error"),
    [
        ({"accuracy": math.nan, "num-examples": 10}, "accuracy is nan, of 10 examples"),
        ({"accuracy": math.inf, "num-examples": 10}, "accuracy is inf, of 10 examples"),
        ({"accuracy": 0.5, "num-examples": 0}, "accuracy is 0.5, of 0 examples"),
        ({"accuracy": 0.5, "num-examples": -1}, "accuracy is 0.5, of -1 examples"),
        ({"accuracy": 0.5, "num-examples": 2.5}, "accuracy is 0.5, of 2.5 examples"),
        ({"accuracy": 0.5, "num-examples": math.nan}, "accuracy is 0.5, of nan examples"),
        ({"accuracy": 0.5}, "accuracy is 0.5, of unsaid examples"),
        ({"num-examples": 10}, "no accuracy in the reply"),
    ],
)
def test_what_cannot_be_counted_is_unknown_and_says_why(
    metrics: dict[str, float], error: str, tmp_path: Path
) -> None:
    class Deaf(FedAvg):
        def aggregate_evaluate(self, *_: Any) -> MetricRecord | None:
            return None

    watched = Watched(Deaf(), tmp_path / "log.jsonl")
    watched.aggregate_evaluate(1, [flower.reply(metrics, 1), flower.reply(GOOD, 2)])
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]

    assert _by(rows) == {"1": (None, error), "2": (0.5, None)}
    assert read_rounds(watched.log)[0].rows.tolist() == [[0, 10]]


def test_what_the_strategy_refuses_is_written_down_first() -> None:
    watched, rows = _watched()
    with pytest.raises(InconsistentMessageReplies):
        watched.aggregate_evaluate(1, [flower.reply(GOOD, 1), flower.reply({"num-examples": 10}, 2)])

    assert _by(rows) == {"1": (0.5, None), "2": (None, "no accuracy in the reply")}


def test_lists_and_second_records() -> None:
    watched, rows = _watched()
    content = {"f1": [0.25, 0.75], **GOOD}
    with pytest.raises(InconsistentMessageReplies):
        watched.aggregate_evaluate(1, [flower.reply(content, other=MetricRecord({"accuracy": 1, "loss": 2}))])

    found = {row["metric"]: row["value"] for row in rows}
    assert found == {"f1[0]": 0.25, "f1[1]": 0.75, "accuracy": 0.5, "other.accuracy": 1.0, "loss": 2.0}


def test_a_client_that_tells_only_how_many_has_no_row() -> None:
    watched, rows = _watched()
    watched.aggregate_train(1, [flower.reply({"num-examples": 10}, arrays={"w": np.ones(1)})])

    assert rows == []


def test_without_examples_each_value_counts_as_one() -> None:
    watched, rows = _watched(examples=None)
    watched.aggregate_evaluate(1, [flower.reply(GOOD, node) for node in (1, 2)])

    assert "n" not in rows[0]
    assert read_rounds(watched.log)[0].rows.tolist() == [[1, 1]]


def test_the_same_name_twice_is_told_apart() -> None:
    watched, rows = _watched()
    watched.aggregate_evaluate(1, [flower.reply(GOOD, node, muster=_unit("north")) for node in (1, 2)])

    assert [row["unit"] for row in rows] == ["north (node 1)", "north (node 2)"]


def test_sums_are_collected_and_add() -> None:
    watched, _ = _watched()
    counts = np.array([[5, 1], [0, 4]])
    for number in (1, 2):
        replies = [
            flower.reply(GOOD, node, **report(RecordDict(), confusion=counts * node, seen=node))
            for node in (1, 2)
        ]
        watched.aggregate_evaluate(number, replies)
    watched.aggregate_train(
        2, [flower.reply(GOOD, arrays={"w": np.ones(1)}, **report(RecordDict(), confusion=counts))]
    )

    whole = sum(found["confusion"] for (_, number), found in watched.sums.items() if number == 2)
    np.testing.assert_array_equal(whole, 3 * counts)
    assert watched.sums["1", 2]["train/confusion"].tolist() == counts.tolist()
    assert watched.sums["2", 1]["seen"].shape == ()
    assert whole.dtype == np.float64


@pytest.mark.parametrize(
    "sidecar",
    [
        {"sum:a": b"123", "shape:a": [1]},
        {"sum:a": b"12345678"},
        {"sum:a": "text", "shape:a": [1]},
        {"sum:a": b"12345678", "shape:a": [2]},
    ],
)
def test_sums_that_cannot_be_read_are_said(sidecar: dict[str, Any]) -> None:
    watched, rows = _watched()
    watched.aggregate_evaluate(1, [flower.reply(GOOD, muster=ConfigRecord({"unit": "north", **sidecar}))])

    assert rows[0]["value"] == 0.5
    assert rows[0]["unit"] == "north"
    assert "its sums cannot be read" in rows[0]["error"]
    assert watched.sums == {}


def test_a_record_of_another_kind_under_the_name_is_left_alone() -> None:
    watched, rows = _watched()
    watched.aggregate_evaluate(1, [flower.reply(GOOD, 7, muster=ConfigRecord({"unit": 3}))])

    assert _by(rows) == {"7": (0.5, None)}


def _replied(who: Any, **node_config: Any) -> Message:
    app = ClientApp(mods=[named(*([who] if who else []))])

    @app.evaluate()
    def _(asked: Message, _: Any) -> Message:
        content = report(RecordDict({"metrics": MetricRecord(GOOD)}), right=[1, 2])
        return Message(content, reply_to=asked)

    return app(flower.message(), flower.context(**node_config))


@pytest.mark.parametrize(
    ("who", "unit"),
    [(None, "4"), ("clinic", "north"), (lambda there: f"c{there.node_config['partition-id']}", "c4")],
)
def test_a_client_says_its_name(who: Any, unit: str) -> None:
    reply = _replied(who, **{"partition-id": 4, "clinic": "north"})

    assert reply.content[SIDECAR]["unit"] == unit
    assert sums_of(reply.content)["right"].tolist() == [1, 2]


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(BadConfig, match="has no 'ward'; it has: clinic"):
        _replied("ward", clinic="north")


def test_a_file_that_is_there_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    Watched(FedAvg(), file).aggregate_evaluate(1, [flower.reply(GOOD)])
    with pytest.raises(BadConfig, match="is there already"):
        Watched(FedAvg(), file)
    Watched(FedAvg(), str(file), overwrite=True)

    assert file.read_text() == ""


def test_without_flower_the_extra_is_named() -> None:
    code = "import sys; sys.modules['flwr'] = None; import muster.bridges.flower"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "MissingExtra: the flower bridge needs Flower: pip install 'muster-eval[flower]'" in done.stderr


def _simulated(folder: Path) -> None:
    """A real run on Ray, in a process of its own, that tells nobody."""
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    quiet |= {"FLWR_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1", flower.FOLDER: str(folder)}
    code = "import pathlib, sys; from tests import flower; flower.simulate(pathlib.Path(sys.argv[1]))"
    command, root = [sys.executable, "-c", code, str(folder)], Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **quiet}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_a_real_run_gives_what_its_clients_said(tmp_path: Path) -> None:
    _simulated(tmp_path)
    log, notes = read_rounds(tmp_path / "rounds.jsonl")
    said = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("evaluate.*.json")}
    means = json.loads((tmp_path / "means.json").read_text())
    run = evaluate(tmp_path / "rounds.jsonl", how={"draws": 50})

    assert log.units.tolist() == [f"clinic-{place}" for place in range(flower.CLIENTS)]
    assert len(said) == flower.CLIENTS * flower.ROUNDS - 1
    for name, metrics in said.items():
        number, unit = int(name.split(".")[1]) - 1, log.units.tolist().index(name.split(".")[2])
        assert log.values[number, unit] == metrics["accuracy"], name
        assert log.rows[number, unit] == metrics["num-examples"], name
    assert log.pooled == pytest.approx([means[str(number)]["accuracy"] for number in log.rounds])
    assert run.value("accuracy", "mean") == pytest.approx(np.mean(log.values[-1]))
    assert run.value("accuracy", "min") == log.values[-1].min()
    assert "units that are not there in every round: 1 of 3 (1 of 9 unit-rounds without a value)" in notes
    _failures_and_sums(tmp_path)


def _failures_and_sums(folder: Path) -> None:
    """Who failed is there with the reason, and what was summed gives the values of the log."""
    rows = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
    failed = [row for row in rows if row["value"] is None]
    share = {(row["unit"], row["round"]): row["value"] for row in rows if row["metric"] == "accuracy"}
    sums = np.load(folder / "sums.npz")

    assert {(row["unit"], row["round"], row["phase"]) for row in failed} == {
        (f"clinic-{flower.FAILING}", flower.FAILS_IN, phase) for phase in ("train", "evaluate")
    }
    assert all("the disk is full" in row["error"] for row in failed)
    assert len(sums.files) == 2 * (flower.CLIENTS * flower.ROUNDS - 1)
    for key in (key for key in sums if key.endswith("|right")):
        unit, number, _ = key.split("|")
        found = sums[key].sum() / sums[f"{unit}|{number}|rows"].sum()
        assert found == pytest.approx(share[unit, int(number)]), key
