"""Strategies against Flower's of the same name, over rounds; FedProx against autograd, AFL by definition."""

from __future__ import annotations

import logging
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


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's QFedAvg collects garbage for every reply, which takes minutes in a process of tests."""
    monkeypatch.setattr("gc.collect", lambda *_: 0)
    monkeypatch.setattr(logging.getLogger("flwr"), "disabled", True)


@pytest.mark.parametrize(("kind", "within"), [(np.float32, 1e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("clients", [5, 10, 50])
@pytest.mark.parametrize("name", TWINS)
def test_a_strategy_is_the_one_of_flower(
    name: str, clients: int, kind: Any, within: float, rng: np.random.Generator
) -> None:
    """Six rounds, from the same models with the same updates; each side keeps its own momenta."""
    made, twin, kept = strategy(name), TWINS[name](), {}
    now: Model = {part: rng.normal(size=shape).astype(kind) for part, shape in SHAPES.items()}
    first = now
    for number in range(1, ROUNDS + 1):
        updates = _drawn(rng, clients, now)
        theirs = _theirs(twin, number, now, updates)
        now, kept = _ours(made, now, updates, kept)
        for part, value in now.items():
            assert value.dtype == kind
            np.testing.assert_allclose(value, theirs[part], rtol=within, atol=within, err_msg=f"{number}")
    assert max(np.abs(now[k] - first[k]).max() for k in now) > 0.01


def test_every_strategy_has_a_twin_or_a_test_by_definition() -> None:
    assert set(STRATEGIES) - set(TWINS) == {"afl"}


def _plain_descent(start: Model, x: np.ndarray, y: np.ndarray, lr: float, mu: float) -> Model:
    """Three steps down loss + mu/2 |w - w0|^2, by autograd."""
    first = {name: torch.tensor(value) for name, value in start.items()}
    now = {name: value.clone().requires_grad_() for name, value in first.items()}
    for _ in range(3):
        hidden = torch.relu(torch.tensor(x) @ now["w0"] + now["b0"])
        loss = torch.nn.functional.cross_entropy(hidden @ now["w1"] + now["b1"], torch.tensor(y))
        pull = sum(((now[name] - first[name]) ** 2).sum() for name in now)
        slopes = torch.autograd.grad(loss + mu / 2 * pull, list(now.values()))
        now = {
            name: (value - lr * slope).detach().requires_grad_()
            for (name, value), slope in zip(now.items(), slopes, strict=True)
        }
    return {name: value.detach().numpy() for name, value in now.items()}


@pytest.mark.parametrize("mu", [0.0, 0.1, 2.0])
def test_fedprox_steps_down_the_loss_with_its_pull(mu: float, rng: np.random.Generator) -> None:
    """Two clients with data of their own, three steps each, on all of their items."""
    network = Network((4, 6, 3), kind=np.float64)
    x, y = rng.normal(size=(10, 4)), rng.integers(0, 3, 10)
    start, lr, sizes = network.start(1), 0.3, [6, 4]
    items = np.zeros((2, 3, 6), np.int64)
    items[0], items[1, :, :4] = np.arange(6), np.arange(6, 10)
    there = (np.arange(6) < np.array(sizes)[:, None, None]).repeat(3, 1).astype(np.float32)
    order = Batches(np.arange(2), items, there, np.array([3, 3]))
    stacked = {name: np.stack([value, value]) for name, value in start.items()}
    made = network.train(stacked, (x, y), order, np.full(2, lr), mu)

    for client, rows in enumerate((slice(0, 6), slice(6, 10))):
        plain = _plain_descent(start, x[rows], y[rows], lr, mu)
        for name, value in plain.items():
            np.testing.assert_allclose(made[name][client], value, rtol=0, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("whole", [1.0, 0.3])
def test_the_simplex_is_reached_at_the_nearest_point(whole: float, rng: np.random.Generator) -> None:
    for size in (1, 2, 5, 12):
        x = rng.normal(0, 0.5, size)
        found = simplex(x, whole)
        nearest = minimize(
            lambda z, x=x: ((z - x) ** 2).sum(), np.full(size, whole / size), jac=lambda z, x=x: 2 * (z - x),
            bounds=[(0, None)] * size, constraints={"type": "eq", "fun": lambda z: z.sum() - whole},
            method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
        )  # fmt: skip

        assert found.sum() == pytest.approx(whole)
        assert (found >= 0).all()
        np.testing.assert_allclose(found, nearest.x, atol=1e-6)


def test_afl_climbs_to_the_clients_of_highest_loss(rng: np.random.Generator) -> None:
    """Mohri et al. 2019: lambda <- projection of lambda + step * loss, while the model is the mean before."""
    client, rows = np.arange(4), np.array([10.0, 20.0, 30.0, 40.0])
    kept: Kept = {}
    expected = rows / rows.sum()
    for _ in range(ROUNDS):
        loss = rng.gamma(2.0, 1.0, 4)
        weight, kept = agnostic(client, rows, loss, kept)
        np.testing.assert_allclose(weight, expected, atol=1e-15)
        expected = simplex(expected + 0.1 * loss)
        np.testing.assert_allclose(kept["lambda"], expected, atol=1e-15)

    for _ in range(200):
        weight, kept = agnostic(client, rows, np.array([0.1, 0.1, 2.0, 0.1]), kept)
    np.testing.assert_allclose(weight, [0, 0, 1, 0], atol=1e-12)


def test_afl_moves_weight_only_among_those_who_are_there() -> None:
    rows, everybody = np.array([10.0, 20.0, 30.0, 40.0]), np.arange(4)
    _, kept = agnostic(everybody, rows, np.zeros(4), {})
    weight, after = agnostic(np.array([1, 3]), rows[[1, 3]], np.array([3.0, 0.0]), kept)

    np.testing.assert_allclose(kept["lambda"], rows / 100)
    np.testing.assert_allclose(after["lambda"][[0, 2]], [0.1, 0.3])
    np.testing.assert_allclose(weight, [0.2, 0.4])
    np.testing.assert_allclose(after["lambda"][[1, 3]], simplex(np.array([0.2 + 0.3, 0.4]), 0.6))
    assert after["lambda"].sum() == pytest.approx(1)
