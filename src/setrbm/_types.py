"""Names for the types that many modules share."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

Constraint = Literal["xor", "or"]
Visible = Literal["binary", "gaussian"]
Unit = Literal["set", "rbm", "mlp", "logit"]
Criterion = Literal["likelihood", "error"]
