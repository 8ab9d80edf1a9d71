"""Reads the cases of an eval file: written in it, or in a file or folder that it names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.config.context import Context
from fieldmark.config.eval_spec import InlineCase
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import (
    contents_of,
    file_to_read,
    is_known_missing,
    load_text,
    note_all,
    place_of,
)
from fieldmark.config.located import Located
from fieldmark.config.option_types import checked, describe, is_object, refuse_unknown
from fieldmark.errors import ConfigError, Location
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["CASES_KEYS", "CASE_KEYS", "COCO", "CaseSource", "read_cases", "read_place"]

CASE_KEYS: Final = (
    "id",
    "input",
    "expected",
    "expected_file",
    "candidate",
    "candidate_file",
    "tags",
    "metadata",
    "evaluators",
    "only_own",
    "skip_defaults",
)
_ONLY_OWN: Final = ("only_own", "skip_defaults")
CASES_KEYS: Final = ("path", "id", "expected", "candidate")
COCO: Final = "coco"
"""The key of a data set of object detection, which is read in a way of its own."""
_HINT: Final = "Write the name of a file, or a list of {id: a, expected: {…}, candidate: {…}}."


class CaseSource(NamedTuple):
    """Where cases come from, and under which keys rows hold their parts."""

    cases: Path | tuple[InlineCase, ...] = ()
    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    format_in: str | None = None


def read_cases(located: Located, context: Context) -> CaseSource:
    """The cases of an eval file."""
    given = located.entries.get("cases")
    if given is None:
        if isinstance(located.value, dict):
            context.problems.add("An eval file without cases.", located.location, _HINT)
        return CaseSource()
    if isinstance(given.value, str):
        return CaseSource(read_place(located, "cases", context) or ())
    if isinstance(given.value, list):
        return CaseSource(_inline(given, context))
    if isinstance(given.value, dict):
        return _rows(given, context)
    shown = describe(given.value)
    context.problems.add(f"Not cases: {shown}.", given.location, _HINT)
    return CaseSource()


def read_place(located: Located, key: str, context: Context) -> Path | None:
    """The file or folder that a key names; a warning if it is seen not to be there."""
    given = located.entries.get(key)
    place = None if given is None else place_of(given, key, context)
    if given is not None and place is not None and is_known_missing(place, context):
        context.problems.warn(f"{key}: there is no {given.value} here.", given.location)
    return place


def _rows(located: Located, context: Context) -> CaseSource:
    if COCO in located.entries:
        refuse_unknown(located, (COCO,), context)
        return CaseSource(read_place(located, COCO, context) or (), format_in=COCO)
    refuse_unknown(located, CASES_KEYS, context)
    if "path" not in located.entries:
        context.problems.add("Cases without a path.", located.location, _HINT)
    place = read_place(located, "path", context)
    keys = [_key(located, key, context) for key in CASES_KEYS[1:]]
    return CaseSource(place or (), *keys)


def _key(located: Located, key: str, context: Context) -> str | None:
    given = located.entries.get(key)
    value = None if given is None else checked(given, key, str | None, context)
    return value if isinstance(value, str) else None


def _inline(located: Located, context: Context) -> tuple[InlineCase, ...]:
    if not located.items:
        context.problems.add("The list of cases is empty.", located.location)
    cases = [case for item in located.items if (case := _case(item, context)) is not None]
    _refuse_repeated_ids(cases, context)
    return tuple(cases)


def _refuse_repeated_ids(cases: Iterable[InlineCase], context: Context) -> None:
    first: dict[str, Location] = {}
    for case in cases:
        earlier = first.setdefault(case.id, case.location)
        if earlier is not case.location:
            hint = f"Line {earlier.line} has it already." if earlier.line else ""
            context.problems.add(f"Duplicate case id: {case.id}.", case.location, hint)


def _case(located: Located, context: Context) -> InlineCase | None:
    if not is_object(located, "a case", context, "Write {id: a, expected: {…}}."):
        return None
    refuse_unknown(located, CASE_KEYS, context)
    name = _id(located, context)
    expected = _expected(located, context)
    candidate = _candidate(located, context)
    given = located.entries
    evaluators = read_evaluators(given.get("evaluators", Located(value=None)), context)
    only_own = [_flag(located, key, context) for key in _ONLY_OWN]
    tags = checked(given["tags"], "tags", tuple[str, ...], context) if "tags" in given else ()
    metadata = _metadata(located, context)
    if name is None:
        return None
    return InlineCase(
        id=name,
        expected=expected,
        candidate=candidate,
        input=given["input"].value if "input" in given else MISSING,
        metadata=metadata,
        tags=tags if isinstance(tags, tuple) else (),
        evaluators=evaluators,
        only_own=any(only_own),
        location=located.key_location("id"),
    )


def _id(located: Located, context: Context) -> str | None:
    given = located.entries.get("id")
    if given is None:
        context.problems.add("A case without an id.", located.location)
        return None
    value = given.value
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    context.problems.add(f"id: must be text, not {describe(value)}.", given.location)
    return None


def _expected(located: Located, context: Context) -> JsonValue | Missing:
    if _refuse_both(located, "expected", context):
        return MISSING
    if "expected" in located.entries:
        return located.entries["expected"].value
    named = located.entries.get("expected_file")
    if named is None:
        return MISSING
    contents = contents_of(named, "expected_file", context)
    return MISSING if contents is None else contents.value


def _candidate(located: Located, context: Context) -> JsonValue | Missing:
    """The candidate as written; a file of it is text, for whatever a model wrote is data."""
    if _refuse_both(located, "candidate", context):
        return MISSING
    if "candidate" in located.entries:
        return located.entries["candidate"].value
    named = located.entries.get("candidate_file")
    place = None if named is None else file_to_read(named, "candidate_file", context)
    if named is None or place is None:
        return MISSING
    try:
        return load_text(place)
    except ConfigError as error:
        note_all(error, named, context)
        return MISSING


def _refuse_both(located: Located, key: str, context: Context) -> bool:
    both = key in located.entries and f"{key}_file" in located.entries
    if both:
        place = located.key_location(f"{key}_file")
        context.problems.add(f"Both {key} and {key}_file.", place, "Keep one of them.")
    return both


def _flag(located: Located, key: str, context: Context) -> bool:
    given = located.entries.get(key)
    return given is not None and checked(given, key, bool, context) is True


def _metadata(located: Located, context: Context) -> JsonObject | None:
    given = located.entries.get("metadata")
    if given is None or given.value is None:
        return None
    is_object(given, "an object of metadata", context)
    return given.value if isinstance(given.value, dict) else None
