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
# With "mixed", four fifths of the hidden units have hard pooling, and the last fifth mean pooling.
Pooling = Literal["soft", "hard", "mean", "mixed"]
Visible = Literal["binary", "gaussian"]
Unit = Literal["set", "rbm", "mlp", "logit"]
Criterion = Literal["likelihood", "error"]
