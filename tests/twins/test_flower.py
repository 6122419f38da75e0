"""Strategies against Flower's of the same name, over rounds; FedProx against autograd, AFL by definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord
from flwr.serverapp import Grid
from flwr.serverapp import strategy as flwr
from scipy.optimize import minimize

from muster.systems.federation.networks import Network
from muster.systems.federation.schedule import Batches
from muster.systems.federation.strategies import (
    STRATEGIES,
    Kept,
    Model,
    Strategy,
    Updates,
    agnostic,
    simplex,
    strategy,
    weighted_mean,
)
from tests import flower

pytestmark = pytest.mark.flower
ROUNDS, SHAPES = 6, {"w": (7, 5), "b": (5,)}
TWINS: dict[str, Callable[[], flwr.FedAvg]] = {
    "fedavg": flwr.FedAvg,
    "fedprox": lambda: flwr.FedProx(proximal_mu=0.1),
    "fedavgm": lambda: flwr.FedAvgM(server_momentum=0.9),
    "fedadam": lambda: flwr.FedAdam(eta=0.1, beta_1=0.9, beta_2=0.99, tau=1e-3),
    "fedyogi": lambda: flwr.FedYogi(eta=0.01, beta_1=0.9, beta_2=0.99, tau=1e-3),
    "trimmed_mean": lambda: flwr.FedTrimmedAvg(beta=0.2),
    "median": flwr.FedMedian,
    "krum": lambda: flwr.Krum(num_malicious_nodes=1),
    "qffl": lambda: flwr.QFedAvg(client_learning_rate=0.1, q=0.2),
}


class Nodes(Grid):
    """Says which nodes there are, which is all that it is asked."""

    run = set_run = create_message = push_messages = pull_messages = send_and_receive = None

    def __init__(self, clients: int) -> None:
        self.clients = clients

    def get_node_ids(self) -> list[int]:
        return list(range(1, self.clients + 1))


def _drawn(rng: np.random.Generator, clients: int, now: Model) -> Updates:
    """What clients of unequal size might send: near the model they began with."""
    params = {
        name: (value + rng.normal(0.02, 0.1, (clients, *value.shape))).astype(value.dtype)
        for name, value in now.items()
    }
    rows = rng.integers(1, 100, clients).astype(float)
    return Updates(np.arange(clients), params, rows, rng.gamma(2.0, 0.5, clients))


def _ours(made: Strategy, now: Model, updates: Updates, kept: Kept) -> tuple[Model, Kept]:
    """As `training.one_round` does it."""
    if made.combine is not None:
        return made.combine(now, updates), kept
    weight, kept = made.weigh(updates.client, updates.rows, updates.loss, kept)
    return made.move(now, weighted_mean(updates.params, weight), kept)


def _theirs(twin: flwr.FedAvg, number: int, now: Model, updates: Updates) -> Model:
    """One round of Flower: it is told the model, then what came back."""
    clients = len(updates.rows)
    flower.stand_in()
    twin.configure_train(number, flower.record(now), ConfigRecord(), Nodes(clients))
    replies = [
        flower.reply(
            {"num-examples": int(updates.rows[c]), "train_loss": float(updates.loss[c])},
            c + 1,
            {name: value[c] for name, value in updates.params.items()},
        )
        for c in range(clients)
    ]
    arrays, _ = twin.aggregate_train(number, replies)
    assert arrays is not None
    return {name: array.numpy() for name, array in arrays.items()}


@pytest.mark.parametrize(("kind", "within"), [(np.float32, 1e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("clients", [5, 10, 50])
@pytest.mark.parametrize("name", TWINS)
def test_a_strategy_is_the_one_of_flower(
    name: str, clients: int, kind: Any, within: float, rng: np.random.Generator
) -> None:
    """Both go their own way for six rounds, on the same updates relative to where Flower is."""
    made, twin, kept = strategy(name), TWINS[name](), {}
    now: Model = {part: rng.normal(size=shape).astype(kind) for part, shape in SHAPES.items()}
    theirs = now
    first = now
    for number in range(1, ROUNDS + 1):
        updates = _drawn(rng, clients, now)
        now, kept = _ours(made, now, updates, kept)
        theirs = {k: v.astype(kind) for k, v in _theirs(twin, number, theirs, updates).items()}
        for part, value in now.items():
            assert value.dtype == kind
            np.testing.assert_allclose(value, theirs[part], rtol=0, atol=within, err_msg=f"round {number}")
    assert max(np.abs(now[k] - first[k]).max() for k in now) > 0.01


def test_every_strategy_has_a_twin_or_a_test_by_definition() -> None:
    assert set(STRATEGIES) - set(TWINS) == {"afl"}
