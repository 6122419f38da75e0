"""The model that is asked for: NumPy's own, or any module of PyTorch."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from muster.errors import BadConfig, MissingExtra, nearest
from muster.records import Samples
from muster.suites.federation.settings import Training
from muster.systems.federation.networks import Network
from muster.systems.federation.training import Learner

KNOWN = ("mlp", "softmax", "cnn")


def learner_of(asked: Training, samples: Samples) -> Learner:
    """Softmax regression and MLP need nothing more; the rest needs PyTorch.

    >>> import numpy as np
    >>> samples = Samples(name="s", nature="table", x=np.zeros((2, 4), np.float32), y=np.array([0, 1]),
    ...                   classes=("a", "b"))
    >>> learner_of(Training(learner="softmax"), samples)
    Network(sizes=(4, 2), kind=<class 'numpy.float32'>)
    """
    classes = len(samples.classes)
    if asked.learner == "softmax":
        return Network((samples.features, classes))
    if asked.learner == "mlp":
        return Network((samples.features, asked.hidden, classes))
    if asked.learner != "cnn" and ":" not in asked.learner:
        raise BadConfig(
            f"no learner {asked.learner!r}{nearest(asked.learner, KNOWN)}; known: {', '.join(KNOWN)}, or "
            "FILE.py:NAME of a function that makes a torch module"
        )
    modules = _modules(asked)
    if asked.learner == "cnn":
        if samples.shape is None:
            raise BadConfig(f"a cnn is for images, and {samples.name} is {samples.nature}")
        shape = samples.shape
        return _built(
            modules.Module(lambda: modules.Cnn(shape, asked.hidden, classes), (1, *shape), asked.device)
        )
    make = _named(asked.learner)
    item = (1, *samples.shape) if samples.shape else (samples.features,)
    return _built(modules.Module(lambda: make(samples.features, classes), item, asked.device))


def _built(learner: Any) -> Learner:
    made: Learner = learner
    made.start(0)
    return made


def _modules(asked: Training) -> Any:
    if find_spec("torch") is None:
        raise MissingExtra(f"learner {asked.learner} needs PyTorch: pip install 'muster-eval[torch]'")
    if asked.device != "cpu" and not import_module("torch").cuda.is_available():
        raise BadConfig(f"device {asked.device!r}: PyTorch finds no GPU here")
    return import_module("muster.systems.federation.modules")


def _named(learner: str) -> Any:
    """The function of a file, as FILE.py:NAME."""
    place, _, name = learner.rpartition(":")
    file = Path(place)
    spec = spec_from_file_location("learner_of_a_user", file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise BadConfig(f"learner {learner}: there is no Python file {place}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise BadConfig(f"learner {learner}: {place} has no function {name!r}{nearest(name, dir(module))}")
    return getattr(module, name)
