"""Whether two runs can be compared at all: unlike figures are never set side by side silently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fieldmark.errors import Problem
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.reader import StoredRun

__all__ = ["obstacles", "same_truth"]

_RULES: Final = "Score both with the same rules, or compare them anyway with --force."
_COUNTING: Final = "Count the second as the first was with --rescore, or use --force."
_DATA: Final = "Compare runs over the same truth, or what they have in common with --force."
_STATUS: Final = "Let it finish, or compare what is there with --force."
_EVALUATORS: Final = "Evaluate both with the same file, or compare them anyway with --force."


def obstacles(before: StoredRun, after: StoredRun, *, rescore: bool = False) -> list[Problem]:
    """Everything that speaks against comparing two runs, each with a way out."""
    return [Problem(message, hint=hint) for message, hint in _found(before, after, rescore=rescore)]


def _found(before: StoredRun, after: StoredRun, *, rescore: bool) -> Iterator[tuple[str, str]]:
    for run in (before, after):
        if run.status != "complete":
            yield f"{run.path} is not complete but {run.status}.", _STATUS
    old, new = _stamp(before), _stamp(after)
    if old.get("comparison_sha256") != new.get("comparison_sha256"):
        yield f"The runs were compared by different rules{_named(old, new)}.", _RULES
    if old.get("counting_sha256") != new.get("counting_sha256") and not rescore:
        yield f"The runs were counted by different conventions{_named(old, new)}.", _COUNTING
    if same_truth(before, after) is False:
        yield "The runs were scored against different truths.", _DATA
    if _evaluators(before) != _evaluators(after):
        yield "The runs were scored by different evaluators.", _EVALUATORS


def same_truth(before: StoredRun, after: StoredRun) -> bool | None:
    """Whether the truths were the same files; nothing if that cannot be told from hashes."""
    old, new = _truth_hash(before), _truth_hash(after)
    return None if old is None or new is None else old == new


def _truth_hash(run: StoredRun) -> JsonValue:
    """The hash of the truth, if it is a file of its own.

    An evaluation names its eval file first; a file that holds both sides is other with other
    candidates.
    """
    inputs = run.manifest.get("inputs")
    found = inputs if isinstance(inputs, list) else []
    evaluated = run.manifest.get("command") == "eval"
    if len(found) != (3 if evaluated else 2):
        return None
    truth = found[1 if evaluated else 0]
    return truth.get("sha256") if isinstance(truth, dict) else None


def _stamp(run: StoredRun) -> JsonObject:
    stamp = run.manifest.get("convention")
    return stamp if isinstance(stamp, dict) else {}


def _named(old: JsonObject, new: JsonObject) -> str:
    """What is different, as far as the runs say."""
    parts = [
        f"{name} {old.get(name)} and {new.get(name)}"
        for name in ("name", "version")
        if old.get(name) != new.get(name)
    ]
    first, second = old.get("options"), new.get("options")
    if isinstance(first, dict) and isinstance(second, dict):
        parts += [
            f"{name} {first.get(name)} and {second.get(name)}"
            for name in {**first, **second}
            if first.get(name) != second.get(name)
        ]
    return f": {', '.join(parts)}" if parts else ""


def _evaluators(run: StoredRun) -> list[str]:
    said = (run.summary or {}).get("evaluators")
    return list(said) if isinstance(said, dict) else []
