"""Any ``torch.nn.Module`` as a learner: all clients in one program, by ``torch.func``.

The module must not keep statistics of batches (BatchNorm): they are no function of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad, vmap

from muster.errors import BadConfig
from muster.systems.federation.networks import Array, Data, Params
from muster.systems.federation.schedule import Batches

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """`make` builds the module; `shape` is that of one item, as the module takes it.

    If the module has a method ``embed``, its answer is the embedding of an item; else the logits are.
    """

    make: Callable[[], torch.nn.Module]
    shape: tuple[int, ...]
    device: str = "cpu"

    def start(self, seed: int) -> dict[str, Array]:
        """Parameters as the module makes them, from this seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.make()
        held = [name for name, buffer in module.named_buffers() if buffer.is_floating_point()]
        if held:
            raise BadConfig(f"the module keeps statistics of batches, {held[0]}: use GroupNorm or LayerNorm")
        return {name: value.detach().numpy().copy() for name, value in module.named_parameters()}

    def answer(self, params: Params, x: Array) -> tuple[Array, Array]:
        """Logits and embedding of items."""
        module = self.make().to(self.device)
        with torch.no_grad():
            given, items = self._there(params), self._items(x)
            logits = functional_call(module, dict(given), (items,))
            hidden = logits
            if hasattr(module, "embed"):
                module.load_state_dict(dict(given), strict=False)
                hidden = getattr(module, "embed")(items)  # noqa: B009
        return logits.cpu().numpy(), hidden.reshape(len(x), -1).cpu().numpy()

    def train(
        self, params: Params, data: Data, order: Batches, lr: Array, mu: float = 0.0
    ) -> dict[str, Array]:
        """Local gradient descent of stacked parameters; `mu` pulls back to the start (FedProx)."""
        module = self.make().to(self.device)

        def loss(own: Tensors, x: torch.Tensor, y: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
            logits = functional_call(module, dict(own), (x,))
            return (torch.nn.functional.cross_entropy(logits, y, reduction="none") * share).sum()

        slopes = vmap(grad(loss))
        first, made = self._there(params), {k: v.clone() for k, v in self._there(params).items()}
        rate = torch.as_tensor(lr, device=self.device)
        for step in range(order.items.shape[1]):
            now = slice(order.active(step))
            items, there = order.items[now, step], order.there[now, step]
            x = self._items(data[0][items].reshape(-1, data[0].shape[1])).reshape(*items.shape, *self.shape)
            y = torch.as_tensor(data[1][items], device=self.device)
            share = torch.as_tensor(there / there.sum(1, keepdims=True), device=self.device).to(x.dtype)
            found = slopes({name: value[now] for name, value in made.items()}, x, y, share)
            for name, slope in found.items():
                pulled = slope + mu * (made[name][now] - first[name][now]) if mu else slope
                made[name][now] -= rate[now].reshape(-1, *[1] * (slope.ndim - 1)).to(slope.dtype) * pulled
        return {name: value.cpu().numpy() for name, value in made.items()}

    def _there(self, params: Params) -> dict[str, torch.Tensor]:
        return {name: torch.as_tensor(value, device=self.device) for name, value in params.items()}

    def _items(self, x: Array) -> Any:
        dtype = next(iter(self.make().parameters())).dtype
        return (
            torch.as_tensor(np.ascontiguousarray(x), device=self.device)
            .to(dtype)
            .reshape(len(x), *self.shape)
        )
