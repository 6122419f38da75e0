"""One round of training: from the models that clients start from to what came back of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from muster.kernels.types import Floats
from muster.systems.federation.drifting import Drifting
from muster.systems.federation.networks import Array, Params, losses, weighted
from muster.systems.federation.schedule import Batches, Whole, batches
from muster.systems.federation.strategies import Kept, Model, Strategy, Updates


class Learner(Protocol):
    """A model: how it starts, answers, and learns; `Network` and `Module` are learners."""

    @property
    def together(self) -> int:
        """How many clients are best trained at once."""

    def start(self, seed: int) -> Model:
        """Parameters to begin with."""

    def answer(self, params: Params, x: Array) -> tuple[Array, Array]:
        """Logits and embedding of items."""

    def train(
        self,
        params: Params,
        data: tuple[Array, NDArray[np.int64]],
        order: Batches,
        lr: Array,
        mu: float = 0.0,
    ) -> Model:
        """Local training of stacked parameters; what comes back stays where the learner has it."""

    def weighted(self, made: Any, share: Floats) -> Model:
        """``sum w x`` over clients of what `train` gave, each parameter flat."""

    def plain(self, made: Any) -> Model:
        """What `train` gave, as arrays of NumPy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """How clients train: epochs over their items, items a step, and the rate."""

    epochs: int = 1
    batch: int = 16
    lr: float = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Who trains in this round: client, model it starts from, rate, share of its steps, and extra weight."""

    client: Whole
    model: Whole
    rate: Floats
    done: Floats
    weight: Floats


def one_round(
    learner: Learner,
    data: Drifting,
    work: Work,
    models: Sequence[Model],
    kept: Sequence[Kept],
    *,
    strategy: Strategy,
    local: Local,
    where: tuple[int, int],
) -> tuple[list[Model], list[Kept], Whole]:
    """Train, and make of each group of clients that share a model their new one.

    Gives the models, what strategies keep, and the clients whose training diverged: those are left out.
    """
    made, held, lost = list(models), list(kept), [np.zeros(0, np.int64)]
    for group in np.unique(work.model).tolist():
        own = work.model == group
        part = Work(work.client[own], work.model[own], work.rate[own], work.done[own], work.weight[own])
        trained = _Trained(learner, data, part, models[group], strategy, local, where)
        made[group], held[group] = trained.merged(kept[group])
        lost.append(trained.lost)
    return made, held, np.sort(np.concatenate(lost))


@dataclass(slots=True, eq=False)
class _Trained:
    """The training of one group, a block of clients at a time."""

    learner: Learner
    data: Drifting
    work: Work
    now: Model
    strategy: Strategy
    local: Local
    where: tuple[int, int]
    lost: Whole = field(default_factory=lambda: np.zeros(0, np.int64))

    def merged(self, kept: Kept) -> tuple[Model, Kept]:
        """The model that the server makes of what came back; the old one if nothing did."""
        rows = self.data.held.sizes[self.work.client].astype(float) * self.work.weight
        loss = self._losses() if self.strategy.by_loss else np.zeros(len(rows))
        if self.strategy.combine is not None:
            updates = self._all(rows, loss)
            return (self.strategy.combine(self.now, updates), kept) if len(updates.rows) else (self.now, kept)
        weight, kept = self.strategy.weigh(self.work.client, rows, loss, kept)
        mean = self._mean(weight)
        return self.strategy.move(self.now, mean, kept) if mean else (self.now, kept)

    def _blocks(self) -> Any:
        """Blocks of trained clients, about equally large: their places in `work`, and parameters."""
        order = np.argsort(-self.data.held.sizes[self.work.client], kind="stable")
        for chosen in np.array_split(order, -(-len(order) // self.learner.together)):
            turn = batches(
                self.data.held.starts, self.work.client[chosen], batch=self.local.batch,
                epochs=self.local.epochs, where=self.where, done=self.work.done[chosen],
            )  # fmt: skip
            place = chosen[_places(self.work.client[chosen], turn.client)]
            first = {k: np.broadcast_to(v, (len(place), *v.shape)) for k, v in self.now.items()}
            rate = self.work.rate[place].astype(next(iter(first.values())).dtype)
            yield place, self.learner.train(first, (self.data.x, self.data.y), turn, rate, self.strategy.mu)

    def _finite(self, place: Whole, params: Params) -> NDArray[np.bool_]:
        """Which clients have parameters; those whose training diverged are named and left out."""
        fine = np.ones(len(place), bool)
        for value in params.values():
            fine &= np.isfinite(value.reshape(len(place), -1)).all(1)
        self.lost = np.append(self.lost, self.work.client[place[~fine]])
        return fine

    def _mean(self, weight: Floats) -> Model:
        """The weighted mean, blocks summed in double precision; nothing if all diverged."""
        whole, sums = 0.0, {name: np.zeros(value.size) for name, value in self.now.items()}
        for place, params in self._blocks():
            share = weight[place]
            found = self.learner.weighted(params, share)
            if not all(np.isfinite(value).all() for value in found.values()):
                plain = self.learner.plain(params)
                fine = self._finite(place, plain)
                if not fine.any():
                    continue
                share = np.where(fine, share, 0.0)
                found = weighted({k: v[fine] for k, v in plain.items()}, share[fine])
            whole += float(share.sum())
            for name, value in found.items():
                sums[name] += value
        if not whole > 0:
            return {}
        return {k: (sums[k] / whole).reshape(v.shape).astype(v.dtype) for k, v in self.now.items()}

    def _all(self, rows: Floats, loss: Floats) -> Updates:
        made = ((place, self.learner.plain(params)) for place, params in self._blocks())
        parts = [(place, params, self._finite(place, params)) for place, params in made]
        place = np.concatenate([place[fine] for place, _, fine in parts])
        order = np.argsort(place, kind="stable")
        params = {k: np.concatenate([p[k][fine] for _, p, fine in parts])[order] for k in self.now}
        place = place[order]
        return Updates(self.work.client[place], params, rows[place], loss[place])

    def _losses(self) -> Floats:
        found = loss_of(self.learner, self.now, self.data, self.work.client)
        return np.where(np.isfinite(found), found, 0.0)


def loss_of(learner: Learner, model: Model, data: Drifting, client: Whole) -> Floats:
    """Mean loss of a model over the items of each of these clients."""
    found = np.empty(len(client))
    for at, one in enumerate(client.tolist()):
        rows = slice(data.held.starts[one], data.held.starts[one + 1])
        found[at] = losses(learner.answer(model, data.x[rows])[0], data.y[rows]).mean()
    return found


def _places(order: Whole, wanted: Whole) -> Whole:
    """Where each of `wanted` stands in `order`."""
    sorted_ = np.argsort(order, kind="stable")
    return np.asarray(sorted_[np.searchsorted(order[sorted_], wanted)])
