"""A federation on one machine, round by round: Muster's simulator against a Flower app on Ray.

Both train the same network by the same learner, on the same items in the same batches, and evaluate
every client in every round; the models and what clients score must agree. The time is wall-clock, that
of a round in the steady state: Flower's start-up is left out. Ray works on all cores, Muster on one
thread if ``OMP_NUM_THREADS=1``. The larger the model, the smaller the ratio: this one is small.

The clients are in a module of their own name, or Flower would send the whole app with every message.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from benchmarks.populations_of_digits import calm, clients_of
from benchmarks.timing import Figure, faster
from muster.bridges.flower import Watched, named
from muster.sources.rounds import read_rounds
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.networks import Network
from muster.systems.federation.plan import BEFORE, Plan
from muster.systems.federation.schedule import batches
from muster.systems.federation.simulate import Federation
from muster.systems.federation.strategies import Model
from muster.systems.federation.training import Local

NETWORK, LOCAL, SEED = Network((64, 64, 10)), Local(epochs=1, batch=16, lr=0.1), 0
RUNS = {100: (8, 25), 1000: (4, 100)}
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
}  # fmt: skip


def run() -> Iterator[Figure]:
    """A hundred clients and a thousand."""
    for many, (rounds, target) in RUNS.items():
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
            yield _compared(many, rounds, target, Path(folder))


def _compared(many: int, rounds: int, target: float, folder: Path) -> Figure:
    ours, model, scored = _simulated(many, rounds)
    seconds, theirs, accuracy = _served(many, rounds, folder)
    for name, value in model.items():
        np.testing.assert_allclose(theirs[name], value, rtol=0, atol=1e-4, err_msg=name)
    apart = np.abs(accuracy - scored)
    assert apart.mean() < 1e-3, f"what clients score differs by {apart.mean():.2g} on average"
    what = f"a round of {many:,} clients, trained and evaluated"
    return faster(what, median(ours), "Flower on Ray, wall-clock", median(seconds[1:]), target)


def _simulated(many: int, rounds: int) -> tuple[list[float], Model, np.ndarray]:
    """Seconds of each round but the first, the last model, and what each scored in every round.

    A round is measured before it trains, so that of a model is measured in the round after it.
    """
    clients = clients_of(many)
    calm_scenario = calm(clients, rounds + 1)[0].scenario
    plan = Plan(rounds=rounds + 1, warmup=0, local=LOCAL, detectors=(), seed=SEED)
    federation, stamps = Federation(clients, NETWORK, calm_scenario, plan), [time.perf_counter()]
    federation.run(lambda _: stamps.append(time.perf_counter()), until=rounds)
    model = federation.models[0]
    federation.run(lambda _: stamps.append(time.perf_counter()))
    return np.diff(stamps)[1:].tolist(), model, federation.rounds().values[1:]


def _served(many: int, rounds: int, folder: Path) -> tuple[np.ndarray, Model, np.ndarray]:
    """The same of Flower, which runs in a process of its own."""
    code = f"from benchmarks.flower import serve; serve({many}, {rounds}, {str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **QUIET, "FLWR_HOME": str(folder / "home")}, cwd=Path(__file__).parents[1],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    found = dict(np.load(folder / "model.npz"))
    log, _ = read_rounds(folder / "rounds.jsonl")
    assert log.rows.all(), "some clients did not answer"
    return found.pop("seconds"), found, log.values[:, np.argsort(log.units.astype(int))]


def serve(many: int, rounds: int, folder: str) -> None:
    """Run the app; leave its log, its model and how long each round took in a folder."""
    everybody = {f"min_{what}_nodes": many for what in ("train", "evaluate", "available")}
    watched, server, stamps = Watched(FedAvg(**everybody), Path(folder) / "rounds.jsonl"), ServerApp(), []

    @server.main()
    def main(grid: Grid, _: Context) -> None:
        result = watched.start(
            grid, _sent(NETWORK.start(SEED)), rounds, train_config=ConfigRecord({"clients": many}),
            evaluate_config=ConfigRecord({"clients": many}),
            evaluate_fn=lambda *_: stamps.append(time.perf_counter()),
        )  # fmt: skip
        np.savez(Path(folder) / "model.npz", seconds=np.diff(stamps), **_model(result.arrays))

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app=server, client_app=app, num_supernodes=many, backend_config=resources)


app = ClientApp(mods=[named("partition-id")])


@app.train()
def train(asked: Message, there: Context) -> Message:
    """The steps of one client, as the simulator does them."""
    place, data, number = int(there.node_config["partition-id"]), _data(asked)[0], _round(asked)
    order = batches(
        data.held.starts, np.array([place]), batch=LOCAL.batch, epochs=LOCAL.epochs,
        where=(SEED, number + BEFORE),
    )  # fmt: skip
    first = {name: value[None] for name, value in _model(asked.content["arrays"]).items()}
    made = NETWORK.train(first, (data.x, data.y), order, np.full(1, LOCAL.lr, np.float32))
    metrics = MetricRecord({"num-examples": int(data.held.sizes[place])})
    arrays = _sent({name: value[0] for name, value in made.items()})
    return Message(RecordDict({"metrics": metrics, "arrays": arrays}), reply_to=asked)


@app.evaluate()
def evaluate(asked: Message, there: Context) -> Message:
    """What the model scores on the test items of one client."""
    place, data = int(there.node_config["partition-id"]), _data(asked)[1]
    rows = slice(data.held.starts[place], data.held.starts[place + 1])
    logits, _ = NETWORK.answer(_model(asked.content["arrays"]), data.x[rows])
    right = logits.argmax(-1) == data.y[rows]
    metrics = MetricRecord({"accuracy": float(right.mean()), "num-examples": len(right)})
    return Message(RecordDict({"metrics": metrics}), reply_to=asked)


def _data(asked: Message) -> tuple[Drifting, Drifting]:
    return _made(int(asked.content["config"]["clients"]))


@cache
def _made(many: int) -> tuple[Drifting, Drifting]:
    """Once in every worker."""
    return calm(clients_of(many))


def _round(asked: Message) -> int:
    return int(asked.content["config"]["server-round"])


def _sent(model: Model) -> ArrayRecord:
    return ArrayRecord({name: Array(value) for name, value in model.items()})


def _model(record: ArrayRecord) -> Model:
    return {name: array.numpy() for name, array in record.items()}
