"""The headings of options in help, which `fieldmark --help` shows without loading the options."""

from __future__ import annotations

from enum import StrEnum


class OptionGroup(StrEnum):
    """The headings of options in help, in their order."""

    CASES = "Cases"
    COMPARISON = "Comparison"
    INPUT = "Input"
    GATES = "Gates"
    RUN = "Run"
    OUTPUT = "Output"
    RARE = "Rare options"
