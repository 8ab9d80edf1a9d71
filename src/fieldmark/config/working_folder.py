"""Programs start in the folder of the file that names them, wherever the command is run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fieldmark import registry
from fieldmark.config.choice import Choice
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked

__all__ = ["with_working_folder"]

_OPTION: Final = "cwd"


def with_working_folder(choice: Choice, context: Context) -> Choice:
    """The choice with the folder of the configuration, if it takes one and names none."""
    if context.folder is None or _OPTION not in registry.options(choice.strategy):
        return choice
    here = Marked(value=".", location=choice.location)
    return replace(choice, options={_OPTION: here, **choice.options})
