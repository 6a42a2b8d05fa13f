"""The command line: what it prints, what it writes, and how it says no."""

from __future__ import annotations

import ast
import csv
import dataclasses
import errno
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import setrbm.cli
import setrbm.tools
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV, __version__, load
from setrbm.cli import app
from setrbm.datasets.files import read_bags, read_sets, write_csv

QUICK = ("--epochs", "40", "--hidden", "4", "--learning-rate", "0.1", "--engine", "reference")


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


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with data.csv and a model fitted on it."""
    folder = tmp_path_factory.mktemp("work")
    write_csv(folder / "data.csv", *sets())
    result = run("fit", folder / "data.csv", folder / "model.safetensors", *QUICK)
    assert result.exit_code == 0, result.stderr
    return folder


# --- the whole ---


def test_version_and_help_are_shown():
    assert run("--version").stdout == f"setrbm {__version__}\n"
    shown = run("--help").stdout
    for command in ("demo", "fit", "predict", "evaluate", "explain", "datasets"):
        assert command in shown
        assert "Example" in run(command, "--help").stdout


def test_the_entry_point_runs_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom setrbm.cli import main\nsys.argv = ['setrbm', '--version']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numba', 'torch', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"setrbm {__version__}\n[]\n"


LIGHT = ("typer", "setrbm.cli", "setrbm.tools", "setrbm.dask.options")


def test_commands_import_only_what_is_light_at_the_top():
    for path in [*Path(setrbm.cli.__file__).parent.glob("*.py"), *Path(setrbm.tools.__file__).parent.glob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                light = name.split(".")[0] in sys.stdlib_module_names or name.startswith(LIGHT)
                assert light, f"{path.name} imports {name} at its top"


def test_the_defaults_shown_in_help_are_those_of_the_estimator():
    from setrbm.cli import _options

    defaults = ClassSetRBMCV().get_params()
    for option, name in (
        (_options.ConstraintOption, "constraint"),
        (_options.PoolingOption, "pooling"),
        (_options.ObjectiveOption, "objective"),
        (_options.HiddenOption, "n_hidden"),
        (_options.RatesOption, "learning_rate"),
        (_options.EpochsOption, "max_epochs"),
    ):
        assert option.__metadata__[0].show_default == str(defaults[name]).strip("()")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "data.csv"),
        ("fit", "data.csv", "m", "--hidden", "0"),
        ("fit", "data.csv", "m", "--constraint", "nand"),
        ("fit", "data.csv", "m", "--learning-rate", "0"),
        ("fit", "data.csv", "m", "--learning-rate", "nan"),
        ("fit", "data.csv", "m", "--jobs", "0"),
        ("fit", "data.csv", "m", "--engine", "tpu"),
        ("fit", "data.csv", "m", "--scale", "log"),
        ("evaluate", "data.csv", "--folds", "1"),
        ("nonsense",),
    ],
)
def test_wrong_arguments_end_with_code_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_bad_file_ends_with_one_sentence_and_code_1(tmp_path):
    (tmp_path / "bad.csv").write_text("bag,label,x\n1,0,oops\n")
    result = run("fit", tmp_path / "bad.csv", tmp_path / "model.safetensors")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: Every feature cell must hold a finite number. Got 'oops' in line 2")
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_a_fault_of_our_own_is_called_one(work, monkeypatch):
    def broken(*_):
        raise KeyError("lost")

    monkeypatch.setattr("setrbm.cli.predict._as_json", broken)
    result = run("predict", work / "model.safetensors", work / "data.csv", "--json")
    assert result.exit_code == 1
    assert "failed unexpectedly: KeyError: 'lost'" in result.stderr
    assert "SETRBM_TRACEBACK=1" in result.stderr


def test_a_traceback_is_there_for_those_who_ask(tmp_path, monkeypatch):
    monkeypatch.setenv("SETRBM_TRACEBACK", "1")
    result = run("fit", tmp_path / "none.csv", tmp_path / "model.safetensors")
    assert isinstance(result.exception, FileNotFoundError)


def test_a_warning_of_the_library_is_one_line_on_stderr(work, monkeypatch):
    def warned(*_, **__):
        warnings.simplefilter("always")
        warnings.warn("something to know", stacklevel=1)
        return []

    monkeypatch.setattr("setrbm.cli.explain.described", warned)
    result = run("explain", work / "model.safetensors", work / "data.csv")
    assert result.stderr == "Note: something to know\n"


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


@pytest.mark.parametrize("quiet", [True, False])
def test_what_the_library_says_while_a_bar_is_shown_stays_on_stderr(monkeypatch, capsys, quiet):
    from setrbm.tools.progress import Bar

    # rich takes any stream for a terminal then.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with Bar("Fitting", total=1.0, quiet=quiet):
        print("compiling once", file=sys.stderr)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "compiling once\n" in shown.err
    assert ("Fitting" in shown.err) != quiet


def test_a_terminal_that_cannot_draw_a_bar_gets_lines(monkeypatch, capsys):
    from setrbm.tools import progress

    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    with progress.Bar("Fitting", total=1.0) as bar:
        bar.show(0.5, "half of it")
    assert "Fitting: half of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "about 0 s left"), (59, "about 59 s left"), (61, "about 1:01 min left")]
)
def test_the_time_left_follows_the_time_so_far(monkeypatch, seconds, shown):
    from setrbm.tools.progress import Bar

    bar = Bar("Working", total=4.0)
    monkeypatch.setattr("time.perf_counter", lambda: bar._begin + seconds)
    assert bar.left(2.0) == shown
    assert bar.left(0.0) == "time left unknown"


# --- fit ---


def test_a_fitted_file_holds_the_model_the_library_would_fit(work, tmp_path):
    told = answer("fit", work / "data.csv", tmp_path / "model.safetensors", *QUICK, "--constraint", "or", "--seed", "3")
    bags, y = read_sets(work / "data.csv")
    model = ClassSetRBMCV(
        n_hidden=4, learning_rate=0.1, max_epochs=40, constraint="or", engine="reference", random_state=3
    ).fit(bags, y)
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").W_, model.W_)
    assert told["sets"] == 20
    assert told["vectors"] == bags.n_vectors
    assert told["classes"] == [{"label": "no", "sets": 10}, {"label": "yes", "sets": 10}]
    assert told["chosen"] == model.best_params_
    assert told["settings"]["constraint"] == "or"
    assert told["epochs"] == model.best_epoch_
    assert told["mean_negative_log_p"] == -model.best_score_


@pytest.mark.parametrize("pooling", ["hard", "mean", "mixed"])
@pytest.mark.parametrize("scale", ["auto", "center", "standardize"])
def test_pooling_and_scale_are_those_of_the_library(work, tmp_path, pooling, scale):
    options = ("--pooling", pooling, "--scale", scale, "--seed", "3")
    answer("fit", work / "data.csv", tmp_path / "model.safetensors", *QUICK, *options)
    fitted = load(tmp_path / "model.safetensors")
    bags, y = read_sets(work / "data.csv")
    settings = {"n_hidden": 4, "learning_rate": 0.1, "max_epochs": 40, "engine": "reference", "random_state": 3}
    model = ClassSetRBMCV(pooling=pooling, scale=scale, **settings).fit(bags, y)
    np.testing.assert_array_equal(fitted.W_, model.W_)
    assert (fitted.pooling, fitted.scale) == (pooling, scale)


def test_several_learning_rates_are_chosen_from(work, tmp_path):
    rates = ("--learning-rate", "0.05", "--learning-rate", "0.2")
    told = answer("fit", work / "data.csv", tmp_path / "m.safetensors", *QUICK, *rates)
    assert told["candidates"] == 6
    assert told["chosen"]["learning_rate"] in (0.05, 0.1, 0.2)


def test_the_summary_of_a_fit_names_what_was_learned(work, tmp_path):
    shown = run("fit", work / "data.csv", tmp_path / "m.safetensors", *QUICK).stdout
    assert "sets       20, with" in shown
    assert "classes    2: no (10), yes (10)" in shown
    assert "mean -log p on held-out sets" in shown
    assert str(tmp_path / "m.safetensors") in shown


def test_a_model_file_is_overwritten_only_by_force(work, tmp_path):
    model = tmp_path / "m.safetensors"
    model.write_text("precious")
    refused = run("fit", work / "data.csv", model, *QUICK)
    assert refused.exit_code == 2
    assert "exists already. Use --force" in refused.stderr
    assert model.read_text() == "precious"
    assert run("fit", work / "data.csv", model, *QUICK, "--force").exit_code == 0
    assert load(model).classes_.tolist() == ["no", "yes"]


def unwritable(folder):
    """Yield outputs that cannot be written, with what is said about them."""
    os.mkfifo(folder / "pipe")
    (folder / "file").touch()
    yield folder / "no" / "m", "must be in a folder that exists. There is no folder"
    yield folder / "file" / "m", "must be in a folder."
    yield folder, "must be a regular file, or the name of a new one. It is a folder."
    yield folder / "pipe", "It is a named pipe."
    yield "/dev/null", "It is a device."
    yield "/proc/m", "Cannot write the file ("


def test_an_output_that_cannot_be_written_is_refused_before_any_work(work, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a model was trained or loaded")

    monkeypatch.setattr(ClassSetRBMCV, "fit", never)
    monkeypatch.setattr("setrbm.load", never)
    for path, message in unwritable(tmp_path):
        commands = (("fit", work / "data.csv", path), ("predict", "model", work / "data.csv", "-o", path))
        for command in commands:
            result = run(*command, "--force")
            assert result.exit_code == 2, result.stderr
            assert message in result.stderr
            assert f"{str(path)!r}" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]


def test_a_link_given_as_output_stays_a_link(work, tmp_path):
    (tmp_path / "real").mkdir()
    for name, command in (
        ("m", ("fit", work / "data.csv", tmp_path / "m", *QUICK)),
        ("a.csv", ("predict", work / "model.safetensors", work / "data.csv", "-o", tmp_path / "a.csv")),
    ):
        (tmp_path / name).symlink_to(Path("real") / name)
        assert run(*command).exit_code == 0
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "real" / name).stat().st_size > 0
        # What the link leads to exists now.
        assert run(*command).exit_code == 2


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_disk_is_reported_with_the_users_file_and_the_old_one_is_kept(work, tmp_path, monkeypatch, command):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    files = (work / "data.csv", path) if command == "fit" else (work / "model.safetensors", work / "data.csv")
    result = run(command, *files, *(QUICK if command == "fit" else ("-o", path)), "--force")
    assert result.exit_code == 1
    assert result.stderr == f"Error: Cannot write the file (No space left on device): {str(path)!r}.\n"
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_file_that_appears_during_the_work_is_kept(work, tmp_path, monkeypatch, command):
    path = tmp_path / "out"
    link = os.link

    def late(*arguments):
        path.write_text("of another run")
        return link(*arguments)

    monkeypatch.setattr(os, "link", late)
    files = (work / "data.csv", path) if command == "fit" else (work / "model.safetensors", work / "data.csv")
    result = run(command, *files, *(QUICK if command == "fit" else ("-o", path)))
    assert result.exit_code == 1
    assert f"{str(path)!r} must be a new file. Another program has created it in the meantime" in result.stderr
    assert path.read_text() == "of another run"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_of_two_runs_with_the_same_new_output_exactly_one_succeeds(work, tmp_path):
    for i in range(3):
        command = [sys.executable, "-m", "setrbm", "predict", "model.safetensors", "data.csv", "-o"]
        path = tmp_path / f"{i}.csv"
        runs = [subprocess.Popen([*command, path], cwd=work, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [one.communicate(timeout=120)[1] for one in runs]
        assert sorted(one.returncode for one in runs) in ([0, 1], [0, 2]), said
        refused = next(words for words, one in zip(said, runs, strict=True) if one.returncode)
        assert "exists already" in refused or "Another program has created it" in refused
        assert path.read_text().startswith("bag,label,probability\n")
    assert len(list(tmp_path.iterdir())) == 3


def test_what_is_read_is_never_overwritten(work):
    model, data = work / "model.safetensors", work / "data.csv"
    for arguments in (("fit", data, data), ("predict", model, data, "-o", data), ("predict", model, data, "-o", model)):
        result = run(*arguments, "--force")
        assert result.exit_code == 2
        assert "must not be one that is read" in result.stderr


def test_columns_may_have_other_names(work, tmp_path):
    write_csv(tmp_path / "data.csv", *sets(), bag="molecule", label="musk")
    named = ("--bag", "molecule", "--label", "musk")
    told = answer("fit", tmp_path / "data.csv", tmp_path / "m.safetensors", *QUICK, *named)
    assert told["features"] == 3
    shown = run("predict", tmp_path / "m.safetensors", tmp_path / "data.csv", *named).stdout
    assert shown.startswith("molecule,musk,probability\nset0,")


def saved(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_columns_can_be_ignored_and_the_model_remembers_its_features(work, tmp_path):
    bags, y = sets()
    rows = list(csv.reader((work / "data.csv").read_text().splitlines()))
    noted = [[*row, "note" if i == 0 else "some words", "row" if i == 0 else str(i)] for i, row in enumerate(rows)]
    data = saved(tmp_path, "".join(",".join(row) + "\n" for row in noted))
    refused = run("fit", data, tmp_path / "m", *QUICK)
    assert refused.exit_code == 1
    assert "Got 'some words' in line 2, column 'note'" in refused.stderr
    assert "--ignore on the command line" in refused.stderr
    ignored = ("--ignore", "note", "--ignore", "row")
    assert answer("fit", data, tmp_path / "m", *QUICK, *ignored)["features"] == 3
    np.testing.assert_array_equal(load(tmp_path / "m").W_, load(work / "model.safetensors").W_)
    # The same columns may be named again, but need not be, and may be missing.
    expected = run("predict", work / "model.safetensors", work / "data.csv").stdout
    for command in ((data,), (data, *ignored), (work / "data.csv", *ignored)):
        assert run("predict", tmp_path / "m", *command).stdout == expected
        assert run("explain", tmp_path / "m", *command).exit_code == 0
        assert run("evaluate", command[0], "--model", tmp_path / "m", *command[1:]).exit_code == 0
    cross_validated = ("evaluate", data, "--folds", "2", *QUICK)
    assert run(*cross_validated).exit_code == 1
    assert answer(*cross_validated, *ignored)["predictions"] == len(y) == len(bags)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bag", "label"), "--bag and --label must name two columns. Got 'label' for both."),
        (("--ignore", "bag"), "--ignore must not name the bag column. Got 'bag'."),
        (("--ignore", "label"), "--ignore must not name the label column. Got 'label'."),
    ],
)
def test_a_column_cannot_be_two_things(work, tmp_path, options, message):
    model, data = work / "model.safetensors", work / "data.csv"
    for command in (
        ("fit", data, tmp_path / "m"),
        ("evaluate", data),
        ("predict", model, data),
        ("explain", model, data),
    ):
        result = run(*command, *options)
        assert result.exit_code == 2
        assert result.stderr == f"Error: {message}\n"
    refused = run("predict", model, data, "--ignore", "size").stderr
    assert "Columns to ignore must not be features of the model. Got 'size'." in refused


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        (("balanced",), "balanced"),
        (("yes=3",), {"yes": 3.0}),
        (("no=0.5", "yes=2"), {"no": 0.5, "yes": 2.0}),
    ],
)
def test_class_weights_are_those_of_the_library(work, tmp_path, given, weights):
    options = [part for one in given for part in ("--class-weight", one)]
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, *options).exit_code == 0
    bags, y = read_sets(work / "data.csv")
    model = ClassSetRBMCV(
        n_hidden=4, learning_rate=0.1, max_epochs=40, class_weight=weights, engine="reference", random_state=0
    ).fit(bags, y)
    np.testing.assert_array_equal(load(tmp_path / "m").W_, model.W_)
    assert load(tmp_path / "m").class_weight == weights


def test_classes_that_are_numbers_or_hold_an_equals_sign_can_be_weighted():
    from setrbm.cli._models import class_weights

    assert class_weights(["1=3"], np.array([0, 1])) == {1: 3.0}
    assert class_weights(["a=b=3"], np.array(["a=b", "c"])) == {"a=b": 3.0}
    assert class_weights(None, np.array([0, 1])) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("heavy",), "--class-weight must be 'balanced' alone, or CLASS=WEIGHT with a positive number. Got 'heavy'."),
        (("yes=0",), "with a positive number. Got 'yes=0'."),
        (("yes=nan",), "with a positive number. Got 'yes=nan'."),
        (("balanced", "yes=2"), "--class-weight must be 'balanced' alone, or CLASS=WEIGHT"),
        (("maybe=2",), "--class-weight must name a class of the data: no, yes. Got 'maybe'."),
        (("yes=2", "yes=3"), "--class-weight must be given once for each class. Got class yes twice."),
    ],
)
def test_class_weights_that_mean_nothing_are_refused(work, tmp_path, given, message):
    options = [part for one in given for part in ("--class-weight", one)]
    for command in (("fit", work / "data.csv", tmp_path / "m"), ("evaluate", work / "data.csv")):
        result = run(*command, *options)
        assert result.exit_code == 2
        assert message in result.stderr


def test_scaling_can_be_left_out(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--scale", "none").exit_code == 0
    assert load(tmp_path / "m").scale is None
    assert load(work / "model.safetensors").scale == "auto"


ROWS = "bag,label,x,price\n" + "".join(f"s{k},{'ab'[k % 2]},{k / 40},{k}\n" for k in range(40))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "bag,kind,x\n1,a,1\n2,a,2\n",
            ("--label", "kind"),
            "Column 'kind' of 'data.csv' must have at least two classes. Got one: a for all 2 sets.",
        ),
        (
            "bag,label,x\n7,1,1\n8,2.5,2\n",
            (),
            "Column 'label' of 'data.csv' must have classes. Got numbers with decimals, the first 2.5 for set 8.",
        ),
        (
            ROWS,
            ("--objective", "generative", "--scale", "none"),
            "--objective generative needs values from 0 to 1 with --scale none. Got 38 other values in 'data.csv', the "
            "first in column 'price', set s2. Use --objective discriminative, or --scale auto.",
        ),
        (
            ROWS,
            ("--learning-rate", "1e9", "--scale", "none", "--engine", "reference", "--epochs", "5"),
            "Training diverged with --learning-rate 1e+09. Use a smaller one, or --scale auto.",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_named_by_column_set_and_option(tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, text)
    for command in (("fit", "data.csv", "m"), ("evaluate", "data.csv", "--folds", "2")):
        result = run(*command, *options)
        assert result.exit_code == 1, result.stdout
        assert f"Error: {message}" in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_svmlight_file_has_labels_and_features_instead_of_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "1 qid:1 1:2\n1 qid:2 2:-3\n", "a.svm")
    assert "The labels of 'a.svm' must have at least two classes." in run("fit", "a.svm", "m").stderr
    saved(tmp_path, "1 qid:1 1:2\n0 qid:2 2:-3\n", "a.svm")
    message = (
        "--objective hybrid needs values of 0 or more in a svmlight file. Got 1 other value in 'a.svm', the first in "
        "feature 2, set 2. Use --objective discriminative."
    )
    assert message in run("fit", "a.svm", "m", "--objective", "hybrid").stderr


@pytest.mark.filterwarnings("default")
def test_columns_that_say_little_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"s{k},{'ab'[k % 2]},{k / 160},{1e9 if k in (1, 80) else k}\n" for k in range(160))
    saved(tmp_path, "bag,label,x,price\n" + rows)
    result = run("evaluate", "data.csv", "--folds", "2", *QUICK, "--epochs", "2")
    assert result.exit_code == 0
    # Once, not for every fold.
    assert result.stderr.startswith("Note: In 1 of 2 features (the first: price) outliers leave")
    assert result.stderr.count("Note") == 1
    saved(tmp_path, "bag,label,x\n" + "".join(f"{k},{k % 2},7\n" for k in range(8)))
    assert "Note: Every feature is constant" in run("fit", "data.csv", "m", *QUICK).stderr


def test_engines_offered_are_those_there_are(work):
    from setrbm.cli._options import Engine
    from setrbm.engines import ENGINES

    assert {str(engine) for engine in Engine} == {"auto", *ENGINES}


# --- predict ---


def test_predictions_are_those_of_the_library(work):
    model, bags = load(work / "model.safetensors"), read_bags(work / "data.csv")
    rows = list(
        csv.DictReader(run("predict", work / "model.safetensors", work / "data.csv", "--proba").stdout.splitlines())
    )
    p = model.predict_proba(bags)
    assert [row["bag"] for row in rows] == bags.ids.tolist()
    assert [row["label"] for row in rows] == model.predict(bags).tolist()
    np.testing.assert_allclose([[float(row["p_no"]), float(row["p_yes"])] for row in rows], p, rtol=1e-5)
    np.testing.assert_allclose([float(row["probability"]) for row in rows], p.max(axis=1), rtol=1e-5)


def test_predictions_as_json_hold_the_same(work):
    told = answer("predict", work / "model.safetensors", work / "data.csv", "--proba")
    p = load(work / "model.safetensors").predict_proba(read_bags(work / "data.csv"))
    assert [one["set"] for one in told["sets"]] == [f"set{k}" for k in range(20)]
    np.testing.assert_array_equal([list(one["probabilities"].values()) for one in told["sets"]], p)


def test_predictions_can_go_to_a_file_that_is_not_overwritten(work, tmp_path):
    out = tmp_path / "answers.csv"
    result = run("predict", work / "model.safetensors", work / "data.csv", "--output", out)
    assert result.stdout == ""
    assert result.stderr == f"Wrote the classes of 20 sets to {out}.\n"
    assert out.read_text() == run("predict", work / "model.safetensors", work / "data.csv").stdout
    assert run("predict", work / "model.safetensors", work / "data.csv", "--output", out).exit_code == 2
    assert run("predict", work / "model.safetensors", work / "data.csv", "--output", out, "--force").exit_code == 0


def test_features_are_found_by_name_whatever_else_the_file_holds(work, tmp_path):
    bags, _ = sets()
    order = [2, 0, 1]
    shuffled = Bags(bags.X[:, order], bags.offsets, bags.ids, bags.feature_names[order])
    write_csv(tmp_path / "new.csv", shuffled, np.repeat("unknown", 20), label="remark")
    new = run("predict", work / "model.safetensors", tmp_path / "new.csv")
    assert new.stdout == run("predict", work / "model.safetensors", work / "data.csv").stdout


def test_what_lies_outside_the_range_of_training_is_counted_on_request(work, tmp_path):
    bags, _ = sets()
    X = bags.X.copy()
    X[0, 0], X[1, 0], X[-1, 2] = 99.0, -99.0, 99.0
    big = Bags(np.vstack([X, X[:9]]), [*bags.offsets, len(X) + 9], [*bags.ids, "big"], bags.feature_names)
    write_csv(tmp_path / "new.csv", big)
    predict = ("predict", work / "model.safetensors", tmp_path / "new.csv")
    told = answer(*predict, "--check-range")["range"]
    assert told["values"] == big.X.size
    # The first two rows are in the last set once more.
    assert told["values_outside"] == 5
    assert told["sets_with_values_outside"] == 3
    assert told["values_outside_by_feature"] == {"size": 4, "color": 1}
    assert (told["largest_set_in_training"], told["larger_sets"]) == (int(bags.sizes.max()), 1)
    result = run(*predict, "--check-range")
    assert result.stdout == run(*predict).stdout
    assert result.stderr == (
        f"Outside the range seen in training: 5 of {big.X.size} values, in 3 sets (size: 4, color: 1); 1 set with more "
        f"than {bags.sizes.max()} vectors, the most in training.\n"
    )
    inside = run("predict", work / "model.safetensors", work / "data.csv", "--check-range").stderr
    assert inside.startswith(f"Outside the range seen in training: 0 of {bags.X.size} values; 0 sets with more than")


def test_a_model_that_keeps_no_range_is_refused(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--scale", "none").exit_code == 0
    result = run("predict", tmp_path / "m", work / "data.csv", "--check-range")
    assert result.exit_code == 2
    assert "--check-range needs a classifier fitted with --scale auto" in result.stderr


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("0", "x"), ("01", "02")])
def test_labels_come_out_as_they_went_in(tmp_path, labels):
    bags, y = sets(labels=labels)
    write_csv(tmp_path / "data.csv", bags, y)
    assert run("fit", tmp_path / "data.csv", tmp_path / "m", *QUICK).exit_code == 0
    shown = run("predict", tmp_path / "m", tmp_path / "data.csv").stdout.splitlines()[1:]
    assert {line.split(",")[1] for line in shown} == {str(label) for label in labels}
    # One class alone may be written as integers where the model knows text.
    write_csv(tmp_path / "one.csv", bags[:1], y[:1])
    assert answer("evaluate", tmp_path / "one.csv", "--model", tmp_path / "m")["predictions"] == 1


def test_svmlight_files_with_fewer_features_than_the_model_are_read(tmp_path):
    (tmp_path / "train.svm").write_text("\n".join(f"{k % 2} qid:{k} {1 + k % 2}:1 3:{k / 20}" for k in range(12)))
    assert run("fit", tmp_path / "train.svm", tmp_path / "m", *QUICK).exit_code == 0
    (tmp_path / "new.svm").write_text("0 qid:5 1:1\n1 qid:6 2:1\n")
    told = answer("predict", tmp_path / "m", tmp_path / "new.svm")
    assert [one["set"] for one in told["sets"]] == [5, 6]
    (tmp_path / "wide.svm").write_text("0 qid:1 9:1\n")
    result = run("predict", tmp_path / "m", tmp_path / "wide.svm")
    assert result.exit_code == 1
    assert "Feature numbers must be below 4, the number of features. Got 9 in line 1" in result.stderr


@pytest.mark.parametrize("labels", [[0.0, 1.0], [0, 1]])
def test_labels_that_are_numbers_are_compared_by_value(tmp_path, labels):
    bags, y = sets(labels=labels)
    ClassSetRBM(2, max_epochs=2, random_state=0).fit(bags, y).save(tmp_path / "m")
    for name, written in (("integers", y.astype(int)), ("decimals", [f"{label:.1f}" for label in y])):
        write_csv(tmp_path / f"{name}.csv", bags, written)
        told = answer("evaluate", tmp_path / f"{name}.csv", "--model", tmp_path / "m")
        assert told["predictions"] == len(bags)
        assert [one["label"] for one in told["classes"]] == labels
        for asked in ("1", "1.0"):
            told = answer("explain", tmp_path / "m", tmp_path / f"{name}.csv", "--class", asked)
            assert told["sets"][0]["explained"] == labels[1]


def test_labels_that_are_texts_are_compared_as_texts(tmp_path):
    bags, y = sets(labels=["07", "7x"])
    ClassSetRBM(2, max_epochs=2, random_state=0).fit(bags, y).save(tmp_path / "m")
    write_csv(tmp_path / "data.csv", bags)
    result = run("explain", tmp_path / "m", tmp_path / "data.csv", "--class", "7")
    assert result.exit_code == 2
    assert "--class must name a class the model has learned: 07, 7x. Got '7'." in result.stderr


def test_a_file_with_another_number_of_features_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "".join(f"{k % 2} qid:{k} 1:{k / 9}\n" for k in range(6)), "a.svm")
    assert run("fit", "a.svm", "m", *QUICK).exit_code == 0
    saved(tmp_path, "bag,x,y,z\n1,1,2,3\n")
    result = run("predict", "m", "data.csv")
    assert result.exit_code == 1
    assert "'data.csv' must have 2 feature columns, as many as the model has features. Got 3." in result.stderr
    assert run("predict", "m", "data.csv", "--ignore", "z").exit_code == 0


def test_a_model_that_cannot_explain_is_refused_by_its_name(work, tmp_path):
    from setrbm.estimators import MaxOutClassifier

    bags, y = sets()
    MaxOutClassifier(max_epochs=2, engine="reference", random_state=0).fit(bags, y).save(tmp_path / "m")
    result = run("explain", tmp_path / "m", work / "data.csv")
    assert result.exit_code == 1
    assert "setrbm explain needs a model with the method explain." in result.stderr
    assert "holds a MaxOutClassifier, which has no such method." in result.stderr


def test_a_file_that_is_no_model_is_refused(work):
    result = run("predict", work / "data.csv", work / "data.csv")
    assert result.exit_code == 1
    assert "must be a model file" in result.stderr


# --- evaluate ---


def test_a_model_is_scored_as_scikit_learn_would(work, tmp_path):
    from sklearn.metrics import (
        accuracy_score,
        balanced_accuracy_score,
        confusion_matrix,
        log_loss,
        recall_score,
        roc_auc_score,
    )  # fmt: skip

    bags, y = sets(seed=5)
    # Some labels are wrong, more of one class than of the other, so that no score is that of a perfect model.
    y = np.where(np.isin(np.arange(20), [0, 3, 6, 10, 14]), y[::-1], y)
    write_csv(tmp_path / "test.csv", bags, y)
    told = answer("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    model = load(work / "model.safetensors")
    predicted = model.predict(bags)
    assert told["accuracy"] == accuracy_score(y, predicted)
    assert told["mean_negative_log_p"] == pytest.approx(log_loss(y, model.predict_proba(bags)))
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert told["roc_auc"] == pytest.approx(roc_auc_score(y == "yes", model.predict_log_proba(bags)[:, 1]))
    assert 0.5 < told["roc_auc"] < 1.0
    assert told["confusion"] == confusion_matrix(y, predicted).tolist()
    assert [c["recall"] for c in told["classes"]] == recall_score(y, predicted, average=None).tolist()
    assert told["accuracy_by_fold"] == []
    shown = run("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors").stdout
    assert f"accuracy            {100 * told['accuracy']:.1f} %" in shown
    assert f"balanced accuracy   {100 * told['balanced_accuracy']:.1f} %\n" in shown
    assert f"ROC AUC             {told['roc_auc']:.4f}\n" in shown
    assert "is \\ predicted" in shown


def test_cross_validation_predicts_each_set_once_a_repeat_by_models_that_never_saw_it(work, monkeypatch):
    seen = []
    fit = ClassSetRBMCV.fit

    def noted(self, X, y, sample_weight=None):
        seen.append(set(X.ids.tolist()))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(ClassSetRBMCV, "fit", noted)
    told = answer("evaluate", work / "data.csv", "--folds", "4", "--repeats", "2", *QUICK)
    assert told["predictions"] == 40
    assert len(told["accuracy_by_fold"]) == len(seen) == 8
    assert told["mean_accuracy_of_folds"] == pytest.approx(np.mean(told["accuracy_by_fold"]))
    everything = {f"set{k}" for k in range(20)}
    for repeat in (seen[:4], seen[4:]):
        tested = [everything - learned for learned in repeat]
        assert sum(map(len, tested)) == 20
        assert set.union(*tested) == everything


def test_the_roc_auc_of_a_cross_validation_is_the_mean_of_its_folds(tmp_path):
    from sklearn.metrics import roc_auc_score

    from setrbm.evaluation.splits import repeated_folds

    bags, y = sets()
    bags = bags.with_vectors(np.random.default_rng(0).random(bags.X.shape))
    write_csv(tmp_path / "data.csv", bags, y)
    asked = ("evaluate", tmp_path / "data.csv", "--folds", "2", *QUICK)
    told = answer(*asked)
    model = ClassSetRBMCV(4, learning_rate=0.1, max_epochs=40, engine="reference", random_state=0)
    expected = []
    for split in repeated_folds(y, folds=2, repeats=1, seed=0):
        fitted = model.fit(bags[split.train], y[split.train])
        expected.append(roc_auc_score(y[split.test] == "yes", fitted.predict_log_proba(bags[split.test])[:, 1]))
    assert told["roc_auc_by_fold"] == pytest.approx(expected)
    assert len({*expected, 1.0}) == 3
    assert f"ROC AUC             {np.mean(expected):.4f}, mean of 2 folds\n" in run(*asked).stdout


def test_roc_auc_is_not_defined_where_a_class_does_not_occur(work, tmp_path):
    bags, y = sets()
    write_csv(tmp_path / "test.csv", bags[y == "no"], y[y == "no"])
    scored = ("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    told = answer(*scored)
    assert told["roc_auc"] is None
    assert told["balanced_accuracy"] == told["accuracy"]
    assert "ROC AUC             not defined: there is no set of class yes\n" in run(*scored).stdout


def test_folds_that_a_class_cannot_fill_are_refused_with_the_most_there_can_be(work):
    result = run("evaluate", work / "data.csv", "--folds", "11")
    assert result.exit_code == 2
    assert "Got 10 of class no. Use --folds 10." in result.stderr


def test_settings_of_training_go_with_cross_validation_only(work):
    result = run("evaluate", work / "data.csv", "--model", work / "model.safetensors", "--learning-rate", "0.1")
    assert result.exit_code == 2
    assert "--learning-rate is for cross-validation" in result.stderr


def test_a_label_the_model_never_learned_is_refused(work, tmp_path):
    bags, y = sets(labels=("no", "maybe"))
    write_csv(tmp_path / "test.csv", bags, y)
    result = run("evaluate", tmp_path / "test.csv", "--model", work / "model.safetensors")
    assert result.exit_code == 1
    assert f"Column 'label' of {str(tmp_path / 'test.csv')!r} must hold classes the model has learned: no, yes. " in (
        result.stderr
    )
    assert "Got maybe for set set1." in result.stderr


# --- explain ---


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


# --- datasets ---


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """A data folder with a file named as Fox's, and a registry in which Tiger is the data of ``sets``."""
    from setrbm.datasets import benchmarks

    bags, y = sets(labels=(0, 1))
    write_csv(tmp_path / "rows.csv", bags, y)
    digest = benchmarks.content_digest(bags, y)
    tiger = dataclasses.replace(
        benchmarks.BENCHMARKS["tiger"],
        n_sets=20, n_positive=10, n_vectors=bags.n_vectors, n_features=3, digest=digest,
    )  # fmt: skip
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {**benchmarks.BENCHMARKS, "tiger": tiger})
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "fox.csv").write_text("bag,label,f0\n1,0,1\n2,1,0\n")
    return tmp_path / "home"


