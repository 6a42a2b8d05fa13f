"""Options that all commands have, and options from a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

# What numpy's generators take.
MAX_SEED = 2**32 - 1
# The heading of options that change what is learned.
TRAINING = "Settings of training"

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=MAX_SEED,
        help="The same seed gives the same result.",
        rich_help_panel=TRAINING,
    ),
]


def names_of(options: Any) -> list[str]:
    """Return the names of the options of a dataclass, as parameters of a command."""
    return [field.name for field in fields(options)]


def with_options(name: str, options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command every option of a dataclass in place of one parameter.

    Parameters
    ----------
    name : str
        The parameter, which gets an object of the class.
    options : dataclass
        Its fields are annotated as typer wants them.
    """
    names = names_of(options)

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            command(**{name: options(**{option: given.pop(option) for option in names})}, **given)

        hints = {**get_type_hints(command, include_extras=True), **get_type_hints(options, include_extras=True)}
        own = [parameter for parameter in signature(command).parameters.values() if parameter.name != name]
        added = [Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default) for field in fields(options)]
        everything = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints.get(parameter.name, parameter.annotation))
            for parameter in (*own, *added)
        ]
        run.__signature__ = Signature(everything, return_annotation=None)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
        return run

    return decorated
