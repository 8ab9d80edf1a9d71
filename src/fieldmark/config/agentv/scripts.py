"""The evaluators that do what AgentV's own grader scripts do, by the name of the script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from fieldmark.config.agentv.shaping import constant, listed, with_entries
from fieldmark.config.marked import Marked

__all__ = ["COUNTERPARTS", "Counterpart", "counterpart", "file_names"]

_SUFFIXES: Final = frozenset({".ts", ".mts", ".js", ".mjs", ".cjs", ".py", ".sh", ".rb"})
_FUZZY: Final = "fuzzy"
_THRESHOLD: Final = 0.85
_ITEM_FIELDS: Final = ["description", "quantity", "line_total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """An evaluator and how the script's settings are said to it.

    With `text_only` it compares whole texts and has nothing to say of other documents.
    """

    type: str
    settings: Callable[[Marked], Mapping[str, Marked]]
    text_only: bool = False


def counterpart(words: Iterable[str]) -> Counterpart | None:
    """The evaluator in place of the script that a command runs, if the script is one of AgentV's.

    >>> counterpart(["bun", "run", "../judges/line_item_matching.ts"]).type
    'line_items'
    """
    stems = (PurePosixPath(name).stem for name in file_names(words))
    return next((COUNTERPARTS[stem] for stem in stems if stem in COUNTERPARTS), None)


def file_names(words: Iterable[str]) -> Iterable[str]:
    """The words of a command that name a script."""
    slashed = (word.replace("\\", "/") for word in words)
    return (word for word in slashed if PurePosixPath(word).suffix in _SUFFIXES)


def _as_written(grader: Marked) -> Mapping[str, Marked]:
    return grader.entries


def _alike_fields(grader: Marked) -> Mapping[str, Marked]:
    """Each field compared fuzzily, by its own threshold or the common one."""
    entries = dict(grader.entries)
    usual = {
        "match": constant(_FUZZY, grader.location),
        "threshold": entries.pop("threshold", constant(_THRESHOLD, grader.location)),
        **{key: entries.pop(key) for key in ("algorithm",) if key in entries},
    }
    fields = entries.get("fields")
    if fields is not None:
        compared = [
            with_entries(each, _ordered(each.entries, usual)) if each.entries else each
            for each in fields.items
        ]
        entries["fields"] = listed(compared, fields.location)
    return entries


def _ordered(own: Mapping[str, Marked], usual: Mapping[str, Marked]) -> Mapping[str, Marked]:
    """A field's own settings first, then the usual ones that it lacks."""
    return {**own, **{key: value for key, value in usual.items() if key not in own}}


def _paired_items(grader: Marked) -> Mapping[str, Marked]:
    """Rows below `line_items_path`, of which three fields are scored unless it says otherwise."""
    entries = dict(grader.entries)
    if "line_items_path" in entries:
        entries["path"] = entries.pop("line_items_path")
    return {**entries, **_unsaid(entries, "score_fields", _ITEM_FIELDS, grader)}


def _unsaid(
    entries: Mapping[str, Marked], key: str, value: list[str], grader: Marked
) -> Mapping[str, Marked]:
    return {} if key in entries else {key: constant(list(value), grader.location)}


def _whole_text(grader: Marked) -> Mapping[str, Marked]:
    """The answer as one text."""
    rule = {
        "path": constant("$", grader.location),
        "match": constant(_FUZZY, grader.location),
        "threshold": constant(_THRESHOLD, grader.location),
    }
    return {**grader.entries, "fields": listed([with_entries(grader, rule)], grader.location)}


COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "header_confusion_metrics": Counterpart(type="field_confusion", settings=_as_written),
    "line_item_matching": Counterpart(type="line_items", settings=_paired_items),
    "multi_field_fuzzy": Counterpart(type="field_confusion", settings=_alike_fields),
    "fuzzy_match": Counterpart(type="field_accuracy", settings=_whole_text, text_only=True),
}
"""Scripts by their name without folder and suffix, which have differed from version to version."""
