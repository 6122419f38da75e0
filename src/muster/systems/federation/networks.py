"""Softmax regression and multi-layer perceptrons in NumPy: many clients trained in one program.

Parameters of many clients are stacked on a first axis. A step touches only the clients that still
have work, and nothing is padded. Gradients are written out: the derivative of the cross-entropy
with respect to the logits is the softmax less the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from muster.systems.federation.concepts import Labels
from muster.systems.federation.schedule import Batches
from muster.systems.federation.seeds import generator

Array: TypeAlias = NDArray[Any]
Params: TypeAlias = Mapping[str, Array]
Data: TypeAlias = tuple[Array, Labels]


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

    def start(self, seed: int) -> dict[str, Array]:
        """Parameters to begin with: uniform within one over the root of the inputs."""
        rng, found = generator(seed, "start"), {}
        for layer, (inputs, outputs) in enumerate(zip(self.sizes[:-1], self.sizes[1:], strict=True)):
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
            hidden = np.maximum(hidden @ params[f"w{layer}"] + params[f"b{layer}"], 0)
        logits = hidden @ params[f"w{layers - 1}"] + params[f"b{layers - 1}"]
        return logits, hidden if layers > 1 else logits

    def train(
        self, params: Params, data: Data, order: Batches, lr: Array, mu: float = 0.0
    ) -> dict[str, Array]:
        """Local gradient descent of stacked parameters; `mu` pulls back to the start (FedProx)."""
        made = {name: value.copy() for name, value in params.items()}
        truth = np.eye(self.sizes[-1], dtype=self.kind)
        for step in range(order.items.shape[1]):
            now = slice(order.active(step))
            items, there = order.items[now, step], order.there[now, step].astype(self.kind)
            share = there / there.sum(1, keepdims=True)
            grown = self._forward(made, data[0][items], now)
            slope = softmax(grown[-1]) - truth[data[1][items]]
            slope *= share[..., None]
            self._backward(made, grown, slope, now, lr=lr, pull=(params, mu))
        return made

    def _forward(self, params: Params, x: Array, now: slice) -> list[Array]:
        grown, layers = [x], len(self.sizes) - 1
        for layer in range(layers):
            made = np.matmul(grown[-1], params[f"w{layer}"][now])
            made += params[f"b{layer}"][now, None]
            if layer < layers - 1:
                np.maximum(made, 0, out=made)
            grown.append(made)
        return grown

    def _backward(
        self,
        params: Params,
        grown: list[Array],
        slope: Array,
        now: slice,
        *,
        lr: Array,
        pull: tuple[Params, float],
    ) -> None:
        """Change the parameters in place, from the last layer to the first."""
        for layer in range(len(self.sizes) - 2, -1, -1):
            found = {
                f"w{layer}": np.matmul(grown[layer].transpose(0, 2, 1), slope),
                f"b{layer}": slope.sum(1),
            }
            if layer:
                slope = np.matmul(slope, params[f"w{layer}"][now].transpose(0, 2, 1))
                slope *= grown[layer] > 0
            for name, change in found.items():
                if pull[1]:
                    change += pull[1] * (params[name][now] - pull[0][name][now])  # noqa: PLW2901
                params[name][now] -= change * lr[now].reshape(-1, *[1] * (change.ndim - 1))


def softmax(logits: Array) -> Array:
    """Shares that sum to 1 along the last axis; the array itself is changed."""
    logits -= logits.max(-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(-1, keepdims=True)
    return logits


def losses(logits: Array, y: Labels) -> NDArray[np.float64]:
    """Cross-entropy of each item."""
    shifted = logits - logits.max(-1, keepdims=True)
    whole = np.log(np.exp(shifted).sum(-1, dtype=np.float64))
    return np.asarray(whole - np.take_along_axis(shifted, y[..., None], -1)[..., 0])
