"""A federated round, every client trained and evaluated: against a plain PyTorch loop over clients."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import numpy as np
import torch

from benchmarks.populations_of_digits import calm, clients_of
from benchmarks.timing import REPEATS, Figure, cpu, faster, memory
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.networks import Network, losses
from muster.systems.federation.schedule import batches
from muster.systems.federation.strategies import Model, strategy
from muster.systems.federation.training import Local, Work, one_round

SIZES, LR, BATCH = (64, 64, 10), 0.1, 16
MANY = 10_000


def run() -> Iterator[Figure]:
    """The same model, items, batches and steps; the weights that result are compared."""
    torch.set_num_threads(1)
    for many in (10, 100, 1000):
        yield _against_torch(many)
    yield from _many()


def _against_torch(many: int) -> Figure:
    train, test = calm(clients_of(many))
    start = Network(SIZES).start(0)
    ours, theirs = _ours(train, start), _plain(train, start)
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], atol=1e-5)
    spent = cpu(lambda: (_ours(train, start), _evaluated(test, start)))
    plain = cpu(lambda: (_plain(train, start), _evaluated_plain(test, start)), 1 if many > 100 else REPEATS)
    least = 20 if many == 100 else None
    return faster(f"a round of {many:,} clients, MLP", spent, "PyTorch, client by client", plain, least)


def _ours(train: Drifting, start: Model) -> Model:
    everybody = np.arange(len(train.clients))
    ones = np.ones(everybody.size)
    work = Work(everybody, np.zeros(everybody.size, np.int64), LR * ones, ones, ones)
    models, _, _ = one_round(
        Network(SIZES), train, work, [start], [{}],
        strategy=strategy("fedavg"), local=Local(epochs=1, batch=BATCH, lr=LR), where=(0, 1),
    )  # fmt: skip
    return models[0]


def _evaluated(test: Drifting, model: Model) -> np.ndarray:
    logits, _ = Network(SIZES).answer(model, test.x)
    right, loss = logits.argmax(-1) == test.y, losses(logits, test.y)
    return np.stack([np.add.reduceat(part, test.held.starts[:-1]) for part in (right.astype(float), loss)])


def _plain(train: Drifting, start: Model) -> Model:
    everybody = np.arange(len(train.clients))
    order = batches(train.held.starts, everybody, batch=BATCH, epochs=1, where=(0, 1))
    x, y = torch.from_numpy(train.x), torch.from_numpy(train.y)
    whole = {name: np.zeros(value.shape) for name, value in start.items()}
    for place, client in enumerate(order.client.tolist()):
        net = _net(start)
        optimizer = torch.optim.SGD(net.parameters(), lr=LR)
        for step in range(int(order.steps[place])):
            items = torch.from_numpy(order.items[place, step][order.there[place, step] > 0])
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(net(x[items]), y[items]).backward()
            optimizer.step()
        share = train.held.sizes[client] / train.held.sizes.sum()
        for layer, linear in enumerate(m for m in net if isinstance(m, torch.nn.Linear)):
            whole[f"w{layer}"] += share * linear.weight.detach().numpy().T
            whole[f"b{layer}"] += share * linear.bias.detach().numpy()
    return whole


def _net(start: Model) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for layer, (inputs, outputs) in enumerate(pairwise(SIZES)):
        linear = torch.nn.Linear(inputs, outputs)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(start[f"w{layer}"].T)))
            linear.bias.copy_(torch.from_numpy(start[f"b{layer}"]))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _evaluated_plain(test: Drifting, model: Model) -> None:
    net, starts = _net(model), test.held.starts
    x, y = torch.from_numpy(test.x), torch.from_numpy(test.y)
    with torch.no_grad():
        for client in range(len(test.clients)):
            rows = slice(starts[client], starts[client + 1])
            logits = net(x[rows])
            float(torch.nn.functional.cross_entropy(logits, y[rows]))
            float((logits.argmax(1) == y[rows]).float().mean())


def _many() -> Iterator[Figure]:
    train, test = calm(clients_of(MANY))
    model, spent = Network(SIZES).start(0), []
    for _ in range(3):
        started = time.process_time()
        model = _ours(train, model)
        _evaluated(test, model)
        spent.append(time.process_time() - started)
    what = f"a round of {MANY:,} clients, MLP, all evaluated"
    yield Figure(
        what=what, peer="", ours=median(spent), theirs=float("nan"), figure=median(spent), unit="CPU-s",
        at_most=1.0,
    )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield memory(f"peak memory of {MANY:,} clients", peak, 1.0)