def test_benchmarks_are_listed_with_their_place_or_the_command_that_fetches_them(data_home):
    from setrbm.datasets import benchmarks

    told = {one["name"]: one for one in answer("datasets", "--data-home", data_home)["datasets"]}
    assert list(told) == list(benchmarks.BENCHMARKS)
    assert [name for name, one in told.items() if one["here"]] == ["musk1", "fox"]
    assert told["musk1"]["in_package"]
    assert (told["musk2"]["sets"], told["musk2"]["vectors"], told["musk2"]["features"]) == (102, 6598, 166)
    assert told["fox"]["path"] == str(data_home / "fox.csv")
    assert told["fox"]["fetch"] is None
    assert shlex.split(told["musk2"]["fetch"])[1:] == ["datasets", "--fetch", "musk2", "--data-home", str(data_home)]
    shown = run("datasets", "--data-home", data_home, env={"COLUMNS": "100"}).stdout
    assert "Musk (Version 2)" in shown
    assert "musk1: inside the package\n" in shown
    assert "fox: The benchmark 'fox' must have 200 sets (100 positive)" in shown
    assert re.search(r"fox .*damaged", shown)
    assert told["fox"]["fault"] in shown
    assert told["musk1"]["fault"] is None
    assert shown.count("license: ") == shown.count("cite: ") == shown.count("SHA-256") == 11
    assert f"elephant: missing. Run: {told['elephant']['fetch']}\n" in shown


