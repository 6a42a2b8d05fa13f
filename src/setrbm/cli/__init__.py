"""The command line: ``setrbm demo | fit | predict | evaluate | explain | datasets``.

Each command parses, calls and shows. Nothing slow is imported here or at the top of a command's file, so that help
appears at once.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from setrbm.cli import datasets, demo, evaluate, explain, fit, predict
from setrbm.tools.commands import Command, Commands

__all__ = ["app", "main"]


class LibraryCommands(Commands):
    """The commands, and where those went that are no longer here."""

    moved: ClassVar = {
        "documents": "Commands on documents are in the package setrbm-mail. In a clone of the repository run: "
        "pip install . ./mail. Then: setrbm-mail --help.",
        "reproduce": "The paper's tables are run from a checkout of the source: scripts/reproduce.",
    }


app = typer.Typer(
    cls=LibraryCommands,
    help="Classify sets of vectors: molecules with conformations, images with regions, documents with pages.\n\n"
    "Results go to stdout, progress and messages to stderr. Exit codes: 0 done; 1 an error in the data, in a model "
    "file or during the work; 2 wrong usage; 130 stopped with Ctrl-C.",
    epilog="Example: setrbm demo. Then: setrbm fit DATA MODEL, setrbm predict MODEL DATA, setrbm COMMAND --help.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(cls=Command, epilog="Example: setrbm demo --output demo-output")(demo.demo)
app.command(
    cls=Command,
    epilog="Examples: setrbm fit train.csv model.safetensors --bag molecule --label musk; setrbm fit mail.jsonl "
    "model.safetensors",
)(fit.fit)
app.command(cls=Command, epilog="Example: setrbm predict model.safetensors new.csv --output answers.csv")(
    predict.predict
)
app.command(
    cls=Command,
    epilog="Examples: setrbm evaluate test.csv --model model.safetensors; setrbm evaluate all.csv --folds 10",
)(evaluate.evaluate)
app.command(cls=Command, epilog="Example: setrbm explain model.safetensors new.csv --set 17 --set 23")(explain.explain)
app.command(cls=Command, epilog="Examples: setrbm datasets; setrbm datasets --fetch musk2 --fetch elephant")(
    datasets.datasets
)


def _show_version(asked: bool) -> None:
    from setrbm import __version__

    if asked:
        typer.echo(f"setrbm {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app(prog_name="setrbm")
