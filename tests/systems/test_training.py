"""All clients in one program against one client after another: the same weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from muster.errors import BadConfig
from muster.systems.federation.modules import Module
from muster.systems.federation.networks import Network, losses, softmax
from muster.systems.federation.schedule import Batches, batches
from muster.systems.federation.strategies import STRATEGIES, Updates, strategy
from muster.systems.federation.training import Local, Work, loss_of, one_round
from tests.systems.worlds import blobs, population, still

SIZES = np.array([37, 3, 16, 1, 90])
STARTS = np.append(0, np.cumsum(SIZES))
WHERE = (7, 3)


def _items(features: int, classes: int, kind: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(SIZES.sum(), features)).astype(kind), rng.integers(0, classes, SIZES.sum())


def _layers(sizes: tuple[int, ...], kind: torch.dtype) -> nn.Sequential:
    pieces: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        pieces += [nn.Linear(inputs, outputs, dtype=kind), nn.ReLU()]
    return nn.Sequential(*pieces[:-1])


def _alone(
    make: Callable[[], nn.Module], first: dict[str, Any], data: Any, order: Batches, *, lr: Any, mu: float
) -> list[nn.Module]:
    """The plain loop: a module, an optimiser and a loss for each client, one after another."""
    found = []
    for place in range(len(order.client)):
        module = make()
        with torch.no_grad():
            for name, value in module.named_parameters():
                value.copy_(torch.as_tensor(first[name]))
        start = [value.detach().clone() for value in module.parameters()]
        optimiser = torch.optim.SGD(module.parameters(), lr=float(lr[place]))
        for step in range(order.steps[place]):
            rows = order.items[place, step][order.there[place, step] > 0]
            optimiser.zero_grad()
            x, y = (torch.as_tensor(part[rows]) for part in data)
            loss = nn.functional.cross_entropy(module(x), y)
            pairs = zip(module.parameters(), start, strict=True)
            loss = loss + mu / 2 * sum(((now - then) ** 2).sum() for now, then in pairs)
            loss.backward()
            optimiser.step()
        found.append(module)
    return found


def _stacked(params: dict[str, Any], clients: int) -> dict[str, Any]:
    return {name: np.broadcast_to(value, (clients, *value.shape)) for name, value in params.items()}


@pytest.mark.parametrize(("kind", "within"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("mu", [0.0, 0.1])
@pytest.mark.parametrize("sizes", [(6, 4), (6, 9, 4), (6, 7, 5, 4)])
def test_network_is_the_plain_loop(sizes: tuple[int, ...], mu: float, kind: Any, within: float) -> None:
    """Ragged sizes, three epochs, stragglers, a rate of its own for each client."""
    network, data = Network(sizes, kind=kind), _items(6, 4, kind)
    order = batches(
        STARTS, np.arange(5), batch=8, epochs=3, where=WHERE, done=np.array([1.0, 0.5, 1.0, 0.3, 0.7])
    )
    lr = np.linspace(0.1, 0.3, 5).astype(kind)
    start = network.start(1)
    made = network.plain(network.train(_stacked(start, 5), data, order, lr, mu))
    first = {}
    for layer in range(len(sizes) - 1):
        first |= {f"{2 * layer}.weight": start[f"w{layer}"].T, f"{2 * layer}.bias": start[f"b{layer}"]}
    dtype = torch.float64 if kind == np.float64 else torch.float32
    alone = _alone(partial(_layers, sizes, dtype), first, data, order, lr=lr, mu=mu)

    assert len(set(order.steps.tolist())) > 2
    for layer in range(len(sizes) - 1):
        for place, module in enumerate(alone):
            linear: Any = module[2 * layer]  # type: ignore[index]
            assert np.abs(made[f"w{layer}"][place] - linear.weight.detach().numpy().T).max() <= within
            assert np.abs(made[f"b{layer}"][place] - linear.bias.detach().numpy()).max() <= within
    assert made["w0"].dtype == kind


def test_answers_and_losses_are_those_of_torch() -> None:
    network, data = Network((6, 9, 4), kind=np.float64), _items(6, 4, np.float64)
    start = network.start(1)
    logits, hidden = network.answer(start, data[0])
    wanted = torch.as_tensor(logits)

    assert logits == pytest.approx(hidden @ start["w1"] + start["b1"])
    assert hidden == pytest.approx(np.maximum(data[0] @ start["w0"] + start["b0"], 0))
    each = nn.functional.cross_entropy(wanted, torch.as_tensor(data[1]), reduction="none")
    assert losses(logits, data[1]) == pytest.approx(each.numpy())
    assert softmax(logits.copy()) == pytest.approx(torch.softmax(wanted, 1).numpy())


class _Convolved(nn.Module):
    """Two convolutions, and an embedding of its own."""

    def __init__(self, kind: torch.dtype) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 3, 3, padding=1, dtype=kind)
        self.second = nn.Conv2d(3, 4, 3, stride=2, dtype=kind)
        self.last = nn.Linear(4 * 2 * 2, 4, dtype=kind)

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.relu(self.first(x))
        return torch.relu(self.second(found)).flatten(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.embed(x))


MODULES = {"mlp": (lambda kind: _layers((36, 9, 4), kind), (36,)), "cnn": (_Convolved, (1, 6, 6))}


@pytest.mark.parametrize(("kind", "within"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("mu", [0.0, 0.1])
@pytest.mark.parametrize("name", MODULES)
def test_module_is_the_plain_loop(name: str, mu: float, kind: torch.dtype, within: float) -> None:
    make, shape = MODULES[name]
    learner = Module(partial(make, kind), shape)
    x, y = _items(36, 4, np.float64 if kind == torch.float64 else np.float32)
    order = batches(
        STARTS, np.arange(5), batch=8, epochs=2, where=WHERE, done=np.array([1.0, 0.5, 1.0, 0.3, 0.7])
    )
    start, lr = learner.start(1), np.full(5, 0.05)
    given = {name: np.repeat(value[None], 5, 0) for name, value in start.items()}
    made = learner.plain(learner.train(given, (x, y), order, lr, mu))
    alone = _alone(partial(make, kind), start, (x.reshape(-1, *shape), y), order, lr=lr, mu=mu)

    for place, module in enumerate(alone):
        for part, value in module.named_parameters():
            assert np.abs(made[part][place] - value.detach().numpy()).max() <= within
    assert all((given[part][0] == start[part]).all() for part in start)


def test_module_answers_like_torch_and_embeds() -> None:
    learner = Module(partial(_Convolved, torch.float32), (1, 6, 6))
    start, (x, _) = learner.start(4), _items(36, 4, np.float32)
    module = _Convolved(torch.float32)
    module.load_state_dict({name: torch.as_tensor(value) for name, value in start.items()})
    logits, hidden = learner.answer(start, x)

    with torch.no_grad():
        wanted = module(torch.as_tensor(x).reshape(-1, 1, 6, 6))
        embedded = module.embed(torch.as_tensor(x).reshape(-1, 1, 6, 6))
    assert logits == pytest.approx(wanted.numpy(), abs=1e-6)
    assert hidden == pytest.approx(embedded.numpy(), abs=1e-6)
    assert all((start[part] == value).all() for part, value in learner.start(4).items())
    assert (start["last.weight"] != learner.start(5)["last.weight"]).any()


def test_module_with_statistics_of_batches_is_refused() -> None:
    with pytest.raises(BadConfig, match="keeps statistics of batches"):
        Module(lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), (3,)).start(0)


def test_module_with_dropout_is_refused() -> None:
    """What it draws depends on what was drawn before."""
    with pytest.raises(BadConfig, match="draws at random"):
        Module(lambda: nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 4)), (6,)).start(0)


@pytest.mark.parametrize("learner", ["network", "module"])
def test_a_federation_trains_any_learner(learner: str) -> None:
    """Through `one_round`, with the arrays that it makes; a module equals the network of the same shape."""
    clients = population(blobs(400, classes=4, features=6), 5)
    network: Any = Network((6, 9, 4), kind=np.float64)
    start = network.start(1)
    made: Any = network
    if learner == "module":
        made = Module(partial(_layers, (6, 9, 4), torch.float64), (6,))
        start = {
            f"{2 * layer}.{long}": start[f"{short}{layer}"].T if short == "w" else start[f"{short}{layer}"]
            for layer in (0, 1) for short, long in (("w", "weight"), ("b", "bias"))
        }  # fmt: skip
    found = _round(clients, made, start)[0]
    wanted = _round(clients, network, network.start(1))[0]

    if learner == "module":
        assert pytest.approx(wanted["w0"], abs=1e-12) == found["0.weight"].T
        assert found["2.bias"] == pytest.approx(wanted["b1"], abs=1e-12)


def test_one_client_alone_trains_a_module_in_silence() -> None:
    """Its parameters are a view that cannot be written: torch must not be given that."""
    clients = population(blobs(300, classes=4, features=6), 3)
    learner = Module(partial(_layers, (6, 4), torch.float32), (6,))
    torch.set_warn_always(True)
    try:
        assert _round(clients, learner, who=[1])[2].size == 0
    finally:
        torch.set_warn_always(False)


def _round(
    clients: Any, learner: Any, start: Any = None, *, who: Any = None, name: str = "fedavg", **options: Any
) -> tuple[Any, Any, NDArray[np.int64]]:
    who = np.arange(len(clients)) if who is None else np.asarray(who)
    ones = np.ones(len(who))
    rate, weight = options.get("rate", 0.1 * ones), options.get("weight", ones)
    work = Work(who, np.zeros(len(who), np.int64), rate, ones, weight)
    models, kept, lost = one_round(
        learner, still(clients), work, [start or learner.start(0)], [options.get("kept", {})],
        strategy=strategy(name), local=Local(epochs=2, batch=8, lr=0.1), where=WHERE,
    )  # fmt: skip
    return models[0], kept[0], lost


def _one_by_one(clients: Any, network: Network, who: Any = None) -> dict[int, dict[str, Any]]:
    """Each client trained alone."""
    who = range(len(clients)) if who is None else who
    return {int(c): _round(clients, network, who=[c])[0] for c in who}


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "median", "krum", "qffl", "afl", "fedadam"])
@pytest.mark.parametrize("block", [1, 3])
def test_blocks_do_not_matter(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many clients are trained at once, nothing but the order of one sum changes."""
    clients, network = population(blobs(500), 7), Network((8, 5, 3), kind=np.float64)
    whole, kept, _ = _round(clients, network, name=name)
    monkeypatch.setattr(Network, "together", property(lambda _: block))
    parts, kept_parts, _ = _round(clients, network, name=name)

    for part in whole:
        assert parts[part] == pytest.approx(whole[part], abs=1e-14)
    for part in kept:
        assert kept_parts[part] == pytest.approx(kept[part], abs=1e-14)


