"""``setrbm explain``: the explanations of the library, in words and as JSON."""

from __future__ import annotations

import re

import numpy as np
import pytest

from command_line import QUICK, answer, run
from setrbm import Bags, load
from setrbm.datasets.files import read_bags, write_csv


def test_explanations_are_those_of_the_library(work):
    model, bags = load(work / "model.safetensors"), read_bags(work / "data.csv")
    told = answer(
        "explain", work / "model.safetensors", work / "data.csv", "--set", "set3", "--set", "set0", "--top", "2"
    )
    explanation = model.explain(bags[[3, 0]])
    for one, part, top in zip(told["sets"], explanation, explanation.top_features(2), strict=True):
        assert one["set"] == part.ids[0]
        assert [v["drop"] for v in one["vectors"]] == part.drop.tolist()
        assert [v["decided"] for v in one["vectors"]] == part.decided.tolist()
        assert one["strongest_vector"] == part.drop.argmax() + 1
        code = model.classes_.tolist().index(one["explained"])
        assert [v["alone"] for v in one["vectors"]] == part.alone[:, code].tolist()
        assert [(f["feature"], f["contribution"]) for f in one["features"]] == top


def test_the_first_sets_are_shown_by_default(work):
    shown = run("explain", work / "model.safetensors", work / "data.csv", "--vectors", "1").stdout
    assert shown.count("Set set") == 5
    assert "use --vectors or --json to see them" in shown
    assert "Top features: " in shown
    assert any(name in shown for name in ("size", "shape", "color"))


def test_the_vectors_that_decided_are_marked_and_only_those(work):
    told = answer("explain", work / "model.safetensors", work / "data.csv", *every(work))["sets"]
    shown = run("explain", work / "model.safetensors", work / "data.csv", *every(work)).stdout
    heads = re.findall(r"^Set (\S+): class .* with probability [0-9.]+; (.*)$", shown, re.MULTILINE)
    decided = [[v["vector"] for v in one["vectors"] if v["decided"]] for one in told]
    assert len(re.findall(r"^ .* decided *$", shown, re.MULTILINE)) == sum(map(len, decided)) > 0
    for one, who, (name, fact) in zip(told, decided, heads, strict=True):
        assert name == one["set"]
        if not who:
            largest = max(v["drop"] for v in one["vectors"])
            assert fact == f"no single vector decided; the largest drop is {largest:+.3f}"
        elif len(who) == 1:
            assert fact == f"vector {who[0]} decided"
        else:
            assert fact == f"each of vectors {', '.join(map(str, who))} decided"


def every(work):
    """Return options that name every set."""
    return [part for name in read_bags(work / "data.csv").ids for part in ("--set", name)]


def test_where_no_vector_decided_none_is_marked(tmp_path):
    # Two identical vectors: without either of them, the other gives the same answer.
    bags = Bags.from_list([[[k % 2, 0.5]] * 2 for k in range(12)], feature_names=["a", "b"])
    write_csv(tmp_path / "data.csv", bags, np.arange(12) % 2)
    assert run("fit", tmp_path / "data.csv", tmp_path / "m", *QUICK).exit_code == 0
    told = answer("explain", tmp_path / "m", tmp_path / "data.csv")["sets"]
    assert not any(v["decided"] for one in told for v in one["vectors"])
    shown = run("explain", tmp_path / "m", tmp_path / "data.csv").stdout
    assert shown.count("; no single vector decided; the largest drop is 0\n") == 5
    assert not re.search(r" decided\s*$|[+-]0\.000", shown, re.MULTILINE)


def test_another_class_can_be_explained(work):
    told = answer("explain", work / "model.safetensors", work / "data.csv", "--class", "no")
    model = load(work / "model.safetensors")
    p = model.predict_proba(read_bags(work / "data.csv"))[:5, 0]
    assert [one["explained_probability"] for one in told["sets"]] == p.tolist()
    assert (
        "explained here: class no"
        in run("explain", work / "model.safetensors", work / "data.csv", "--class", "no").stdout
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--set", "set99"),
            "--set must name a set of the data: set0, set1, set2, set3, set4 and 15 more. Got 'set99'.",
        ),
        (
            ("--class", "maybe"),
            "--class must name a class the model has learned: no, yes. Got 'maybe'.",
        ),
    ],
)
def test_a_set_or_class_that_is_not_there_is_refused(work, arguments, message):
    result = run("explain", work / "model.safetensors", work / "data.csv", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