def test_the_data_folder_comes_from_the_environment_too(data_home, monkeypatch):
    monkeypatch.setenv("SETRBM_DATA", str(data_home))
    told = {one["name"]: one for one in answer("datasets")["datasets"]}
    assert told["fox"]["path"] == str(data_home / "fox.csv")
    assert told["elephant"]["fetch"] == "setrbm datasets --fetch elephant"


def test_fetching_shows_path_license_and_citation(data_home):
    fetch = ("datasets", "--fetch", "musk1", "--fetch", "tiger", "--data-home", data_home)
    told = answer(*fetch, "--from", data_home.parent / "rows.csv")["fetched"]
    assert [one["name"] for one in told] == ["musk1", "tiger"]
    assert told[1]["path"] == str(data_home / "tiger.csv.gz")
    np.testing.assert_array_equal(read_sets(data_home / "tiger.csv.gz")[0].X, sets()[0].X)
    # It is there now, so no source is needed.
    shown = run(*fetch).stdout
    assert "(inside the package, no need to fetch it)" in shown
    assert f"tiger: {data_home / 'tiger.csv.gz'}\n  license: no license stated" in shown
    assert "  cite: S. Andrews, " in shown


def test_a_data_folder_that_cannot_be_written_to_is_refused_before_anything_is_fetched(data_home):
    (data_home.parent / "file").touch()
    fetch = ("datasets", "--fetch", "tiger", "--from", data_home.parent / "rows.csv", "--data-home")
    result = run(*fetch, data_home.parent / "file" / "deep")
    assert result.exit_code == 2
    assert "must be a folder, or the name of a new one" in result.stderr
    # What is in the package needs no folder.
    assert run("datasets", "--fetch", "musk1", "--data-home", data_home.parent / "file").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("--fetch", "tiger", "--fetch", "lion"),
            2,
            "--fetch must name a benchmark. A benchmark must be one of musk1, ",
        ),
        (("--from", "rows.csv"), 2, "--from needs --fetch NAME: there is nothing to fetch."),
        (("--fetch", "tiger"), 1, "The benchmark 'tiger' is in no package"),
        (("--fetch", "tiger", "--from", "none.csv"), 1, "The source must be a folder, a file or a URL."),
        (("--fetch", "fox"), 1, "The benchmark 'fox' must have 200 sets (100 positive)"),
    ],
)
def test_what_cannot_be_fetched_is_said_in_one_sentence_and_nothing_is_written(data_home, arguments, code, message):
    result = run("datasets", "--data-home", data_home, *arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in data_home.iterdir()] == ["fox.csv"]