def test_who_else_takes_part_does_not_matter() -> None:
    """The mean of five is the mean, by rows, of what each of the five makes alone, bit for bit of each."""
    clients, network = population(blobs(500), 7), Network((8, 5, 3), kind=np.float64)
    who = [1, 2, 4, 5, 6]
    rows = clients.train.sizes[who]
    alone = _one_by_one(clients, network, who)
    together = _round(clients, network, who=who)[0]
    for part in together:
        mean = sum(n * alone[c][part] for c, n in zip(who, rows, strict=True)) / rows.sum()
        assert together[part] == pytest.approx(mean, abs=1e-14)


def test_a_client_trains_the_same_with_others_bit_for_bit() -> None:
    network, data = Network((6, 9, 4)), _items(6, 4, np.float32)
    start = network.start(1)

    def train(who: list[int]) -> dict[int, Any]:
        order = batches(STARTS, np.array(who), batch=8, epochs=2, where=WHERE)
        made = network.train(_stacked(start, len(who)), data, order, np.full(len(who), 0.1, np.float32))
        return {int(c): made["w0"][place] for place, c in enumerate(order.client)}

    together = train([0, 1, 2, 3, 4])
    for client in range(5):
        assert (train([client])[client] == together[client]).all()


def test_every_item_is_seen_once_an_epoch() -> None:
    order = batches(STARTS, np.array([4, 0, 3, 1]), batch=8, epochs=3, where=WHERE)
    for place, client in enumerate(order.client):
        each = -(-SIZES[client] // 8)
        assert order.steps[place] == 3 * each
        for epoch in range(3):
            piece = slice(epoch * each, (epoch + 1) * each)
            seen = order.items[place, piece][order.there[place, piece] > 0]
            assert sorted(seen.tolist()) == list(range(STARTS[client], STARTS[client + 1]))


def test_epochs_rounds_seeds_and_clients_are_shuffled_apart() -> None:
    def shuffle(where: tuple[int, int], epoch: int = 0, client: int = 4) -> list[int]:
        order = batches(STARTS, np.array([client]), batch=90, epochs=2, where=where)
        return (order.items[0, epoch] - STARTS[client]).tolist()

    found = [shuffle((7, 3)), shuffle((7, 3), 1), shuffle((7, 4)), shuffle((8, 3))]
    assert len({tuple(one) for one in found}) == 4
    assert shuffle((7, 3)) == found[0]


def test_stragglers_do_their_share_of_steps_and_at_least_one() -> None:
    done = np.array([1.0, 0.5, 0.5, 0.01, 0.5])
    order = batches(STARTS, np.arange(5), batch=8, epochs=2, where=WHERE, done=done)
    steps = dict(zip(order.client.tolist(), order.steps.tolist(), strict=True))

    assert steps == {0: 10, 1: 1, 2: 2, 3: 1, 4: 12}
    assert [order.active(step) for step in range(12)] == [
        sum(count > step for count in steps.values()) for step in range(12)
    ]


@pytest.mark.parametrize("name", ["fedavg", "median", "krum", "qffl", "afl", "fedadam"])
def test_who_diverges_is_left_out_and_named(name: str) -> None:
    """A rate that explodes in clients 1 and 4: what comes out is what the others make without them."""
    clients, network = population(blobs(500), 7), Network((8, 5, 3))
    rate = np.full(7, 0.1)
    rate[[1, 4]] = 1e25
    with np.errstate(all="ignore"):
        found, _, lost = _round(clients, network, name=name, rate=rate)
    others, _, nobody = _round(clients, network, name=name, who=[0, 2, 3, 5, 6])

    assert lost.tolist() == [1, 4]
    assert nobody.size == 0
    if name == "afl":
        assert all(np.isfinite(value).all() for value in found.values())
        return
    for part in others:
        assert found[part] == pytest.approx(others[part], abs=1e-6)


def test_divergence_says_nothing_on_the_side() -> None:
    """It is named and counted in the log; NumPy's warnings would only frighten."""
    clients, network = population(blobs(200), 3), Network((8, 5, 3))
    assert _round(clients, network, rate=np.array([0.1, 1e25, 0.1]))[2].tolist() == [1]


def test_when_all_diverge_the_model_stays() -> None:
    clients, network = population(blobs(300), 4), Network((8, 5, 3))
    for name in STRATEGIES:
        with np.errstate(all="ignore"):
            found, _, lost = _round(clients, network, name=name, rate=np.full(4, 1e25))
        assert lost.tolist() == [0, 1, 2, 3]
        assert all((found[part] == value).all() for part, value in network.start(0).items())


def test_extra_weights_weigh() -> None:
    clients, network = population(blobs(500), 3), Network((8, 5, 3), kind=np.float64)
    alone = _one_by_one(clients, network)
    weight = np.array([1.0, 3.0, 1.0])
    found = _round(clients, network, weight=weight)[0]
    share = clients.train.sizes * weight / (clients.train.sizes * weight).sum()

    assert found["w0"] == pytest.approx(sum(share[c] * alone[c]["w0"] for c in range(3)), abs=1e-14)


def test_groups_train_apart() -> None:
    """Two models at once: each is what its own clients make of it."""
    clients, network = population(blobs(500), 5), Network((8, 5, 3), kind=np.float64)
    first, second = network.start(0), network.start(9)
    model = np.array([0, 1, 0, 1, 1])
    work = Work(np.arange(5), model, np.full(5, 0.1), np.ones(5), np.ones(5))
    options: Any = {"strategy": strategy("fedavg"), "local": Local(epochs=2, batch=8), "where": WHERE}
    both, _, _ = one_round(network, still(clients), work, [first, second], [{}, {}], **options)

    assert (both[0]["w0"] == _round(clients, network, first, who=[0, 2])[0]["w0"]).all()
    assert (both[1]["w0"] == _round(clients, network, second, who=[1, 3, 4])[0]["w0"]).all()


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_learns(name: str) -> None:
    clients, network = population(blobs(500), 6), Network((8, 5, 3))
    model, kept = network.start(0), {}
    data, everybody = still(clients), np.arange(6)
    before = loss_of(network, model, data, everybody).mean()
    for _ in range(10):
        model, kept, _ = _round(clients, network, model, name=name, kept=kept)

    assert loss_of(network, model, data, everybody).mean() < 0.7 * before
    assert {value.dtype for value in model.values()} == {np.dtype(np.float32)}


def test_loss_of_is_the_mean_over_each_clients_items() -> None:
    clients, network = population(blobs(500), 6), Network((8, 5, 3))
    model, data = network.start(0), still(clients)
    for client in range(6):
        rows = data.held.items[data.held.starts[client] : data.held.starts[client + 1]]
        each = losses(network.answer(model, clients.samples.x[rows])[0], clients.samples.y[rows])
        assert loss_of(network, model, data, np.array([client]))[0] == pytest.approx(each.mean(), rel=1e-6)


@pytest.fixture
def updates(rng: np.random.Generator) -> Updates:
    """Eleven clients, the fifth of them far off."""
    params = {"w": rng.normal(size=(11, 4, 3)), "b": rng.normal(size=(11, 3))}
    for value in params.values():
        value[4] += 50
    return Updates(np.arange(11), params, rng.integers(5, 50, 11).astype(float), rng.random(11) + 0.5)


NOW = {"w": np.zeros((4, 3)), "b": np.zeros(3)}


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.2, 0.45])
def test_trimmed_mean_by_coordinate(updates: Updates, beta: float) -> None:
    found = strategy("trimmed_mean", beta=beta).combine(NOW, updates)  # type: ignore[misc]
    cut = int(beta * 11)
    for row in range(4):
        for column in range(3):
            ordered = sorted(updates.params["w"][:, row, column].tolist())
            assert found["w"][row, column] == pytest.approx(np.mean(ordered[cut : 11 - cut]))


