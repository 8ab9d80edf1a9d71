"""How a caller wants rows to be read: as options made before, or as a mapping of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TypeAlias

from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.values.text import did_you_mean

__all__ = ["InputsLike", "read_inputs"]

InputsLike: TypeAlias = "Inputs | Mapping[str, object] | None"


def read_inputs(given: InputsLike) -> Inputs:
    """The options, all of them; a mistake in a mapping is said before anything is read."""
    if given is None or isinstance(given, Inputs):
        return given or Inputs()
    if not isinstance(given, Mapping):
        raise ConfigError.of(f"inputs: must be fm.Inputs or a mapping, not {given!r}")
    known = [field.name for field in fields(Inputs)]
    unknown = [str(name) for name in given if name not in known]
    if unknown:
        raise ConfigError(
            [
                Problem(f"inputs: there is no option {name!r}.", hint=did_you_mean(name, known))
                for name in unknown
            ]
        )
    try:
        return Inputs(**given)  # type: ignore[arg-type]
    except OptionError as error:
        raise ConfigError.of(f"inputs: {error}") from error
