"""The command line: ``setrbm-mail demo | generate | fit | classify | explain | evaluate``.

Each command parses, calls and shows. Nothing slow is imported here or at the top of a command's file, so that help
appears at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from setrbm.tools.commands import Command, Commands
from setrbm_mail.cli import commands
from setrbm_mail.cli.demo import demo

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Commands,
    help="Classify scanned mail: PDF, TIFF, JPEG and PNG files and mails with attachments. Each document gets a class, "
    "with the page that matters most, or is left to a person.\n\n"
    "Results go to stdout, progress and messages to stderr. Exit codes: 0 done; 1 an error in the data, in a model "
    "file or during the work; 2 wrong usage; 130 stopped with Ctrl-C.",
    epilog="Example: setrbm-mail generate mail; setrbm-mail fit mail -o out; setrbm-mail classify "
    "out/model.safetensors inbox -o answers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command, epilog="Example: setrbm-mail demo --output demo-output")(demo)
app.command(cls=Command, epilog="Example: setrbm-mail generate mail --sets 200")(commands.generate)
app.command(cls=Command, epilog="Example: setrbm-mail fit mail -o out --precision 0.95")(commands.fit)
app.command(cls=Command, epilog="Example: setrbm-mail classify out/model.safetensors inbox -o answers")(
    commands.classify
)
app.command(
    cls=Command, epilog="Example: setrbm-mail explain out/model.safetensors inbox -d piece-00017.pdf -o answers"
)(commands.explain)
app.command(cls=Command, epilog="Example: setrbm-mail evaluate out/model.safetensors test -o scores")(commands.evaluate)


def _show_version(asked: bool) -> None:
    from setrbm_mail import __version__

    if asked:
        typer.echo(f"setrbm-mail {__version__}")
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
    app(prog_name="setrbm-mail")
