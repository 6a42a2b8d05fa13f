"""The page about the collection of eleven data sets, generated from the records of a folder of results."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from setrbm.reproduction.account import run_line
from setrbm.reproduction.collection import FIRST_TRY, Collection, CollectionRecords
from setrbm.reproduction.collection_plots import draw_differences, draw_properties
from setrbm.reproduction.paper import DATASETS
from setrbm.reproduction.rendering import (
    MARKS,
    escape_markdown,
    interval,
    markdown_table,
    marks_of,
    number,
    title,
)
from setrbm.reproduction.report import IMAGES, write_page
from setrbm.reproduction.systems import FORMER, OURS

PAGE, DIFFERENCES, PROPERTIES = "collection.md", "collection_differences.png", "collection_properties.png"

INTRODUCTION = f"""# Eleven data sets

Are the defaults good on more than the paper's five data sets? {OURS} with its defaults is compared with its former
defaults, with two variants of the paper, with the kernel machines and with an SVM on pooled inputs, on the paper's five
data sets and six more: two of molecules (mutagenesis), three of newsgroup posts, and Corel with ten classes. All
settings are chosen inside the training parts."""

CHOSEN_HERE = """**These are not unseen data.** The defaults were chosen on these data sets, though never on test folds:
334 candidates were compared inside training parts of the ten with two classes (`results/kinds.csv`), on splits of
another seed, and 32 settings on Corel (`results/kinds_corel.csv`). How much of a lead carries over to data sets that
had no part in the choice, this page cannot show."""

WHERE = """## Where others win

- **Newsgroups 2, the SVM on pooled inputs.** Its lead comes from how the data set was made. The features are words that
  were selected with a view to the positive sets: every word that occurs in one set only occurs in a positive one. So a
  test set with a word that no training set has is positive, and an SVM with a Gaussian kernel on the maxima places it
  far from all training sets. Our models, and the set kernels here, ignore features that are constant in training.
  Without such words in the test sets the SVM has no lead (`experiments/rare_words.py`):

{rare}

- **Newsgroups, SVM-max.** The reverse: its kernel averages the best match of every vector, and is at chance, since
  nearly all posts of a positive set are about something else.
- **Musk2 and Fox, SVM-max**, and **the molecules of mutagenesis, SVM-miGraph2**, are ahead by some points, not
  significantly. So are the former defaults on Musk2, Elephant and Newsgroups 2."""

PROPERTIES_TEXT = """## Made-up problems, one property each

`make_set_problem` generates problems that differ from the first mainly in one property. Three draws of each, tested on
500 new sets (`experiments/properties.py`). "Maximum only" and "mean only" are the two parts of {ours} by themselves:

![Accuracy of every system on every problem]({image})

{table}

- **One vector decides**, also among few sets or unbalanced classes: models with hidden units are best. The kernels
  compare all vectors of two sets, and all features, relevant or not.
- **Two vectors must meet**: sums of hidden units see both; kernels between sets do not, and are at chance.
- **A proportion decides**: mean pooling is better than the maximum, and SVM-max is as good. The mixture is between.
- **Large sets**: the former defaults, trained on values in [0, 1], are at chance in one of three draws, and behind
  the other models with hidden units in the others. On normalized inputs the maximum and the mean do equally well.
- **Many features, few of them relevant**: all are poor, the SVM on pooled inputs least so. Select features first."""

FIRST_TEXT = """## The recipe that was tried first

First, a third of the fits had mean pooling instead of a fifth, with two initial scales to choose from, and was run on
splits of another seed (2026): {average} on average, {former} with the former defaults, but {five} on the paper's five,
where the difference was to stay above -0.5. Inside training parts a fifth costs less there and keeps the gain, so that
was taken, and this page's table was run, once. The rows of the first run are in `results/{folder}`.