def test_median_by_coordinate(updates: Updates) -> None:
    found = strategy("median").combine(NOW, updates)  # type: ignore[misc]

    assert (found["b"] == np.median(updates.params["b"], 0)).all()
    assert np.abs(found["w"]).max() < 3


def test_krum_takes_the_most_central_and_not_the_outlier(updates: Updates) -> None:
    flat = np.concatenate([updates.params["w"].reshape(11, -1), updates.params["b"]], 1)
    score = []
    for one in range(11):
        apart = sorted(float(((flat[one] - other) ** 2).sum()) for k, other in enumerate(flat) if k != one)
        score.append(sum(apart[: 11 - 1 - 2]))
    found = strategy("krum").combine(NOW, updates)  # type: ignore[misc]

    assert (found["w"] == updates.params["w"][int(np.argmin(score))]).all()
    assert int(np.argmax(score)) == 4


@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("name", ["trimmed_mean", "median", "krum", "qffl"])
def test_few_updates_are_enough(name: str, clients: int, rng: np.random.Generator) -> None:
    params = {"w": rng.normal(size=(clients, 2))}
    few = Updates(np.arange(clients), params, np.ones(clients), np.ones(clients))

    assert np.isfinite(strategy(name).combine({"w": np.zeros(2)}, few)["w"]).all()  # type: ignore[misc]


