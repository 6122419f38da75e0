"""What every test gets: a seeded generator, and one thread."""

from __future__ import annotations

import os

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")

import numpy as np
import pytest
import torch
from hypothesis import settings

settings.register_profile("muster", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("muster")
torch.set_num_threads(1)


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in every run."""
    return np.random.default_rng(62)
