"""The command line: ``setrbm demo | fit | predict | evaluate | explain | datasets | reproduce | documents``.

Each command parses, calls and shows. Nothing slow is imported here or at the top of a command's file, so that help
appears at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from setrbm.cli import datasets, demo, documents, evaluate, explain, fit, predict, reproduce
from setrbm.cli._errors import Command, Commands

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Commands,
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
app.command(
    cls=Command,
    epilog="Examples: setrbm reproduce table1 --quick; setrbm reproduce table1 -m 'ClassSetRBM XOR*' -d musk1",
)(reproduce.reproduce)

of_documents = typer.Typer(
    cls=Commands,
    help="Classify scanned mail: PDF, TIFF, JPEG and PNG files and mails with attachments. Each document gets a class, "
    "with the page that matters most for it, or is left to a person.",
    epilog="Example: setrbm documents generate mail; setrbm documents fit mail -o out; setrbm documents classify "
    "out/model.safetensors inbox -o answers.",
    no_args_is_help=True,
)
app.add_typer(of_documents, name="documents")
of_documents.command(cls=Command, epilog="Example: setrbm documents generate mail --sets 200")(documents.generate)
of_documents.command(cls=Command, epilog="Example: setrbm documents fit mail -o out --precision 0.95")(documents.fit)
of_documents.command(cls=Command, epilog="Example: setrbm documents classify out/model.safetensors inbox -o answers")(
    documents.classify
)
of_documents.command(
    cls=Command, epilog="Example: setrbm documents explain out/model.safetensors inbox -d piece-00017.pdf -o answers"
)(documents.explain)
of_documents.command(cls=Command, epilog="Example: setrbm documents evaluate out/model.safetensors test -o scores")(
    documents.evaluate
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
