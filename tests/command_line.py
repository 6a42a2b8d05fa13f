"""The command line in tests: run it, and data for it."""

from __future__ import annotations

import json

import numpy as np
from typer.testing import CliRunner

from setrbm import Bags
from setrbm.cli import app

QUICK = ("--epochs", "40", "--hidden", "4", "--learning-rate", "0.1", "--engine", "cpu")


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)


def answer(*arguments):
    """Return the JSON a command prints; nothing else may stand on stdout."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def sets(seed=0, labels=("no", "yes"), names=("size", "shape", "color")):
    """Return 20 sets; those of the second class hold one vector that is large in its first feature."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=20)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.random((offsets[-1], 3)).round(3)
    y = np.arange(20) % 2
    X[offsets[:-1] + 1, 0] += 3.0 * y
    ids = [f"set{k}" for k in range(20)]
    return Bags(X, offsets, ids, names), np.array(labels)[y]


def saved(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text)
    return path
