"""Rules for evaluators, written as in a rules file."""

from __future__ import annotations

from fieldmark.rules.rules_file import read_rules

__all__ = ["fields"]


def fields(*settings):
    """Return rules for evaluators; a string is a path that is compared exactly."""
    listed = [{"path": each} if isinstance(each, str) else each for each in settings]
    return read_rules({"fields": listed}).rules.fields
