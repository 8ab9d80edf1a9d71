"""Read the cases of an eval file: written in it, or in a file or folder that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from fieldmark.config.context import Context
from fieldmark.config.eval_spec import InlineCase
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import is_known_missing, load_named, load_table, load_text, named_path
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import any_of, ref
from fieldmark.errors import Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = [
    "CASE_KEYS",
    "ROW_KEYS",
    "CaseSource",
    "cases_schema",
    "read_cases",
    "read_metadata",
    "read_path",
]

_HINT: Final = "Write the name of a file, or a list of {id: a, expected: {…}, candidate: {…}}."


class CaseSource(NamedTuple):
    """Where cases come from, and under which keys rows contain their parts."""

    cases: Path | tuple[InlineCase, ...] = ()
    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    format_in: str | None = None


def _read_id(given: Located, context: Context) -> str | None:
    value = given.value
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return str(value)
    context.add(f"id: must be text, not {describe(value)}.", given.location)
    return None


def read_metadata(given: Located, context: Context) -> JsonObject | None:
    """Read an object that is kept as it is."""
    if given.value is not None:
        expect_object(given, "an object of metadata", context)
    return given.value if isinstance(given.value, dict) else None


_ID: Final[ConfigKey[str | None]] = ConfigKey(
    "id",
    description="The name of the case, once in a file.",
    schema={"type": ["string", "integer"]},
    reader=_read_id,
)
_TAGS: Final[ConfigKey[tuple[str, ...]]] = ConfigKey(
    "tags", tuple[str, ...], "Words to choose cases by.", default=()
)
_METADATA: Final[ConfigKey[JsonObject | None]] = ConfigKey(
    "metadata",
    description="What judges are told besides.",
    schema={"type": ["object", "null"]},
    reader=read_metadata,
)
_EVALUATORS: Final[ConfigKey[tuple[ConfiguredEvaluator, ...]]] = ConfigKey(
    "evaluators",
    description="More evaluators, for this case alone.",
    default=(),
    schema=ref("evaluators"),
    reader=read_evaluators,
)
_ONLY_OWN: Final = tuple(
    ConfigKey(name, bool, "Whether the evaluators of the file are left out.", default=False)
    for name in ("only_own", "skip_defaults")
)
CASE_KEYS: Final = KeyTable(
    _ID,
    ConfigKey("input", description="What a target or a judge is given."),
    ConfigKey("expected", description="The truth."),
    ConfigKey("expected_file", str, "A JSON file with the truth."),
    ConfigKey("candidate", description="What was extracted; text is what a model wrote."),
    ConfigKey("candidate_file", str, "A file with what was extracted."),
    _TAGS,
    _METADATA,
    _EVALUATORS,
    *_ONLY_OWN,
)
_FILE: Final[ConfigKey[Any]] = ConfigKey("path", str, "A file or folder with the cases.")
_ROW_PARTS: Final[tuple[ConfigKey[str | None], ...]] = tuple(
    ConfigKey(
        name,
        str | None,
        f"The key of a row that holds its {name}.",
        schema={"type": ["string", "null"]},
    )
    for name in ("id", "expected", "candidate")
)
ROW_KEYS: Final = KeyTable(_FILE, *_ROW_PARTS)
_COCO: Final[ConfigKey[Any]] = ConfigKey(
    "coco", str, "A file of COCO's with images and annotations."
)
_COCO_KEYS: Final = KeyTable(_COCO)


def cases_schema() -> JsonObject:
    """Describe the cases of an eval file in each of their forms."""
    inline: JsonObject = {"type": "array", "items": ref("case"), "minItems": 1}
    rows, coco = ROW_KEYS.to_schema("path"), _COCO_KEYS.to_schema("coco")
    return any_of([_FILE.to_schema(), inline, rows, coco])


def read_cases(located: Located, context: Context) -> CaseSource:
    """Read the cases of an eval file."""
    given = located.get("cases")
    if given is None:
        if isinstance(located.value, dict):
            context.add("An eval file without cases.", located.location, _HINT)
        return CaseSource()
    if isinstance(given.value, str):
        return CaseSource(read_path(located, "cases", context) or ())
    if isinstance(given.value, list):
        return CaseSource(_read_inline(given, context))
    if not isinstance(given.value, dict):
        context.add(f"Not cases: {describe(given.value)}.", given.location, _HINT)
        return CaseSource()
    if "coco" in given.entries:
        _COCO_KEYS.refuse_unknown(given, context)
        return CaseSource(read_path(given, "coco", context) or (), format_in="coco")
    ROW_KEYS.refuse_unknown(given, context)
    if "path" not in given.entries:
        context.add("Cases without a path.", given.location, _HINT)
    path = read_path(given, "path", context)
    return CaseSource(path or (), *(key.read(given, context) for key in _ROW_PARTS))


def read_path(located: Located, key: str, context: Context) -> Path | None:
    """Read the file or folder that a key names; a warning if it is known to be missing."""
    given = located.get(key)
    if given is None:
        return None
    path = named_path(given, key, context)
    if path is not None and is_known_missing(path, context):
        context.warn(f"{key}: there is no {given.value} here.", given.location)
    return path


def _read_inline(located: Located, context: Context) -> tuple[InlineCase, ...]:
    if not located.items:
        context.add("The list of cases is empty.", located.location)
    cases = [case for item in located.items if (case := _read_case(item, context)) is not None]
    first: dict[str, Location] = {}
    for case in cases:
        earlier = first.setdefault(case.id, case.location)
        if earlier is not case.location:
            hint = f"Line {earlier.line} has it already." if earlier.line else ""
            context.add(f"Duplicate case id: {case.id}.", case.location, hint)
    return tuple(cases)


def _read_case(located: Located, context: Context) -> InlineCase | None:
    if not expect_object(located, "a case", context, "Write {id: a, expected: {…}}."):
        return None
    CASE_KEYS.refuse_unknown(located, context)
    if "id" not in located.entries:
        context.add("A case without an id.", located.location)
    name = _ID.read(located, context)
    only_own = [key.read(located, context) for key in _ONLY_OWN]
    case = InlineCase(
        id=name or "",
        expected=_read_document(located, "expected", context),
        candidate=_read_document(located, "candidate", context),
        input=located.entries["input"].value if "input" in located.entries else MISSING,
        evaluators=_EVALUATORS.read(located, context),
        only_own=any(only_own),
        tags=_TAGS.read(located, context),
        metadata=_METADATA.read(located, context),
        location=located.key_location("id"),
    )
    return None if name is None else case


def _read_document(located: Located, key: str, context: Context) -> JsonValue | Missing:
    """Read a document; the file of a candidate is text, because any model output is data."""
    written, file = located.get(key), located.get(f"{key}_file")
    if written is not None and file is not None:
        message = f"Both {key} and {key}_file."
        context.add(message, located.key_location(f"{key}_file"), "Keep one of them.")
        return MISSING
    if written is not None:
        return written.value
    if file is None:
        return MISSING
    if key == "candidate":
        text = load_named(file, "candidate_file", context, load_text)
        return MISSING if text is None else text
    contents = load_named(file, "expected_file", context, load_table)
    return MISSING if contents is None else contents.value
