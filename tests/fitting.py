"""A problem that is easy to learn, and a callback, for tests of fits."""

import numpy as np

from setrbm import Bags


def easy(n_sets=40, n_features=6, seed=0, low=0.0, high=1.0):
    """Sets of 1 to 5 vectors; those of class 1 hold one vector with a large first feature."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.random((offsets[-1], n_features)) * 0.6
    y = np.arange(n_sets) % 2
    X[offsets[:-1][y == 1], 0] = 1.0
    return Bags(low + (high - low) * X, offsets), y


class EpochCallback:
    """A scikit-learn callback that does something after every epoch, given its phase and its number."""

    def __init__(self, act):
        self.act = act

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            return self.act(context.parent.task_name, context.task_id + 1)
