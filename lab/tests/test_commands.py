"""The experiments of ``scripts/reproduce``: what each runs by default, and the command that runs a plan again."""

import shlex
import subprocess
from pathlib import Path

import pytest

from setrbm.datasets.benchmarks import BENCHMARKS
from setrbm.evaluation.splits import repeated_folds
from setrbm_lab.commands import COLLECTION_SEED, SEED, Experiment, Wanted, command_of, plan_of
from setrbm_lab.paper import DATASETS
from setrbm_lab.systems import COMPARED, FORMER, OURS, ROWS
from test_reproduce import run

FROM_BENCHMARKS = [Experiment.TABLE1, Experiment.COLLECTION]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Name a folder that has a file for every benchmark; plans do not read them."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in BENCHMARKS:
        (folder / f"{name}.csv.gz").touch()
    monkeypatch.setenv("SETRBM_DATA", str(folder))
    return folder


def shown(plan):
    """Return what a plan runs, without functions."""
    systems = [system.name for system in plan.systems]
    return systems, list(plan.datasets), plan.folds, plan.repeats, plan.seed, plan.quick, plan.engine


def test_the_collection_is_eight_rows_on_eleven_data_sets_with_a_seed_of_its_own():
    plan, left_out = plan_of(Experiment.COLLECTION, Wanted())
    assert left_out == []
    assert [system.name for system in plan.systems] == [
        "ClassSetRBM XOR*", "ClassSetRBM OR*", "SVM-miGraph", "SVM-miGraph2", "SVM-max", "Pooled SVM",
        "ClassSetRBMCV (former)", "ClassSetRBMCV",
    ]  # fmt: skip
    assert plan.datasets == [
        "musk1", "musk2", "elephant", "fox", "tiger", "mutagenesis1", "mutagenesis2", "newsgroups1", "newsgroups2",
        "newsgroups3", "corel10",
    ]  # fmt: skip
    assert (plan.repeats, plan.folds, plan.quick, plan.engine) == (5, 10, False, "cpu")
    assert plan.seed == COLLECTION_SEED == 2050
    assert plan.others == []
    assert command_of(Experiment.COLLECTION, plan) == "scripts/reproduce collection"


def test_the_splits_of_the_collection_are_not_those_of_table_1():
    y = [0, 1] * 20
    table, collection = (plan_of(experiment, Wanted())[0] for experiment in FROM_BENCHMARKS)
    assert (table.seed, collection.seed) == (SEED, COLLECTION_SEED)
    first, other = (plan.splits_of("musk1", y) for plan in (table, collection))
    assert len(first) == len(other) == 50
    assert [split.test.tolist() for split in other] == [
        split.test.tolist() for split in repeated_folds(y, 10, 5, COLLECTION_SEED)
    ]
    assert [split.test.tolist() for split in first] != [split.test.tolist() for split in other]


def test_a_seed_that_is_given_is_taken_even_if_it_is_zero():
    for experiment in FROM_BENCHMARKS:
        plan, _ = plan_of(experiment, Wanted(seed=0))
        assert plan.seed == 0
        assert command_of(experiment, plan).endswith(" --seed 0")


def test_the_seed_of_the_other_experiment_is_named_in_the_command():
    for experiment, other in zip(FROM_BENCHMARKS, (COLLECTION_SEED, SEED), strict=True):
        plan, _ = plan_of(experiment, Wanted(seed=other))
        assert command_of(experiment, plan).endswith(f" --seed {other}")


def test_a_quick_collection_is_small():
    plan, _ = plan_of(Experiment.COLLECTION, Wanted(quick=True))
    assert plan.datasets == ["musk1", "elephant"]
    assert (plan.repeats, plan.folds, plan.seed) == (1, 10, COLLECTION_SEED)
    assert command_of(Experiment.COLLECTION, plan) == "scripts/reproduce collection --quick"


def test_rows_that_are_not_asked_for_may_have_results_in_the_same_file():
    plan, _ = plan_of(Experiment.COLLECTION, Wanted(models=["classsetrbmcv"]))
    assert [system.name for system in plan.systems] == [OURS]
    assert [system.name for system in plan.others] == [name for name in COMPARED if name != OURS]


def test_a_row_of_table_1_that_is_not_in_the_collection_is_refused():
    assert "MLP-maxOut" in ROWS
    with pytest.raises(ValueError, match=r"must be a row of the table. Got 'MLP-maxOut'.*All: 'ClassSetRBM XOR\*', "):
        plan_of(Experiment.COLLECTION, Wanted(models=["MLP-maxOut"]))


def test_only_the_collection_has_data_sets_that_are_not_in_the_paper():
    assert plan_of(Experiment.COLLECTION, Wanted(datasets=["corel10"]))[0].datasets == ["corel10"]
    with pytest.raises(ValueError, match=f"must be one of {', '.join(DATASETS)}. Got 'corel10'"):
        plan_of(Experiment.TABLE1, Wanted(datasets=["corel10"]))


def test_data_sets_that_are_missing_are_named_with_the_command_that_fetches_them(data):
    (data / "corel10.csv.gz").unlink()
    with pytest.raises(ValueError, match="not in the data folder: corel10. Run: setrbm datasets --fetch corel10"):
        plan_of(Experiment.COLLECTION, Wanted())


@pytest.mark.parametrize("experiment", FROM_BENCHMARKS)
@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(quick=True),
        Wanted(models=[FORMER, "Pooled SVM"], datasets=["musk1", "fox"]),
        Wanted(repeats=2, folds=3, seed=7, engine="gpu"),
        Wanted(models=[OURS], quick=True, datasets=["tiger"], seed=SEED),
    ],
    ids=["all", "quick", "some", "options", "ours"],
)
def test_the_command_of_a_plan_gives_the_same_plan(experiment, wanted, monkeypatch):
    plan, _ = plan_of(experiment, wanted)
    program, *words = shlex.split(command_of(experiment, plan))
    assert program == "scripts/reproduce"
    parsed = []
    monkeypatch.setattr("setrbm_lab.reproduce._run_and_show", lambda *arguments: parsed.append(arguments))
    monkeypatch.setattr("setrbm_lab.reproduce._check_folders", lambda *_: None)
    result = run("reproduce", *words)
    assert result.exit_code == 0, result.output
    ((what, again, *_),) = parsed
    assert what is experiment
    assert shown(plan_of(what, again)[0]) == shown(plan)


def test_every_experiment_has_a_heading_and_files_of_its_own():
    assert [one.heading for one in Experiment] == ["Table 1", "Table 2", "Collection", "Effects"]
    assert len({one.results for one in Experiment} | {one.runs for one in Experiment}) == 2 * len(Experiment)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("table1 -m XOR", "table1 --output lab/results --report docs -m XOR"),
        ("table1 -o mine", "table1 -o mine"),
        ("table1 --output=mine -m XOR", "table1 --output=mine -m XOR"),
        ("--quick", "table1 --quick"),
    ],
)
def test_only_runs_without_a_folder_of_their_own_write_the_published_results(tmp_path, given, expected):
    """The script itself, with an environment and a Python that do nothing."""
    script = Path(__file__).parents[2] / "scripts" / "reproduce"
    (tmp_path / "reproduce").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "_environment").write_text(
        'use_environment() { :; }\npython() { echo "$*"; }\nexec() { "$@"; exit; }\n'
    )
    command = ["bash", "-eu", str(tmp_path / "reproduce"), *given.split()]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == f"-m setrbm_lab reproduce {expected}\n"