Only one of the five repetitions of this table is on new splits: repetition r has the seed plus r, and the seeds are
2026 and 2027, which was noticed afterwards. The choice of the mixture was made inside training parts, but with the
result on four of these repetitions known for another mixture. A run on splits of its own will replace the table."""


def write_collection_report(table: Collection, records: CollectionRecords, folder: Path) -> Path:
    """Write ``collection.md`` and, in ``images/`` beside it, its plots; return the path of the page.

    Parameters
    ----------
    table : Collection
    records : CollectionRecords
    folder : Path
        Created if it does not exist.
    """

    def draw(images: Path) -> None:
        if OURS in table.ranked():
            draw_differences(table, images / DIFFERENCES)
        if records.properties:
            draw_properties(_accuracies(records), images / PROPERTIES)

    return write_page(collection_text(table, records), folder / PAGE, draw)


def collection_text(table: Collection, records: CollectionRecords) -> str:
    """Return the page as Markdown; its plots are expected in ``images/``."""
    parts = [
        [INTRODUCTION], _table(table), _ours(table), _where(records), _properties(records), _first_try(records),
        _runs(records),
    ]  # fmt: skip
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _table(table: Collection) -> list[str]:
    marks, rows = marks_of(table, "holm"), []
    for system in table.systems:
        cells = []
        for dataset in table.datasets:
            is_best, is_bold = marks[system, dataset]
            cell = table.cells[system, dataset]
            text = number(table.mean(system, dataset)) if cell.summary else f"- ({cell.n_folds})"
            cells += [f"**{text}**" + " ★" * is_best if is_bold else text]
        rows += [[escape_markdown(system), *cells, number(table.average(system))]]
    shortcut = [f"**{table.shortcut}**", ""] if table.shortcut else []
    return [
        *shortcut,
        *markdown_table([*map(title, table.datasets), "average"], rows),
        "",
        f"Accuracy in percent, mean of {table.n_folds} folds. Star: best. Bold: not significantly worse than the best "
        f"of the data set at the 5% level ({MARKS['holm']}). An incomplete cell shows its number of folds. {FORMER} "
        "has the defaults that were chosen on the paper's five data sets.",
        "",
        CHOSEN_HERE,
    ]


def _ours(table: Collection) -> list[str]:
    if OURS not in table.ranked():
        return []
    rows = []
    for system in table.ranked():
        everywhere, in_paper = table.over_data_sets(system), table.over_data_sets(system, DATASETS)
        if system == OURS or everywhere is None or in_paper is None:
            continue
        means = [(table.mean(OURS, one) or 0.0) - (table.mean(system, one) or 0.0) for one in table.datasets]
        ahead = f"{sum(mean > 0 for mean in means)} of {len(means)}"
        worse, better = (", ".join(map(title, table.significant(system, sign))) or "none" for sign in (1, -1))
        rows += [[escape_markdown(system), interval(everywhere), ahead, better, worse, interval(in_paper)]]
    return [
        f"## {OURS} against every other row",
        "",
        *markdown_table(
            ["difference", "ahead on", "significantly better on", "significantly worse on", "the paper's five"], rows
        ),
        "",
        "Differences of the means over the data sets, with 95% intervals of the t-test paired by data set: an interval "
        "that contains 0 leaves open which is better on data sets of this kind. Significance within a data set by the "
        "corrected test with Holm's correction.",
        "",
        f"![Differences by data set]({IMAGES}/{DIFFERENCES})",
    ]


def _where(records: CollectionRecords) -> list[str]:
    if not records.rare_words:
        return []
    heads = list(records.rare_words[0])[1:]
    lines = markdown_table(
        heads, [[title(line["dataset"]), *(line[head] for head in heads)] for line in records.rare_words]
    )
    return [WHERE.format(rare="\n".join(f"  {line}" for line in lines))]


def _accuracies(records: CollectionRecords) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for line in records.properties:
        found.setdefault((line["problem"], line["system"]), []).append(float(line["accuracy"]))
    return found


def _properties(records: CollectionRecords) -> list[str]:
    known = _accuracies(records)
    problems, systems = (list(dict.fromkeys(key[i] for key in known)) for i in (0, 1))
    if not known:
        return []
    rows = [
        [escape_markdown(system), *(number(fmean(known[problem, system])) for problem in problems)]
        for system in systems
    ]
    table = "\n".join(markdown_table([problem.replace("_", " ") for problem in problems], rows))
    return [PROPERTIES_TEXT.format(ours=OURS, image=f"{IMAGES}/{PROPERTIES}", table=table)]


def _first_try(records: CollectionRecords) -> list[str]:
    if not records.first:
        return []
    first = Collection(records.first)
    five = first.over_data_sets(FORMER, DATASETS)
    return [
        FIRST_TEXT.format(
            average=number(first.average(OURS)), former=number(first.average(FORMER)),
            five="-" if five is None else interval(five), folder=FIRST_TRY,
        )
    ]  # fmt: skip


def _runs(records: CollectionRecords) -> list[str]:
    return ["## How it was made", "", *(run_line("", run) for run in records.runs)] if records.runs else []
