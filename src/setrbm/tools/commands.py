"""Errors as one sentence on stderr and an exit code; a traceback only with SETRBM_TRACEBACK=1."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from setrbm.tools.errors import SetrbmError

WRONG_USE, FAILED, STOPPED = 2, 1, 130


class Refused(ValueError):
    """An argument of the command cannot be used."""


class PlainHelp:
    """Help without the type of flags and without braces around arguments, as most command lines show it."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]


class Command(PlainHelp, TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line; a model among the arguments of a command that has --model gets a hint."""
        try:
            return list(super().parse_args(ctx, args))
        except typer.BadParameter:
            raise
        except Exception as error:
            extra = re.fullmatch(r"Got unexpected extra argument\(s\) \((\S+)\)", getattr(error, "message", ""))
            if extra and any("--model" in param.opts for param in self.params):
                error.message = f"Got one argument too many: {extra[1]}. If it is a model, use --model {extra[1]}."  # type: ignore[attr-defined]
            raise


class Commands(PlainHelp, TyperGroup):
    """The group of all commands; shows what they raise."""

    # What to say of commands that were moved, by their names.
    moved: ClassVar[dict[str, str]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names."""
        if args and args[0] in self.moved:
            raise Refused(self.moved[args[0]])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command named in the context."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note_once()
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _bad_value(error)
            raise
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            if _is_for_typer(error) or os.environ.get("SETRBM_TRACEBACK") == "1":
                raise
            typer.echo(f"Error: {in_words(error)}", err=True)
            raise typer.Exit(WRONG_USE if isinstance(error, Refused) else FAILED) from None


# What pydantic, which typer converts values with, finds wrong, and how to say it.
FAULTS = {
    "int_parsing": "it must be an integer. Got {input!r}.",
    "float_parsing": "it must be a number. Got {input!r}.",
    "greater_than_equal": "it must be {ctx[ge]} or more. Got {input}.",
    "less_than_equal": "it must be {ctx[le]} or less. Got {input}.",
}


def _bad_value(error: typer.BadParameter) -> str:
    """Return what is wrong with the value of an option, in our words where they are known."""
    errors = getattr(error.__cause__, "errors", None)
    first = errors()[0] if errors is not None else {}
    if first.get("type") in FAULTS:
        return FAULTS[first["type"]].format(**first)
    return error.message.removeprefix("Value error, ")


def _note_once() -> Any:
    """Return a function that shows a warning, but the same text only once: folds repeat each other's warnings."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            typer.echo(f"Note: {message}", err=True)

    return show


def _is_for_typer(error: Exception) -> bool:
    """Return whether typer handles it: its own exceptions carry an exit code, and it handles closed pipes."""
    return hasattr(error, "exit_code") or isinstance(error, typer.Abort | BrokenPipeError)


def in_words(error: Exception) -> str:
    """Return what happened as one sentence for the user."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename!r}." if error.filename else ".")
    if isinstance(error, ValueError | TypeError | ImportError | OSError | SetrbmError):
        # Settings that are options here.
        return re.sub(r"\bengine='(\w+)'", r"--engine \1", str(error))
    said = str(error).rstrip(".")
    return (
        f"setrbm failed unexpectedly: {type(error).__name__}: {said}. Run again with SETRBM_TRACEBACK=1 to see "
        "where, and report it."
    )
