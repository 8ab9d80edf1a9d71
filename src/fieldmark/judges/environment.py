"""The environment of a program: a short list of usual names, and what was declared for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.judges.secrecy import looks_secret

__all__ = ["REFERENCE", "check_declared", "environment", "undefined"]

REFERENCE: Final = "env:"
"""What a value begins with that is not written down but taken from a variable."""
_USUAL: Final = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP")
_USUAL_BEGINNING: Final = "LC_"

Declared = Mapping[str, str] | Iterable[str]


def environment(declared: Declared, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a program may know of our environment, with what was declared for it.

    Declared are names, which are handed on where they are set, or names with values, of which
    `env:NAME` is the value of that variable.

    >>> environment({"MODE": "fast", "KEY": "env:MY_KEY"}, {"MY_KEY": "k", "OTHER": "o"})
    {'MODE': 'fast', 'KEY': 'k'}
    """
    known = os.environ if own is None else own
    usual = {
        name: value
        for name, value in known.items()
        if name in _USUAL or name.startswith(_USUAL_BEGINNING)
    }
    if not isinstance(declared, Mapping):
        return {**usual, **{name: known[name] for name in declared if name in known}}
    given = {
        name: known.get(value.removeprefix(REFERENCE), "") if _is_reference(value) else value
        for name, value in declared.items()
    }
    return {**usual, **given}


def undefined(declared: Declared, own: Mapping[str, str] | None = None) -> list[str]:
    """The variables that values refer to and that are not set."""
    known = os.environ if own is None else own
    values = declared.values() if isinstance(declared, Mapping) else ()
    named = [value.removeprefix(REFERENCE) for value in values if _is_reference(value)]
    return [name for name in named if name not in known]


def check_declared(declared: Declared) -> None:
    """Refuse names that no variable can have, and secrets that are written into the file."""
    for name in declared:
        if not name or "=" in name or "\0" in name:
            raise OptionError("env", f"{name!r} is not the name of a variable")
    if not isinstance(declared, Mapping):
        return
    for name, value in declared.items():
        if "\0" in value:
            raise OptionError("env", f"the value of {name} holds a character that none may hold")
        if value and not _is_reference(value) and looks_secret(name, value):
            told = f"{name} looks like a secret; write {name}: {REFERENCE}NAME, and set NAME"
            raise OptionError("env", told)


def _is_reference(value: str) -> bool:
    return value.startswith(REFERENCE)
