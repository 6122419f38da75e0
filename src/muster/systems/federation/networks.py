"""Softmax regression and multi-layer perceptrons in NumPy: many clients trained in one program.

Parameters of many clients are stacked on a first axis. A step touches only the clients that still
have work, and nothing is padded. Gradients are written out: the derivative of the cross-entropy
with respect to the logits is the softmax less the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.systems.federation.concepts import Labels
from muster.systems.federation.schedule import Batches
from muster.systems.federation.seeds import generator

Array: TypeAlias = NDArray[Any]
Params: TypeAlias = Mapping[str, Array]
Data: TypeAlias = tuple[Array, Labels]
CACHE, LEAST = 1 << 20, 16


@dataclass(frozen=True, slots=True)
class Network:
    """``sizes`` from features to classes; with two sizes it is softmax regression.

    >>> network = Network((4, 8, 3))
    >>> logits, hidden = network.answer(network.start(0), np.zeros((5, 4), np.float32))
    >>> logits.shape, hidden.shape
    ((5, 3), (5, 8))
    """

    sizes: tuple[int, ...]
    kind: Any = np.float32

    @property
    def together(self) -> int:
        """As many clients as have their parameters in a core's cache."""
        held = sum((i + 1) * o for i, o in pairwise(self.sizes)) * np.dtype(self.kind).itemsize
        return max(LEAST, int(CACHE // held))

    def start(self, seed: int) -> dict[str, Array]:
        """Parameters to begin with: uniform within one over the root of the inputs."""
        rng, found = generator(seed, "start"), {}
        for layer, (inputs, outputs) in enumerate(pairwise(self.sizes)):
            reach = 1 / np.sqrt(inputs)
            found[f"w{layer}"] = rng.uniform(-reach, reach, (inputs, outputs)).astype(self.kind)
            found[f"b{layer}"] = rng.uniform(-reach, reach, outputs).astype(self.kind)
        return found

    def answer(self, params: Params, x: Array) -> tuple[Array, Array]:
        """Logits, and what the last hidden layer makes of the items: their embedding.

        Softmax regression has no hidden layer: its embedding is the logits.
        """
        hidden, layers = x, len(self.sizes) - 1
        for layer in range(layers - 1):
            hidden = hidden @ params[f"w{layer}"]
            hidden += params[f"b{layer}"]
            hidden *= hidden > 0
        logits = hidden @ params[f"w{layers - 1}"] + params[f"b{layers - 1}"]
        return logits, hidden if layers > 1 else logits

    def train(
        self, params: Params, data: Data, order: Batches, lr: Array, mu: float = 0.0
    ) -> dict[str, Array]:
        """Local gradient descent of stacked parameters; `mu` pulls back to the start (FedProx)."""
        made = {name: value.copy() for name, value in params.items()}
        room = {name: np.empty_like(value) for name, value in made.items() if name.startswith("w")}
        truth, pull = np.eye(self.sizes[-1], dtype=self.kind), (params, mu * lr) if mu else None
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(order.items.shape[1]):
                now = slice(order.active(step))
                items, there = order.items[now, step], order.there[now, step].astype(self.kind)
                share = there * (lr[now] / there.sum(1))[:, None]
                grown = self._forward(made, data[0].take(items, 0), now)
                slope = softmax(grown[-1]) - truth[data[1][items]]
                slope *= share[..., None]
                self._backward(made, grown, slope, now, pull=pull, room=room)
        return made

    def weighted(self, made: Params, share: NDArray[np.float64]) -> dict[str, Array]:
        """``sum w x`` over clients of what `train` gave, each parameter flat."""
        return weighted(made, share)

    def plain(self, made: Params) -> dict[str, Array]:
        """What `train` gave."""
        return dict(made)

    def _forward(self, params: Params, x: Array, now: slice) -> list[Array]:
        grown, layers = [x], len(self.sizes) - 1
        for layer in range(layers):
            made = np.matmul(grown[-1], params[f"w{layer}"][now])
            made += params[f"b{layer}"][now, None]
            if layer < layers - 1:
                made *= made > 0
            grown.append(made)
        return grown

    def _backward(
        self,
        params: Params,
        grown: list[Array],
        slope: Array,
        now: slice,
        *,
        pull: tuple[Params, Array] | None,
        room: Params,
    ) -> None:
        """Change the parameters in place, from the last layer to the first; `slope` holds the rate."""
        for layer in range(len(self.sizes) - 2, -1, -1):
            found = {
                f"w{layer}": np.matmul(grown[layer].transpose(0, 2, 1), slope, out=room[f"w{layer}"][now]),
                f"b{layer}": np.matmul(_ones(slope), slope)[:, 0],
            }
            if layer:
                slope = np.matmul(slope, params[f"w{layer}"][now].transpose(0, 2, 1))
                slope *= grown[layer] > 0
            for name, change in found.items():
                own = params[name][now]
                if pull:
                    change += _wide(pull[1][now], change) * (own - pull[0][name][now])  # noqa: PLW2901
                own -= change


def _ones(slope: Array) -> Array:
    """A row of ones: as a product, a sum over items is four times as fast."""
    return np.ones((1, slope.shape[1]), slope.dtype)


def _wide(x: Array, like: Array) -> Array:
    """One number a client, for arrays of any shape."""
    return x.reshape(-1, *[1] * (like.ndim - 1)).astype(like.dtype)


def weighted(params: Params, share: NDArray[np.float64]) -> dict[str, Array]:
    """``sum w x`` over clients, flat; in the precision of the parameters."""
    with np.errstate(over="ignore", invalid="ignore"):
        return {k: share.astype(v.dtype) @ v.reshape(len(share), -1) for k, v in params.items()}


def softmax(logits: Array) -> Array:
    """Shares that sum to 1 along the last axis.

    Worked out with the classes first: reducing a short last axis is slow.

    >>> softmax(np.array([[0.0, 0.0], [np.log(3.0), 0.0]])).round(2).tolist()
    [[0.5, 0.5], [0.75, 0.25]]
    """
    flat = np.ascontiguousarray(logits.reshape(-1, logits.shape[-1]).T)
    flat -= flat.max(0)
    np.exp(flat, out=flat)
    flat /= flat.sum(0)
    return np.ascontiguousarray(flat.T).reshape(logits.shape)


def losses(logits: Array, y: Labels) -> NDArray[np.float64]:
    """Cross-entropy of each item.

    >>> losses(np.array([[0.0, 0.0]]), np.array([1])).round(4).tolist()
    [0.6931]
    """
    flat = np.ascontiguousarray(logits.reshape(-1, logits.shape[-1]).T)
    flat -= flat.max(0)
    own = flat[y.ravel(), np.arange(flat.shape[1])]
    whole = np.log(np.exp(flat, out=flat).sum(0, dtype=np.float64))
    return np.asarray((whole - own).reshape(y.shape))
