"""The experiments use training parts only, and judge candidates as described."""

import ast
import importlib
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from setrbm.evaluation.splits import repeated_folds
from setrbm.selective import promise
from setrbm_lab.systems import ROWS

LAB = Path(__file__).parents[1]
EXPERIMENTS = LAB / "experiments"
if not EXPERIMENTS.exists():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)

Y = np.arange(60) % 2


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    return importlib.import_module("recipe")


def test_recipes_are_judged_inside_training_parts(recipe):
    outer = repeated_folds(Y, 10, 1, recipe.SEED)
    splits = recipe.splits(Y)
    assert len(splits) == 20
    for i, split in enumerate(splits):
        assert set(split.train) | set(split.test) == set(outer[i // 2].train)
        assert not set(split.train) & set(split.test)
        assert np.array_equal(np.sort(np.concatenate(split.parts)), np.sort(split.train))


def made_logits(recipe, family, right):
    """Logits that are right, and sure, where ``right(member, setting, checkpoint)`` says so, else wrong."""
    blocks = []
    for split in recipe.splits(Y):
        for member in family.members:
            sign = np.where(Y[split.watched(member)] == 1, 1.0, -1.0)
            for setting in range(len(family.settings)):
                says = [1.0 if right(member, setting, at) else -1.0 for at in range(len(family.checkpoints))]
                one = np.outer(says, 4.0 * sign)
                blocks.append(np.rint(np.stack([one, one]) * recipe.STEP).astype(np.int8).ravel())
    return np.concatenate(blocks)


def accuracies(recipe, family, right):
    splits = recipe.unpacked(family, made_logits(recipe, family, right), Y)
    return {(name, what): np.mean([rule(s) for s in splits]) for name, what, rule in recipe.rules(family)}


def test_a_rule_is_judged_by_what_it_would_choose(recipe):
    family = recipe.Family((0.01, 0.03), (0.3,), parts=5, fits=1)
    last = len(family.checkpoints) - 1
    # The second setting is right at the end; the first in the middle only, and never when trained on all sets.
    found = accuracies(recipe, family, lambda m, s, at: at == last if s else (at == 3 and m < recipe.PARTS))
    for n in ("1 part", "5 parts"):
        assert found["all settings", f"the end by likelihood, {n}: refitted, 1 averaged"] == 1.0
        # The first of equal scores is that of the first setting, which is wrong once it has learned from all sets.
        assert found["all settings", f"any epoch by error, {n}: refitted, 1 averaged"] == 0.0
        assert found["all settings", f"any epoch by error, {n}: kept"] == 1.0


def test_a_candidate_dropped_at_a_rung_is_not_chosen(recipe):
    family = recipe.Family((0.01, 0.03), (0.3,))
    rung, last = family.checkpoints.index(50), len(family.checkpoints) - 1
    found = accuracies(recipe, family, lambda m, s, at: at < last if s else at in (rung - 1, last))
    # Only the first is right at the end, but it is wrong at the rung.
    assert found["all settings", "the end by likelihood, 1 part: refitted, 1 averaged"] == 1.0
    assert found["all settings", "halved, the end by likelihood: refitted, 1 averaged"] == 0.0


def test_fits_are_averaged_before_they_are_judged(recipe):
    family = recipe.Family((0.01,), (0.3,))
    found = accuracies(recipe, family, lambda m, s, at: m not in (5, 6))
    name = "rate 0.01, size 0.3, decay 0"
    assert found[name, "to the end, 1 fits averaged"] == pytest.approx(0.6)
    assert found[name, "to the end, 5 fits averaged"] == 1.0


def test_the_alternatives_in_below_differ_from_the_row_only_in_their_candidates(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    below = importlib.import_module("below")
    made = ROWS[below.ROW].make(0, False, "cpu", 1).get_params()
    for tried, settings in below.TRIED.items():
        changed = ROWS[below.ROW].make(0, False, "cpu", 1).set_params(**settings).get_params()
        assert {name for name in made if made[name] != changed[name]} == set(settings), tried
    logged = (EXPERIMENTS.parent / "results" / "below.csv").read_text(encoding="utf-8")
    assert all(f",{tried}," in logged or f',"{tried}",' in logged for tried in below.TRIED)


def test_a_threshold_is_judged_by_the_rest_of_the_pool(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    guarantee = importlib.import_module("reject_guarantee")
    monkeypatch.setattr(guarantee, "N_POOL", 4000)
    rng = np.random.default_rng(0)
    # Few values, so that there are ties.
    scores = np.sort(rng.integers(0, 50, 4000))[::-1] / 50
    right = rng.random(4000) < 0.8 + scores / 5
    n_right = np.concatenate([[0], np.cumsum(right)])
    kept, coverage, _ = guarantee.trial(scores, right, n_right, 600, 0.9, np.random.default_rng(1))
    drawn = np.random.default_rng(1).choice(4000, 600, replace=False, shuffle=False)
    rest = np.setdiff1d(np.arange(4000), drawn)
    accepted = rest[scores[rest] > promise(scores[drawn], right[drawn], 0.9, 0.95).threshold]
    assert kept == pytest.approx(right[accepted].mean())
    assert coverage == pytest.approx(len(accepted) / 3400)
    assert 0.0 < coverage < 1.0


# --- mail from page pictures ---


@pytest.fixture
def pictures_page(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    return importlib.import_module("mail_pictures_page")


def test_the_page_of_scanned_mail_shows_the_results_on_record(pictures_page):
    names = ("mail_pictures", "mail_pictures_words", "word_errors", "page_types")
    files = [pictures_page.read(f"{name}.csv") for name in names]
    rows = files[0]
    assert pictures_page.PAGE.read_text(encoding="utf-8") == pictures_page.text_of(*files)
    # Every system classified every test mail of every seed.
    assert len(rows) == 3 * 300 * len(pictures_page.SYSTEMS)


def test_words_only_are_nowhere_measurably_behind_as_the_page_says(pictures_page):
    lines = {line.split(" | ")[0]: line for line in pictures_page.blocks(pictures_page.read("mail_pictures.csv"))}
    ends = re.findall(r"\[([+-][\d.]+), ([+-][\d.]+)\]", lines["| words only"])
    assert len(ends) == len(pictures_page.GROUPS)
    assert all(float(low) <= 0.0 <= float(high) for low, high in ends)
    clear = {name: re.findall(r"\[\+(?!0\.0,)", line) for name, line in lines.items()}
    assert [len(clear[f"| without {block}"]) for block in ("words", "grid", "layout", "types")] == [4, 0, 2, 1]


def test_every_page_type_is_on_the_page_of_scanned_mail(pictures_page):
    page = pictures_page.PAGE.read_text(encoding="utf-8")
    for row in pictures_page.read("page_types.csv"):
        assert f"| {row['type']} | {float(row['ROC AUC']):.2f} |" in page


def slow_distance(one, other):
    if not one or not other:
        return len(one) + len(other)
    last = slow_distance(one[:-1], other[:-1]) + (one[-1] != other[-1])
    return min(slow_distance(one[:-1], other) + 1, slow_distance(one, other[:-1]) + 1, last)


def test_word_errors_are_the_edit_distance(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    edit_distance = importlib.import_module("word_errors").edit_distance
    rng = np.random.default_rng(0)
    for _ in range(100):
        one, other = (list(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(2))
        assert edit_distance(one, other) == slow_distance(one, other)


def test_the_lead_over_a_baseline_is_counted_mail_by_mail(pictures_page):
    def row(system, document, right):
        return {"system": system, "document": document, "right": str(right), "kind": "2", "handwritten": "False"}

    ours = [row(pictures_page.OURS, k, 1) for k in range(10)]
    theirs = [row(pictures_page.SVM, k, int(k < 6)) for k in range(10)]
    lead = pictures_page.difference([*ours, *theirs], pictures_page.SVM, pictures_page.GROUPS["printed evidence"])
    assert lead.startswith("+40.0 [")
    assert pictures_page.share([1, 1, 0, 1]).startswith("75.0 [")


def imported_from_us():
    """Module and name of everything that lab/ imports from our packages, also within functions."""
    for path in sorted(LAB.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = {node for attempt in ast.walk(tree) if isinstance(attempt, ast.Try) for node in ast.walk(attempt)}
        for node in ast.walk(tree):
            ours = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("setrbm", "setrbm_mail")
            if ours and node not in guarded and not node.module.startswith("setrbm.engines.gpu."):
                yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize(("module", "name"), sorted(set(imported_from_us())))
def test_what_the_laboratory_imports_is_there(module, name):
    if not hasattr(import_module(module), name):
        import_module(f"{module}.{name}")
