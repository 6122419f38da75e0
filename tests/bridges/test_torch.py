"""The PyTorch bridge: a model and the data sets of units give what their predictions give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import muster
from muster.bridges.torch import evaluate, predict
from muster.errors import BadConfig, BadData

CLASSES = 3


@pytest.fixture
def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, CLASSES))


def _data(rows: int, seed: int = 0) -> TensorDataset:
    torch.manual_seed(seed)
    return TensorDataset(torch.randn(rows, 5), torch.randint(0, CLASSES, (rows,)))


def test_the_run_is_that_of_the_predictions(model: torch.nn.Module) -> None:
    units = {"a": _data(70, 1), "b": _data(30, 2)}
    run = evaluate(
        model, units, holdout={"c": _data(40, 3)}, shared_test=_data(50, 4), batch_size=16, draws=20
    )
    given = {**units, "c": _data(40, 3), "test": _data(50, 4)}
    with torch.no_grad():
        scores = [torch.softmax(model.eval()(data.tensors[0]), 1).numpy() for data in given.values()]
    plain = muster.evaluate(
        truth=np.concatenate([data.tensors[1] for data in given.values()]),
        scores=np.concatenate(scores),
        unit=np.repeat(list(given), [len(data) for data in given.values()]),
        holdout=["c"],
        shared=["test"],
        draws=20,
    )

    for kind in ("per_sample", "per_unit", "global", "holdout_per_sample"):
        assert run.value("accuracy", kind) == plain.value("accuracy", kind), kind
        assert run.value("log_loss", kind) == pytest.approx(plain.value("log_loss", kind), rel=1e-5), kind
    assert run.units["unit"].tolist() == ["a", "b"]


def test_modules_keep_their_modes_and_their_statistics(model: torch.nn.Module) -> None:
    model.train()
    model[0].eval()
    before = model[1].running_mean.clone()
    evaluate(model, {"a": _data(20)}, draws=0)

    assert [module.training for module in model.children()] == [False, True, True]
    assert torch.equal(model[1].running_mean, before)


def test_modes_are_kept_when_a_batch_fails(model: torch.nn.Module) -> None:
    model.train()
    with pytest.raises(RuntimeError):
        evaluate(model, {"a": TensorDataset(torch.randn(4, 9), torch.zeros(4))})

    assert model.training


def test_a_data_loader_is_taken_as_it_is(model: torch.nn.Module) -> None:
    loaded = predict(model, DataLoader(_data(30), 7), "a")
    plain = predict(model, _data(30), "a")

    assert loaded is not None
    assert plain is not None
    np.testing.assert_allclose(loaded[0], plain[0], atol=1e-6)


def test_a_unit_without_rows_is_unknown(model: torch.nn.Module) -> None:
    run = evaluate(model, {"a": _data(40), "b": _data(40, 1), "nobody": _data(0)}, draws=0)
    found = dict(zip(run.units["unit"].tolist(), run.units["finding"].tolist(), strict=True))

    assert found["nobody"] == "no rows"
    assert [v.status.value for v in run.verdicts if v.subject == "every unit"] == ["unknown"]


def test_probabilities_are_taken_when_that_is_said() -> None:
    data = TensorDataset(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    run = evaluate(torch.nn.Identity(), {"a": data}, logits=False, draws=0)

    assert run.value("log_loss") == pytest.approx(-np.log([0.8, 0.4]).mean(), rel=1e-6)
    with pytest.raises(BadData, match="probabilities already: say logits=False"):
        evaluate(torch.nn.Identity(), {"a": data})


def test_half_precision(model: torch.nn.Module) -> None:
    data = TensorDataset(_data(30).tensors[0].bfloat16(), _data(30).tensors[1])

    assert evaluate(model.bfloat16(), {"a": data}, draws=0).estimate("accuracy").n == 30


@pytest.mark.parametrize(
    ("units", "extra", "said"),
    [
        ({}, {}, "at least one"),
        ([_data(3)], {}, "expected a mapping"),
        ({"a": _data(0)}, {}, "no unit has rows"),
        ({"a": 3}, {}, "expected a data set or a DataLoader, got int"),
        ({"a": _data(3)}, {"holdout": {"a": _data(3)}}, "names of their own"),
        ({"a": TensorDataset(torch.randn(3, 5), torch.tensor([0.5, 1, 2]))}, {}, "'a': labels are not whole"),
        ({"a": TensorDataset(torch.randn(3, 5))}, {}, "'a': expected batches of features and labels"),
        ({"a": [({"x": torch.randn(5)}, 1)]}, {}, "'a': expected tensors of features and labels, got dict"),
        ({"a": [(torch.randn(5), "cat")]}, {}, "got Tensor and tuple"),
        ({"a": _data(3)}, {"holdout": {"h": _data(0)}}, "'h' has no rows"),
        ({"a": _data(3)}, {"shared_test": _data(0)}, "'shared test' has no rows"),
    ],
)
def test_what_cannot_be_evaluated_is_said(
    units: Any, extra: dict[str, Any], said: str, model: torch.nn.Module
) -> None:
    with pytest.raises(BadData, match=said):
        evaluate(model, units, **extra)


def test_one_logit_is_of_the_second_of_two_classes() -> None:
    data = TensorDataset(torch.tensor([[2.0], [-1.0], [3.0]]), torch.tensor([1, 0, 0]))
    run = evaluate(torch.nn.Identity(), {"a": data}, draws=0)

    assert run.value("accuracy") == pytest.approx(2 / 3)
    assert run.value("log_loss") == pytest.approx(np.log1p(np.exp([-2.0, -1.0, 3.0])).mean(), rel=1e-5)


def test_a_device_that_is_not_there_is_named(model: torch.nn.Module) -> None:
    with pytest.raises(BadConfig, match=r"device 'xyz'"):
        evaluate(model, {"a": _data(3)}, device="xyz")


def test_units_may_be_expected_that_have_no_data_set(model: torch.nn.Module) -> None:
    run = evaluate(model, {"a": _data(30)}, expect=["b"], draws=0)

    assert run.units["unit"].tolist() == ["a", "b"]


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(BadData, match=r"expected a torch\.nn\.Module, got function"):
        evaluate(lambda x: x, {"a": _data(3)})  # type: ignore[arg-type]


def test_a_model_without_one_logit_a_class_is_refused() -> None:
    with pytest.raises(BadData, match=r"the model gave \(3,\), not one logit a class"):
        evaluate(torch.nn.Flatten(0), {"a": TensorDataset(torch.randn(3, 1), torch.zeros(3))})
