"""Names for the arrays that kernels take and give."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[Any]
Scores: TypeAlias = NDArray[Any]