def test_q_fair_by_its_formula(updates: Updates) -> None:
    """q-FedAvg, algorithm 2 of Li et al. 2020, one client after another."""
    q, stiff = 0.2, 1 / 0.1
    step, h = {"w": np.zeros((4, 3)), "b": np.zeros(3)}, 0.0
    for k in range(11):
        loss, norm = updates.loss[k] + 1e-10, 0.0
        for name, whole in step.items():
            slope = stiff * (NOW[name] - updates.params[name][k])
            whole += loss**q * slope  # noqa: PLW2901
            norm += (slope**2).sum()
        h += q * loss ** (q - 1) * norm + stiff * loss**q
    found = strategy("qffl", q=q, lr=0.1).combine(NOW, updates)  # type: ignore[misc]

    assert found["w"] == pytest.approx(NOW["w"] - step["w"] / h)
    assert found["b"] == pytest.approx(NOW["b"] - step["b"] / h)


def test_agnostic_weights_climb_to_the_highest_loss() -> None:
    weigh, rows = strategy("afl").weigh, np.array([10.0, 10, 20])
    client, kept = np.arange(3), {}
    first, kept = weigh(client, rows, np.array([1.0, 1.0, 1.0]), kept)
    assert first == pytest.approx([0.25, 0.25, 0.5])
    weights = first
    for _ in range(30):
        weights, kept = weigh(client, rows, np.array([0.1, 1.0, 0.1]), kept)
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
    assert weights == pytest.approx([0, 1, 0])


