"""Any ``torch.nn.Module`` as a learner: all clients in one program, by ``torch.func``.

The module must not keep statistics of batches (BatchNorm): they are no function of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, vmap

from muster.errors import BadConfig
from muster.systems.federation.networks import Array, Data, Params
from muster.systems.federation.schedule import Batches

Tensors = Mapping[str, torch.Tensor]
DRAWS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
_ROWS, _FEW, _MANY = 4096, 64, 4096


class Cnn(nn.Module):
    """Two convolutions and two layers, for small images of one channel."""

    def __init__(self, shape: tuple[int, int], hidden: int, classes: int) -> None:
        super().__init__()
        size = ((shape[0] + 1) // 2) * ((shape[1] + 1) // 2)
        self.seen = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * size, hidden), nn.ReLU(),
        )  # fmt: skip
        self.said = nn.Linear(hidden, classes)

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        """What the last hidden layer makes of images."""
        found: torch.Tensor = self.seen(x)
        return found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits."""
        found: torch.Tensor = self.said(self.embed(x))
        return found


@dataclass(frozen=True, eq=False)
class Module:
    """`make` builds the module; `shape` is that of one item, as the module takes it.

    If the module has a method ``embed``, its answer is the embedding of an item; else the logits are.

    >>> learner = Module(lambda: torch.nn.Linear(4, 3), (4,))
    >>> logits, embedding = learner.answer(learner.start(0), np.zeros((5, 4), np.float32))
    >>> logits.shape, embedding.shape
    ((5, 3), (5, 3))
    """

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    device: str = "cpu"

    @property
    def together(self) -> int:
        """A GPU is busy with many clients, a core with a few."""
        return _FEW if self.device == "cpu" else _MANY

    @cached_property
    def _module(self) -> nn.Module:
        return self.make().to(self.device).eval()

    def start(self, seed: int) -> dict[str, Array]:
        """Parameters as the module makes them, from this seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.make()
        held = [name for name, buffer in module.named_buffers() if buffer.is_floating_point()]
        drawn = [name for name, part in module.named_modules() if isinstance(part, DRAWS)]
        if drawn:
            raise BadConfig(
                f"the module draws at random, in {drawn[0]!r}: dropout cannot be resumed or repeated"
            )
        if held:
            raise BadConfig(f"the module keeps statistics of batches, {held[0]}: use GroupNorm or LayerNorm")
        return {name: value.detach().numpy().copy() for name, value in module.named_parameters()}

    def answer(self, params: Params, x: Array) -> tuple[Array, Array]:
        """Logits and embedding of items, a block at a time."""
        given, module = self._there(params), self._module
        embeds = getattr(module, "embed", None)
        found: list[tuple[Array, Array]] = []
        with torch.no_grad():
            if embeds:
                module.load_state_dict(given, strict=False)
            for start in range(0, max(len(x), 1), _ROWS):
                items = self._items(x[start : start + _ROWS])
                logits = functional_call(module, given, (items,))
                hidden = embeds(items) if embeds else logits
                found.append((logits.cpu().numpy(), hidden.reshape(len(items), -1).cpu().numpy()))
        logits_, hidden_ = zip(*found, strict=True)
        return np.concatenate(logits_), np.concatenate(hidden_)

    def train(
        self, params: Params, data: Data, order: Batches, lr: Array, mu: float = 0.0
    ) -> dict[str, torch.Tensor]:
        """Local gradient descent of stacked parameters; `mu` pulls back to the start (FedProx)."""
        slopes = vmap(grad(self._loss))
        first = {
            name: torch.as_tensor(np.array(value[0]), device=self.device).expand(value.shape)
            if not value.strides[0]
            else torch.as_tensor(value, device=self.device)
            for name, value in params.items()
        }
        made = {name: value.clone() for name, value in first.items()}
        x, y = self._items(data[0]), torch.as_tensor(data[1], device=self.device)
        items, there = (torch.as_tensor(part, device=self.device) for part in (order.items, order.there))
        rate = torch.as_tensor(lr, device=self.device)
        there = there.to(x.dtype)
        share = there / there.sum(2, keepdim=True)
        for step in range(order.items.shape[1]):
            now = slice(order.active(step))
            at = items[now, step]
            own = {name: value[now] for name, value in made.items()}
            for name, slope in slopes(own, x[at], y[at], share[now, step]).items():
                pulled = slope + mu * (own[name] - first[name][now]) if mu else slope
                made[name][now] -= rate[now].reshape(-1, *[1] * (slope.ndim - 1)).to(slope.dtype) * pulled
        return made

    def weighted(self, made: Tensors, share: NDArray[np.float64]) -> dict[str, Array]:
        """``sum w x`` over clients of what `train` gave, each parameter flat, worked out where it is."""
        by = torch.as_tensor(share, device=self.device)
        return {
            name: (by.to(value.dtype) @ value.reshape(len(share), -1)).cpu().numpy()
            for name, value in made.items()
        }

    def plain(self, made: Tensors) -> dict[str, Array]:
        """What `train` gave, as arrays of NumPy."""
        return {name: value.cpu().numpy() for name, value in made.items()}

    def _loss(self, own: Tensors, x: torch.Tensor, y: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
        logits = functional_call(self._module, dict(own), (x,))
        return (nn.functional.cross_entropy(logits, y, reduction="none") * share).sum()

    def _there(self, params: Params) -> dict[str, torch.Tensor]:
        return {
            name: torch.as_tensor(np.ascontiguousarray(value), device=self.device)
            for name, value in params.items()
        }

    def _items(self, x: Array) -> Any:
        dtype = next(iter(self._module.parameters())).dtype
        items = torch.as_tensor(np.ascontiguousarray(x), device=self.device).to(dtype)
        return items.reshape(len(x), *self.shape)
