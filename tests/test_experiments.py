"""The experiments ask what they say: inside training parts alone."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from setrbm.evaluation.protocol import repeated_folds

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
if not EXPERIMENTS.exists():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    return importlib.import_module("recipe")


def test_recipes_are_judged_inside_training_parts(recipe):
    y = np.arange(60) % 2
    outer = repeated_folds(y, recipe.FOLDS, 1, recipe.SEED)
    splits = recipe.inner_splits(y)
    assert len(splits) == recipe.FOLDS * recipe.INNER_FOLDS
    for split in splits:
        shown = set(split.train.tolist()) | set(split.test.tolist())
        assert shown == set(outer[split.repeat].train.tolist())
        assert not set(split.train.tolist()) & set(split.test.tolist())


def test_every_recipe_tried_leaves_a_line(recipe, tmp_path, monkeypatch):
    from test_protocol import sets

    bags, y = sets(60)
    monkeypatch.setitem(recipe.RECIPES, "tiny", {"n_hidden": 3, "learning_rate": 0.1, "max_epochs": 2})
    log = tmp_path / "log.csv"
    for _ in range(2):
        recipe.write(log, recipe.judge("tiny", "made", bags, y, "cpu"))
    lines = log.read_text().splitlines()
    assert len(lines) == 3
    assert lines[1].split(",")[1:4:2] == lines[2].split(",")[1:4:2]
    assert ",50," in lines[1]
