"""``python -m setrbm_lab``: the paper's tables, as scripts/reproduce runs them."""

import typer

from setrbm.tools.commands import Command, Commands
from setrbm_lab.reproduce import reproduce

app = typer.Typer(
    cls=Commands,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(
    cls=Command,
    epilog="Examples: scripts/reproduce table1 --quick; scripts/reproduce table1 -m 'ClassSetRBM XOR*' -d musk1",
)(reproduce)


@app.callback()
def _root() -> None:
    """Run the experiments of the laboratory."""


if __name__ == "__main__":
    app(prog_name="scripts")
