"""Flower for the tests: messages without a runtime, and an app whose clients have no secrets.

The app must be in a module that worker processes can import, so it is here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from flwr.supercore.task_identity import TaskIdentity

from muster.bridges.flower import Watched, named, report

CLIENTS, ROUNDS, GROUPS, WEIGHTS = 3, 3, 2, 4
FAILING, FAILS_IN = 2, 2
FOLDER = "MUSTER_TEST_FOLDER"


def stand_in() -> None:
    """Outside of Flower's runtime a message needs somebody to come from."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


def message(node: int = 1, about: str = "evaluate", **records: Any) -> Message:
    """What a server asks of a node."""
    stand_in()
    asked = Message(RecordDict(records), dst_node_id=node, message_type=about)
    asked.metadata.__dict__["_message_id"] = str(uuid4())
    return asked


def reply(
    metrics: Mapping[str, Any], node: int = 1, arrays: Mapping[str, np.ndarray] | None = None, **records: Any
) -> Message:
    """What a node answers: one record of metrics, arrays if there are any, and what else is given."""
    content: dict[str, Any] = {"metrics": MetricRecord(dict(metrics))}
    if arrays is not None:
        content["arrays"] = record(arrays)
    return Message(RecordDict(content | records), reply_to=message(node))


def failure(node: int = 1, reason: str | None = "out of memory") -> Message:
    """What Flower says in place of a client that raised."""
    return Message(Error(2, reason), reply_to=message(node))


def record(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    """Parameters as Flower sends them."""
    return ArrayRecord({name: Array(np.asarray(value)) for name, value in arrays.items()})


def context(**node_config: Any) -> Context:
    """What a client is told of its node."""
    return Context(run_id=1, node_id=1, node_config=node_config, state=RecordDict(), run_config={})


def name_of(there: Context) -> str:
    """A name that lasts longer than the run."""
    return f"clinic-{there.node_config['partition-id']}"


app = ClientApp(mods=[named(name_of)])


@app.train()
def train(asked: Message, there: Context) -> Message:
    """One step towards a target of one's own."""
    place, weights = _begin(asked, there)
    moved = weights + np.float32(0.5) * (np.float32(place) - weights)
    metrics = {"loss": float(((place - weights) ** 2).mean()), "num-examples": 10 + place}
    return _said(asked, there, metrics, {"arrays": record({"w": moved})})


@app.evaluate()
def evaluate(asked: Message, there: Context) -> Message:
    """A share that depends on the weights, and the counts of two groups that it is made of."""
    place, weights = _begin(asked, there)
    rows = np.array([20, 30 + place])
    right = np.floor(rows * (1 / (1 + np.abs(place - weights[:GROUPS]))))
    metrics = {"accuracy": float(right.sum() / rows.sum()), "num-examples": int(rows.sum())}
    return _said(asked, there, metrics, report(RecordDict(), right=right, rows=rows))


def _begin(asked: Message, there: Context) -> tuple[int, np.ndarray]:
    """The client's place and the weights; one client fails in one round."""
    place, number = int(there.node_config["partition-id"]), int(asked.content["config"]["server-round"])
    if (place, number) == (FAILING, FAILS_IN):
        raise RuntimeError("the disk is full")
    return place, asked.content["arrays"]["w"].numpy()


def _said(asked: Message, there: Context, metrics: dict[str, Any], also: Mapping[str, Any]) -> Message:
    """Reply, and keep a copy where the test will look."""
    about, number = asked.metadata.message_type, int(asked.content["config"]["server-round"])
    file = Path(os.environ[FOLDER]) / f"{about}.{number}.{name_of(there)}.json"
    file.write_text(json.dumps(metrics))
    return Message(RecordDict({"metrics": MetricRecord(metrics), **also}), reply_to=asked)


def simulate(folder: Path) -> None:
    """A federation on Ray, watched: its log and the sums that were collected, in a folder."""
    watched = Watched(
        FedAvg(min_train_nodes=CLIENTS, min_evaluate_nodes=CLIENTS, min_available_nodes=CLIENTS),
        folder / "rounds.jsonl",
    )
    server = ServerApp()

    @server.main()
    def main(grid: Grid, there: Context) -> None:
        first = record({"w": np.linspace(0, 1, WEIGHTS, dtype=np.float32)})
        result = watched.start(
            grid=grid, initial_arrays=first, num_rounds=ROUNDS, train_config=ConfigRecord()
        )
        means = {number: dict(found) for number, found in result.evaluate_metrics_clientapp.items()}
        (folder / "means.json").write_text(json.dumps(means))

    run_simulation(
        server_app=server,
        client_app=app,
        num_supernodes=CLIENTS,
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
    arrays = {f"{unit}|{number}|{name}": value for (unit, number), found in watched.sums.items()
              for name, value in found.items()}  # fmt: skip
    np.savez(folder / "sums.npz", **arrays)
