"""What the workers of a test cluster run: in a module of its own, which they import in no time."""

import os
import signal
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from setrbm import ClassSetRBMCV


def doubled(k):
    return 2 * k


def deadly(k):
    if k == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return k


def in_vain(k):
    raise ValueError(f"no luck with {k}")


class OddError(Exception):
    """An error that cannot be unpacked."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class WorseError(Exception):
    """An error that cannot even be packed."""

    def __reduce__(self):
        raise TypeError("not this one")


def odd(kind):
    raise {"odd": OddError("this", "that"), "worse": WorseError("that")}[kind]


def without_memory():
    raise MemoryError


class Mean(ClassifierMixin, BaseEstimator):
    """Says 1 where the mean of a set is above that of the training sets.

    It kills its process if it has a certain seed, or if a file does not exist, which it makes.
    """

    def __init__(self, deadly_seed=None, dies_once=None, seconds=0.0, random_state=0):
        self.deadly_seed = deadly_seed
        self.dies_once = dies_once
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, y):
        time.sleep(self.seconds)
        is_first = self.dies_once is not None and not os.path.exists(self.dies_once)
        if is_first:
            with open(self.dies_once, "w"):
                pass
        if is_first or self.random_state == self.deadly_seed:
            os.kill(os.getpid(), signal.SIGKILL)
        self.classes_ = np.unique(y)
        self.at_ = np.mean([one.mean() for one in X])
        return self

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp([self.at_ - one.mean() for one in X]))
        return np.column_stack([1.0 - p, p])

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def make_mean(seed, quick, engine, n_jobs):
    return Mean(random_state=seed)


def make_rbm(seed, quick, engine, n_jobs):
    return ClassSetRBMCV(n_hidden=5, max_epochs=3, n_fits=1, learning_rate=(0.03, 0.1), random_state=seed, n_jobs=1)
