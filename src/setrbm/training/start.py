"""The parameters training starts from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from setrbm import draws
from setrbm._types import Floats
from setrbm.energy import Params


def initial_params(
    n_features: int, n_hidden: int, n_classes: int, init_scale: float, seed: int, dtype: npt.DTypeLike
) -> Params:
    """Return start parameters: W and U uniform in [-init_scale, init_scale], biases zero."""

    def weights(n: int, stage: int) -> Floats:
        units = np.arange(n_hidden * n)
        u = draws.uniform(draws.keys(seed, stage), units)[0]
        return np.asarray(init_scale * (2.0 * u - 1.0)).reshape(n, n_hidden).T

    return Params(
        W=weights(n_features, draws.INIT_W),
        U=weights(n_classes, draws.INIT_U),
        b=np.zeros(n_features),
        c=np.zeros(n_hidden),
        d=np.zeros(n_classes),
    ).astype(dtype)
