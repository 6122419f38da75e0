"""PyTorch: run a model over the data of many units, and evaluate what it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadConfig, BadData, MissingExtra
from muster.reports.run import Run
from muster.suites import classification

try:
    import torch
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    raise MissingExtra("the torch bridge needs PyTorch: pip install 'muster-eval[torch]'") from error

SHARED = "shared test"


def evaluate(
    model: torch.nn.Module,
    units: Mapping[Any, Any],
    *,
    holdout: Mapping[Any, Any] | None = None,
    shared_test: Any = None,
    classes: int | None = None,
    batch_size: int = 1024,
    device: str | torch.device = "cpu",
    logits: bool = True,
    **settings: Any,
) -> Run:
    """Evaluate a model on the data set of each unit, of hold-out units and of a shared test.

    A data set gives pairs of features and label; a `DataLoader` is taken as it
    is. The model gives one logit a class, or, with ``logits=False``, one probability; one
    logit alone is of the second of two classes. A unit without rows is reported as unknown.
    Further keywords are those of `muster.evaluate`.

    >>> data = torch.utils.data.TensorDataset(9 * torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20))
    >>> run = evaluate(torch.nn.Identity(), {"a": data, "b": data}, draws=50)
    >>> run.value("accuracy"), len(run.units)
    (1.0, 2)
    """
    if not isinstance(units, Mapping) or not units:
        raise BadData("units: expected a mapping from names to data sets, with at least one")
    shared = {} if shared_test is None else {SHARED: shared_test}
    given = [(str(name), data) for part in (units, holdout or {}, shared) for name, data in part.items()]
    if len(dict(given)) < len(given):
        raise BadData(f"units, hold-outs and {SHARED!r} need names of their own")
    _refuse_empty({**(holdout or {}), **shared})
    found = {name: predict(model, data, name, batch_size, device, logits=logits) for name, data in given}
    known = {name: part for name, part in found.items() if part is not None}
    if not known:
        raise BadData("no unit has rows: there is nothing to evaluate")
    widths = {scores.shape[1] for scores, _ in known.values()}
    if len(widths) > 1:
        raise BadData(f"the model gave another number of classes for some units: {sorted(widths)}")
    return classification.evaluate(
        truth=np.concatenate([labels for _, labels in known.values()]),
        scores=np.concatenate([scores for scores, _ in known.values()]),
        unit=np.repeat(np.array(list(known), dtype=object), [len(labels) for _, labels in known.values()]),
        classes=[str(label) for label in range(classes or max(*widths, 2))],
        holdout=[str(name) for name in holdout or {}],
        shared=list(shared),
        expect=[*(str(name) for name in units), *settings.pop("expect", ())],
        **settings,
    )


@torch.inference_mode()
def predict(
    model: torch.nn.Module,
    data: Any,
    name: str,
    batch_size: int = 1024,
    device: str | torch.device = "cpu",
    *,
    logits: bool = True,
) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
    """Class scores and labels of one data set, None if it is empty; modules keep the modes they were in."""
    if not isinstance(model, torch.nn.Module):
        raise BadData(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    modes = {module: module.training for module in model.modules()}
    _move(model, device).eval()
    try:
        batches = [_batch(model, batch, device, name) for batch in _loader(data, batch_size)]
    finally:
        for module, training in modes.items():
            module.training = training
    if not batches:
        return None
    outputs, labels = (torch.cat(part) for part in zip(*batches, strict=True))
    even = bool((outputs >= 0).all()) and bool(((outputs.sum(1) - 1).abs() < 1e-3).all())
    if logits and even and outputs.shape[1] > 1:
        raise BadData("the model gives probabilities already: say logits=False")
    return (_shares(outputs) if logits else outputs).numpy(), labels.numpy()


def _shares(logits: torch.Tensor) -> torch.Tensor:
    """Probabilities of the classes; of one logit, that of the second of two."""
    return torch.softmax(logits, 1) if logits.shape[1] > 1 else torch.sigmoid(logits)


def _move(model: torch.nn.Module, device: str | torch.device) -> torch.nn.Module:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise BadConfig(f"device {str(device)!r}: {str(error).splitlines()[0]}") from error


def _refuse_empty(others: Mapping[Any, Any]) -> None:
    """A hold-out or a shared test without rows is a mistake; there is no one to be unknown."""
    for name, data in others.items():
        if hasattr(data, "__len__") and len(data) == 0:
            raise BadData(f"{name!r} has no rows: a hold-out or shared test needs some")


def _loader(data: Any, batch_size: int) -> Iterable[Any]:
    return data if isinstance(data, DataLoader) else DataLoader(_sized(data), batch_size)


def _sized(data: Any) -> Dataset[Any]:
    if not hasattr(data, "__getitem__"):
        raise BadData(f"expected a data set or a DataLoader, got {type(data).__name__}")
    found: Dataset[Any] = data
    return found


def _batch(
    model: torch.nn.Module, batch: Any, device: str | torch.device, name: str
) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(batch, list | tuple) or len(batch) != 2:
        raise BadData(f"unit {name!r}: expected batches of features and labels, got {type(batch).__name__}")
    x, y = batch
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        raise BadData(
            f"unit {name!r}: expected tensors of features and labels, "
            f"got {type(x).__name__} and {type(y).__name__}"
        )
    outputs = model(x.to(device))
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2:
        shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise BadData(f"unit {name!r}: the model gave {shape}, not one logit a class: [rows, classes]")
    if not torch.equal(y.long().to(y.dtype), y):
        raise BadData(f"unit {name!r}: labels are not whole numbers")
    return outputs.float().cpu(), y.long().cpu()