# --- demo ---


@pytest.fixture
def quick_demo(monkeypatch):
    def new_model():
        return ClassSetRBMCV(n_hidden=10, learning_rate=0.1, init_scale=0.3, max_epochs=10, random_state=0)

    monkeypatch.setattr("setrbm.cli._digits.new_model", new_model)
    monkeypatch.setattr("setrbm.cli._molecules.new_model", new_model)
    monkeypatch.setattr("setrbm.cli._molecules.FOLDS", 2)


DEMO_FILES = {
    f"{name}{end}" for name in ("digits", "musk1") for end in (".safetensors", ".csv", "-test.csv", ".png")
}  # fmt: skip


def test_the_demo_writes_its_files_and_the_commands_it_names_work(quick_demo, tmp_path):
    folder = tmp_path / "a folder"
    result = run("demo", "--output", folder)
    assert result.exit_code == 0, result.stderr
    assert "The paper reports 83.91 %" in result.stdout
    assert {path.name for path in folder.iterdir()} == DEMO_FILES
    for name in ("digits.png", "musk1.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    named = [line.strip() for line in result.stdout.splitlines() if line.strip().startswith("setrbm ")]
    assert len(named) == 4
    for line in named[:3]:
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, done.stderr
    assert "fit" in named[3]
    # It fits into the usual terminal; the commands at the end may be as long as the path is.
    assert (
        max(len(line) for line in result.stdout.splitlines() if "setrbm " not in line and str(folder) not in line) <= 80
    )


def test_the_demo_as_json_holds_what_it_shows(quick_demo, tmp_path):
    told = answer("demo", "--output", tmp_path, "--repeats", "2")
    musk = told["musk1"]
    assert len(musk["cross_validation"]["accuracy_by_fold"]) == 4
    assert musk["cross_validation"]["paper"] == 0.8391
    assert len(musk["molecules"]) == 12
    assert sum(molecule["label"] for molecule in musk["molecules"]) == 6
    assert all(Path(name).is_file() for name in musk["files"] + told["digits"]["files"])
    # The held-out molecules are those in the file, with the classes they have there.
    bags, y = read_sets(tmp_path / "musk1-test.csv")
    assert [m["set"] for m in musk["molecules"]] == bags.ids.tolist()
    assert [m["label"] for m in musk["molecules"]] == y.tolist()


def test_the_demo_counts_how_often_the_planted_digit_decided(quick_demo, tmp_path):
    from setrbm.datasets import make_digit_sets

    digits = answer("demo", "--output", tmp_path)["digits"]
    bags, y, planted = make_digit_sets(300, "test", random_state=0, return_evidence=True)
    model = load(tmp_path / "digits.safetensors")
    assert digits["accuracy"] == (model.predict(bags) == y).mean()
    hits, chances = 0, []
    for k, part in enumerate(model.explain(bags)):
        inside = planted[bags.offsets[k] : bags.offsets[k + 1]]
        if inside.any():
            chances.append(1 / len(inside))
            strongest = part.drop.argmax()
            hits += bool(part.decided[strongest] and inside[strongest])
    assert digits["sets_with_the_digit"] == len(chances) == 200
    assert digits["decided_by_the_digit"] == hits
    assert digits["decided_by_chance"] == pytest.approx(np.mean(chances))
    assert [len(one["digits"]) for one in digits["sets"]] == bags.sizes[:6].tolist()
    for one in digits["sets"]:
        assert {"two": 2, "seven": 7}.get(one["label"], one["digits"][0]) in one["digits"]


def test_the_demo_shows_what_is_predicted_without_the_conformation_that_matters_most(quick_demo, tmp_path):
    shown = run("demo", "--output", tmp_path).stdout
    model, bags = load(tmp_path / "musk1.safetensors"), read_bags(tmp_path / "musk1-test.csv")
    why, rows = model.explain(bags), re.findall(r"([01]\.\d{3}) +([01]\.\d{3}) +(\d+) of (\d+)", shown)
    for X, one, strongest, row in zip(bags, why, why.strongest_vectors(), rows, strict=True):
        code = model.classes_.tolist().index(one.predicted[0])
        without = model.predict_proba([np.delete(X, strongest, axis=0)])[0, code]
        n_same = sum(model.predict(X[:, np.newaxis]) == one.predicted[0])
        p = model.predict_proba([X])[0, code]
        assert row == (f"{p:.3f}", f"{without:.3f}", str(n_same), str(len(X)))
    stable = sum(not one.decided.any() for one in why)
    assert f"{stable} of the 12 predictions stay the same whichever conformation is left out" in shown


def test_the_demo_frames_the_digits_that_decided_and_no_others(quick_demo, tmp_path, monkeypatch):
    from setrbm.cli import _picture

    drawn, draw = [], _picture._draw_digit
    monkeypatch.setattr(_picture, "_draw_digit", lambda *all_of: (drawn.append(all_of[3]), draw(*all_of)))
    result = run("demo", "--output", tmp_path)
    decided = load(tmp_path / "digits.safetensors").explain(read_bags(tmp_path / "digits-test.csv")[:6]).decided
    assert drawn == decided.tolist()
    assert result.stdout.count("[") == decided.sum() > 0


def test_the_demo_without_matplotlib_says_how_to_get_it_and_goes_on(quick_demo, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == "No pictures: they need matplotlib. Run: pip install 'setrbm[plot]'\n"
    assert {path.name for path in tmp_path.iterdir()} == {name for name in DEMO_FILES if not name.endswith(".png")}


def test_the_demo_leaves_no_folder_behind_when_it_is_stopped(quick_demo, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("setrbm.cli._molecules.cross_validate", interrupted)
    result = run("demo", "--output", tmp_path / "new")
    assert result.exit_code == 130
    assert not (tmp_path / "new").exists()


def test_the_demo_refuses_a_folder_that_cannot_be_written_to_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.cli._digits.run", None)
    (tmp_path / "file").touch()
    result = run("demo", "--output", tmp_path / "file")
    assert result.exit_code == 2
    assert "must be a folder, or the name of a new one" in result.stderr


# --- more options ---


def test_probabilities_can_be_calibrated(work, tmp_path):
    assert run("fit", work / "data.csv", tmp_path / "m", *QUICK, "--calibrate").exit_code == 0
    assert load(tmp_path / "m").calibration_temperature_ != 1.0


def test_a_feature_cannot_be_the_bag_column(work):
    name = load(work / "model.safetensors").feature_names_in_[0]
    result = run("predict", work / "model.safetensors", work / "data.csv", "--bag", name)
    assert result.exit_code == 1
    assert f"The bag column must not be a feature of the model. Got '{name}'. Name another column" in result.stderr


def test_tables_are_cut_nowhere(monkeypatch, capsys):
    """Columns become as narrow as their longest words; a table that is wider still does not fit."""
    from setrbm.tools.output import fits, show_table

    headings = ["is \\ predicted", "change of address", "reimbursement claim", "repair invoice"]
    rows = [["change of address", 12, 34, 56], ["repair invoice", 78, 90, 11]]
    for width in range(20, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        if fits(headings, rows):
            show_table("", headings, rows)
            shown = capsys.readouterr().out
            assert all(str(value) in shown for value in (12, 34, 56, 78, 90, 11)), width
            assert "reimbursement" in shown
    # The last spaces of a line count in some versions of rich.
    monkeypatch.setenv("COLUMNS", "50")
    assert fits(headings, rows)
    monkeypatch.setenv("COLUMNS", "30")
    assert not fits(headings, rows)
