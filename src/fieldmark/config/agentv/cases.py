"""Reads the cases of an AgentV file, with the documents that their messages name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fieldmark.config.agentv.dialect import CASE, EXECUTION, Era, check_keys, first_of
from fieldmark.config.agentv.fixtures import Fixtures, is_json_file
from fieldmark.config.agentv.graders import Graders, read_graders
from fieldmark.config.agentv.messages import expected_of, files_of
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.errors import Location
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["AgentvCase", "graders_of", "read_case", "tags_of"]

_EXPECTED: Final = ("expected_output", "expected_messages")
_INPUT: Final = ("input", "input_messages")
_CRITERIA: Final = ("criteria", "expected_outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentvCase:
    """One case, its documents at hand and its graders in native words.

    `files` counts the JSON files that its input names: with one, that is the candidate.
    `only_own` says that the graders of the file are not for it.
    """

    id: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    files: int
    input: JsonValue | Missing
    metadata: JsonObject
    tags: tuple[str, ...]
    graders: Graders
    only_own: bool
    location: Location


def graders_of(marked: Marked, context: Context) -> tuple[Graders, Marked | None]:
    """The graders of a file or a case, and its `execution`, where early versions kept them."""
    execution = marked.entries.get("execution")
    if execution is not None:
        check_keys(execution, EXECUTION, context, within="execution.")
    found = first_of(marked, "assertions", "assert")
    if found is None and execution is not None:
        found = first_of(execution, "evaluators", "assertions", "assert")
    return read_graders(found or marked.entries.get("evaluators"), context), execution


def read_case(marked: Marked, suite: Marked, fixtures: Fixtures, context: Context) -> AgentvCase:
    """A case as its object tells; what it lacks is a problem, except for its candidate."""
    check_keys(marked, CASE, context)
    graders, execution = graders_of(marked, context)
    era_replaces = Era.DESIGN in suite.entries
    skips = execution is not None and _says(execution, "skip_defaults")
    given = _from_vars(marked, _EXPECTED)
    expected = MISSING if given is None else expected_of(given, fixtures)
    if expected is MISSING:
        hint = "Give expected_output, or expected_messages with an answer of the assistant."
        context.problems.add("A case without an expected answer.", marked.location, hint)
    asked = _from_vars(marked, _INPUT)
    named = _json_files(asked, first_of(marked, "input_files") or first_of(suite, "input_files"))
    return AgentvCase(
        id=_id(marked, context),
        expected=expected,
        candidate=fixtures.document(named[0]) if len(named) == 1 else MISSING,
        files=len(named),
        input=MISSING if asked is None else asked.value,
        metadata=_metadata(marked, graders),
        tags=tags_of(marked),
        graders=graders,
        only_own=skips or (era_replaces and bool(graders.written)),
        location=marked.location,
    )


def tags_of(marked: Marked) -> tuple[str, ...]:
    """The tags of a file or a case, one or several."""
    given = marked.entries.get("tags")
    items = () if given is None else given.items or (given,)
    return tuple(item.value for item in items if isinstance(item.value, str))


def _from_vars(marked: Marked, keys: tuple[str, ...]) -> Marked | None:
    """A value of the case, or of the variables in which late versions keep it."""
    inner = marked.entries.get("vars")
    found = first_of(marked, *keys)
    return first_of(inner, *keys) if found is None and inner is not None else found


def _says(marked: Marked, key: str) -> bool:
    given = marked.entries.get(key)
    return given is not None and given.value is True


def _id(marked: Marked, context: Context) -> str:
    given = marked.entries.get("id")
    value = None if given is None else given.value
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return str(value)
    place = marked.location if given is None else given.location
    context.problems.add(f"A case needs an id that is text, not {describe(value)}.", place)
    return ""


def _json_files(asked: Marked | None, more: Marked | None) -> list[Marked]:
    """The different JSON files that an input names, in its messages or beside them."""
    names = [*(() if asked is None else files_of(asked)), *(() if more is None else more.items)]
    return list({str(name.value): name for name in names if is_json_file(name)}.values())


def _metadata(marked: Marked, graders: Graders) -> JsonObject:
    given = marked.entries.get("metadata")
    own = given.value if given is not None and isinstance(given.value, dict) else {}
    told = first_of(marked, *_CRITERIA)
    texts = [*(() if told is None else (told,)), *graders.criteria]
    criteria = "\n".join(text.value.strip() for text in texts if isinstance(text.value, str))
    conversation = marked.entries.get("conversation_id")
    return {
        **own,
        **({"criteria": criteria} if criteria else {}),
        **({} if conversation is None else {"conversation_id": conversation.value}),
    }
