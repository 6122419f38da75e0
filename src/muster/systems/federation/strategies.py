"""How a server makes one model of many: pure functions over stacked parameters.

A strategy that averages is told its weights before training, so that clients can be trained a
block at a time; one that looks at all updates together (``combine``) needs them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from muster.errors import BadConfig, UnknownName
from muster.kernels.types import Floats
from muster.systems.federation.networks import Array, Params
from muster.systems.federation.schedule import Whole

Model: TypeAlias = dict[str, Array]
Kept: TypeAlias = dict[str, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Updates:
    """What came back: stacked parameters, and of each client its number, rows, and the loss it began with."""

    client: Whole
    params: Params
    rows: Floats
    loss: Floats

    def flat(self) -> Floats:
        """One row of parameters a client."""
        return np.concatenate([v.reshape(len(self.rows), -1) for v in self.params.values()], 1).astype(float)


Weigh: TypeAlias = Callable[[Whole, Floats, Floats, Kept], tuple[Floats, Kept]]
Move: TypeAlias = Callable[[Params, Params, Kept], tuple[Model, Kept]]


def by_rows(_: Whole, rows: Floats, loss: Floats, kept: Kept) -> tuple[Floats, Kept]:
    """Each client weighs as many rows as it has (McMahan et al. 2017)."""
    del loss
    return rows, kept


def stay(_: Params, mean: Params, kept: Kept) -> tuple[Model, Kept]:
    """The mean is the new model."""
    return dict(mean), kept


@dataclass(frozen=True, slots=True)
class Strategy:
    """``mu`` is the pull of the proximal term in local training; ``by_loss`` says that losses count."""

    name: str
    weigh: Weigh = by_rows
    move: Move = stay
    combine: Callable[[Params, Updates], Model] | None = None
    mu: float = 0.0
    by_loss: bool = False


def weighted_mean(params: Params, weights: Floats) -> Model:
    """``sum w x / sum w`` over the first axis, in double precision.

    >>> weighted_mean({"w": np.array([[0.0], [4.0]])}, np.array([3.0, 1.0]))["w"].tolist()
    [1.0]
    """
    share = weights / weights.sum()
    return {
        name: (share @ value.reshape(len(share), -1)).reshape(value.shape[1:]).astype(value.dtype)
        for name, value in params.items()
    }


def trimmed_mean(_: Params, updates: Updates, *, beta: float = 0.2) -> Model:
    """Per coordinate, without the lowest and highest share `beta` (Yin et al. 2018)."""
    cut, size = int(beta * len(updates.rows)), len(updates.rows)
    return {name: np.sort(v, 0)[cut : size - cut].mean(0) for name, v in updates.params.items()}


def median(_: Params, updates: Updates) -> Model:
    """The median of each coordinate (Yin et al. 2018)."""
    return {name: np.asarray(np.median(v, 0)).astype(v.dtype) for name, v in updates.params.items()}


def krum(_: Params, updates: Updates, *, malicious: int = 1) -> Model:
    """The one update nearest to its ``n - f - 2`` nearest others (Blanchard et al. 2017)."""
    flat = updates.flat()
    norms = (flat**2).sum(1)
    apart = np.sort(norms[:, None] + norms - 2 * flat @ flat.T, 1)
    near = max(1, len(flat) - malicious - 2)
    chosen = int(apart[:, 1 : near + 1].sum(1).argmin())
    return {name: value[chosen].copy() for name, value in updates.params.items()}


def q_fair(now: Params, updates: Updates, *, q: float = 0.2, lr: float = 0.1) -> Model:
    """q-FedAvg (Li et al. 2020): clients of higher loss pull more, the more so the larger `q`."""
    stiff, loss = 1 / lr, updates.loss + 1e-10
    slopes = {name: stiff * (now[name].astype(float) - value) for name, value in updates.params.items()}
    norm = sum((slope.reshape(len(loss), -1) ** 2).sum(1) for slope in slopes.values())
    whole = (q * loss ** (q - 1) * norm + stiff * loss**q).sum()
    return {
        name: (now[name] - np.tensordot(loss**q, slope, 1) / whole).astype(now[name].dtype)
        for name, slope in slopes.items()
    }


def agnostic(
    client: Whole, rows: Floats, loss: Floats, kept: Kept, *, step: float = 0.1
) -> tuple[Floats, Kept]:
    """Weights that climb towards the clients of highest loss (AFL, Mohri et al. 2019).

    They start as the shares of rows and are kept on the simplex by projection. Clients and weights
    step at once: the mean is weighed by what they were before the climb.
    """
    held = kept.get("lambda", np.zeros(0))
    if held.size <= client.max():
        held = np.append(held, np.zeros(int(client.max()) + 1 - held.size))
    if not held[client].any():
        held = held.copy()
        held[client] = rows / rows.sum()
    climbed = held.copy()
    climbed[client] = simplex(held[client] + step * loss, float(held[client].sum()))
    return held[client], {**kept, "lambda": climbed}


def simplex(x: Floats, whole: float = 1.0) -> Floats:
    """The nearest point whose parts are not negative and sum to `whole` (Duchi et al. 2008).

    >>> simplex(np.array([0.9, 0.6, -0.2])).round(3).tolist()
    [0.65, 0.35, 0.0]
    """
    x = x - x.max()
    falling = np.sort(x)[::-1]
    over = (np.cumsum(falling) - whole) / np.arange(1, x.size + 1)
    return np.asarray(np.maximum(x - over[np.flatnonzero(falling > over)[-1]], 0))


def momentum(
    now: Params, mean: Params, kept: Kept, *, beta: float = 0.9, lr: float = 1.0
) -> tuple[Model, Kept]:
    """FedAvgM (Hsu et al. 2019): the server steps with momentum."""
    moved = {name: beta * kept.get(f"m.{name}", 0.0) + (now[name] - mean[name]) for name in now}
    new = {name: (now[name] - lr * moved[name]).astype(now[name].dtype) for name in now}
    return new, {f"m.{name}": value for name, value in moved.items()}


def adaptive(
    now: Params,
    mean: Params,
    kept: Kept,
    *,
    second: Callable[[Array, Array, float], Array],
    lr: float,
    correct: bool,
) -> tuple[Model, Kept]:
    """FedAdam and FedYogi (Reddi et al. 2021): the server steps by a running scale of each coordinate.

    FedAdam corrects its rate for the first rounds as Flower does, who counts one round more than Adam;
    a round in which nobody trained does not count.
    """
    b1, b2, tau = 0.9, 0.99, 1e-3
    count = float(kept.get("rounds", np.zeros(1))[0]) + 1
    rate = lr * np.sqrt(1 - b2 ** (count + 1)) / (1 - b1 ** (count + 1)) if correct else lr
    new: Model = {}
    held: Kept = {"rounds": np.array([count])}
    for name, value in now.items():
        delta = mean[name] - value
        first = b1 * kept.get(f"m.{name}", np.zeros_like(value)) + (1 - b1) * delta
        scale = second(kept.get(f"v.{name}", np.zeros_like(value)), delta**2, b2)
        new[name] = (value + rate * first / (np.sqrt(scale) + tau)).astype(value.dtype)
        held |= {f"m.{name}": first, f"v.{name}": scale}
    return new, held


def _adam(held: Array, square: Array, beta: float) -> Array:
    return np.asarray(beta * held + (1 - beta) * square)


def _yogi(held: Array, square: Array, beta: float) -> Array:
    return np.asarray(held - (1 - beta) * square * np.sign(held - square))


def strategy(name: str, *, beta: float = 0.2, mu: float = 0.1, q: float = 0.2, lr: float = 0.1) -> Strategy:
    """The strategy of that name; `beta` is what a trimmed mean leaves out on a side, `lr` the local rate.

    >>> strategy("fedprox").mu
    0.1
    """
    if not 0 <= beta < 0.5:
        raise BadConfig(f"a trimmed mean leaves out less than half on either side, not {beta:g}")
    made: Mapping[str, Strategy] = {
        found.name: found
        for found in (
            Strategy("fedavg"),
            Strategy("fedprox", mu=mu),
            Strategy("fedavgm", move=momentum),
            Strategy("fedadam", move=partial(adaptive, second=_adam, lr=0.1, correct=True)),
            Strategy("fedyogi", move=partial(adaptive, second=_yogi, lr=0.01, correct=False)),
            Strategy("trimmed_mean", combine=partial(trimmed_mean, beta=beta)),
            Strategy("median", combine=median),
            Strategy("krum", combine=krum),
            Strategy("qffl", combine=partial(q_fair, q=q, lr=lr), by_loss=True),
            Strategy("afl", weigh=agnostic, by_loss=True),
        )
    }
    if name not in made:
        raise UnknownName("strategy", name, made)
    return made[name]


STRATEGIES = (
    "fedavg", "fedprox", "fedavgm", "fedadam", "fedyogi", "trimmed_mean", "median", "krum", "qffl", "afl",
)  # fmt: skip
