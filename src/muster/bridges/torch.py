"""PyTorch: run a model over the data of many units, and evaluate what it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.errors import BadData, MissingExtra
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
    units: Mapping[str, Any],
    *,
    holdout: Mapping[str, Any] | None = None,
    shared_test: Any = None,
    classes: int | None = None,
    batch_size: int = 1024,
    device: str | torch.device = "cpu",
    **settings: Any,
) -> Run:
    """Evaluate a model on the data set of each unit, of hold-out units and of a shared test.

    A data set gives pairs of features and label; a `DataLoader` is taken as it
    is. The model gives one logit a class. Further keywords are those of
    `muster.evaluate`.

    >>> data = torch.utils.data.TensorDataset(torch.eye(3).repeat(20, 1), torch.arange(3).repeat(20))
    >>> run = evaluate(torch.nn.Identity(), {"a": data, "b": data}, draws=50)
    >>> run.value("accuracy"), len(run.units)
    (1.0, 2)
    """
    holdout = holdout or {}
    given = {**units, **holdout, **({} if shared_test is None else {SHARED: shared_test})}
    named = len(units) + len(holdout) + (shared_test is not None)
    if len(given) < named:
        raise BadData(f"units, hold-outs and {SHARED!r} need names of their own")
    found = {name: predict(model, data, name, batch_size, device) for name, data in given.items()}
    scores = [part for part, _ in found.values()]
    truth = np.concatenate([labels for _, labels in found.values()])
    width = classes or scores[0].shape[1]
    return classification.evaluate(
        truth=truth,
        scores=np.concatenate(scores),
        unit=np.repeat(np.array(list(given), dtype=object), [len(part) for part in scores]),
        classes=[str(label) for label in range(width)],
        holdout=list(holdout),
        shared=[] if shared_test is None else [SHARED],
        **settings,
    )


@torch.inference_mode()
def predict(
    model: torch.nn.Module, data: Any, name: str, batch_size: int = 1024, device: str | torch.device = "cpu"
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Class scores and labels of one data set; the model is left in the mode it was in."""
    training = model.training
    model.eval()
    try:
        batches = [_batch(model.to(device), x.to(device), y) for x, y in _loader(data, batch_size)]
    finally:
        model.train(training)
    if not batches:
        raise BadData(f"unit {name!r} has no rows")
    scores, labels = (np.concatenate(part) for part in zip(*batches, strict=True))
    return scores, labels


def _loader(data: Any, batch_size: int) -> Iterable[Any]:
    return data if isinstance(data, DataLoader) else DataLoader(_sized(data), batch_size)


def _sized(data: Any) -> Dataset[Any]:
    if not hasattr(data, "__getitem__"):
        raise BadData(f"expected a data set or a DataLoader, got {type(data).__name__}")
    found: Dataset[Any] = data
    return found


def _batch(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[Any, Any]:
    logits = model(x)
    if logits.ndim != 2:
        raise BadData(f"the model gave {tuple(logits.shape)}, not one logit a class: [rows, classes]")
    return torch.softmax(logits.float(), 1).cpu().numpy(), y.long().cpu().numpy()
