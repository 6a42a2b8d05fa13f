"""Progress on the command line: bars that end where the work ends, and Ctrl-C."""

from __future__ import annotations

import json

import pytest

from command_line import QUICK, run
from setrbm import ClassSetRBMCV


@pytest.mark.parametrize(
    "arguments", [("fit", "data.csv", "new.safetensors"), ("evaluate", "data.csv", "--folds", "2")]
)
def test_ctrl_c_while_training_ends_with_code_130_and_writes_nothing(work, monkeypatch, arguments):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(work)
    monkeypatch.setattr("setrbm.tools.progress.Bar.show", interrupted)
    before = sorted(path.name for path in work.iterdir())
    result = run(*arguments, *QUICK)
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr == "Stopped.\n"
    assert sorted(path.name for path in work.iterdir()) == before


def test_without_a_terminal_progress_is_a_line_now_and_then(work, monkeypatch):
    monkeypatch.setattr("setrbm.tools.progress.SECONDS_BETWEEN_LINES", 0.0)
    result = run("fit", work / "data.csv", work / "lines.safetensors", *QUICK, "--json")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Fitting: choosing settings, epoch 1/40, time left unknown")
    assert lines[4].startswith("Fitting: choosing settings, epoch 5/40, at most ")
    assert "Fitting: refitting on all sets, epoch 1/" in result.stderr
    assert json.loads(result.stdout)["sets"] == 20
    assert run("fit", work / "data.csv", work / "lines.safetensors", *QUICK, "--force", "--quiet").stderr == ""


def test_the_bar_never_goes_back_while_several_kinds_of_candidates_are_tried(monkeypatch):
    from setrbm import ClassSetRBMCV
    from setrbm.cli._progress import FitProgress
    from setrbm.datasets import load_musk1
    from setrbm.tools.progress import Bar

    shown = []
    monkeypatch.setattr(Bar, "show", lambda self, done, note: shown.append(done))
    bags, y = load_musk1()
    model = ClassSetRBMCV((2, 3), learning_rate=0.1, init_scale=0.3, max_epochs=3, random_state=0)
    model.set_callbacks(FitProgress(Bar("Fitting", total=1.0))).fit(bags, y)
    assert shown == sorted(shown)
    # Two kinds of candidates, two poolings to refit, and the end.
    assert len(shown) == 4 * 3 + 1
    assert shown[-1] == pytest.approx(1.0)


KINDS_OF_FITS = {
    "default": {},
    "not refitted": {"refit": False},
    "several kinds": {"n_hidden": (2, 3), "constraint": ("xor", "or")},
    "several kinds, not refitted": {"n_hidden": (2, 3), "refit": False},
    "a mixture or not": {"pooling": ("mixed", "hard", "soft")},
    "calibrated": {"calibrate": True},
    "ended early": {"max_epochs": 30, "early_stopping": True, "patience": 2, "refit": False, "learning_rate": 1.0},
}


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("settings", KINDS_OF_FITS.values(), ids=KINDS_OF_FITS)
def test_the_bar_of_a_fit_reaches_its_end_and_not_before(monkeypatch, settings, is_sparse):
    from scipy import sparse

    from setrbm.cli._progress import CHOOSING, FitProgress
    from setrbm.datasets import load_musk1
    from setrbm.tools.progress import Bar

    shown = []
    monkeypatch.setattr(Bar, "show", lambda self, done, note: shown.append((done, note)))
    bags, y = load_musk1()
    bags = bags.with_vectors(sparse.csr_array(bags.X)) if is_sparse else bags
    model = ClassSetRBMCV(**{"n_hidden": 2, "learning_rate": 0.1, "max_epochs": 3, "random_state": 0} | settings)
    model.set_callbacks(FitProgress(Bar("Fitting", total=1.0))).fit(bags, y)
    done = [place for place, _ in shown]
    assert done == sorted(done)
    assert shown.pop() == (1.0, "done")
    choosing, refitting = ([place for place, note in shown if what in note] for what in ("choosing", "refitting"))
    if not model.refit:
        assert not refitting
        is_early = settings.get("patience") == 2
        assert choosing[-1] < 1.0 if is_early else choosing[-1] == pytest.approx(1.0)
    else:
        assert choosing[-1] == pytest.approx(CHOOSING)
        assert refitting[0] > CHOOSING
        assert refitting[-1] == pytest.approx(1.0)
        assert refitting[-2] < 1.0