def test_agnostic_weights_of_clients_that_come_later_are_those_of_their_rows() -> None:
    """Half of the clients are asked in each round: nobody's weight is decided by who was asked first."""
    weigh, kept, loss = strategy("afl").weigh, {}, np.full(3, 0.5)
    _, kept = weigh(np.array([0, 1, 2]), np.full(3, 10.0), loss, kept)
    found, kept = weigh(np.array([3, 4, 5]), np.full(3, 10.0), loss + np.array([0.0, 0.01, 0.02]), kept)

    assert found / found.sum() == pytest.approx([1 / 3] * 3, abs=0.05)


def test_fedavgm_is_the_momentum_of_the_mean_step() -> None:
    move, kept, speed = strategy("fedavgm").move, {}, np.zeros(2)
    now = wanted = np.array([1.0, -1.0])
    for step in (np.array([0.1, 0.2]), np.array([-0.3, 0.1]), np.array([0.0, 0.4])):
        new, kept = move({"w": now}, {"w": now + step}, kept)
        speed = 0.9 * speed - step
        wanted = wanted - speed
        now = new["w"]
        assert now == pytest.approx(wanted)


def test_unknown_strategy_says_what_is_near() -> None:
    with pytest.raises(KeyError, match="did you mean 'fedavg'"):
        strategy("fedagv")
    with pytest.raises(BadConfig, match="less than half"):
        strategy("trimmed_mean", beta=0.5)
