"""Reads a whole AgentV file, whichever version wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from typing import Final

from fieldmark.config.agentv.dialects import (
    CASE,
    EXECUTION,
    SUITE,
    Era,
    check_keys,
    era_of,
    first_of,
)
from fieldmark.config.agentv.graders import Graders, read_graders
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import EvalSpec, InlineCase
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import MAX_BYTES, decode
from fieldmark.config.json_parser import parse_json
from fieldmark.config.located import Located, describe, located_list
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = [
    "MAX_ALL_BYTES",
    "AgentvCase",
    "Fixtures",
    "Suite",
    "cases_without_candidate",
    "expected_of",
    "files_of",
    "graders_of",
    "is_agentv",
    "is_json_file",
    "members_of",
    "read_agentv",
    "read_case",
    "read_suite",
    "tags_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A file of AgentV in native words."""

    name: str
    description: str
    metadata: JsonObject
    tags: tuple[str, ...]
    graders: Graders
    cases: tuple[AgentvCase, ...]
    location: Location


def read_suite(located: Located, context: Context) -> Suite:
    """The cases and graders of a file; all that cannot be used goes to the problems."""
    check_keys(located, SUITE, context)
    graders, _ = graders_of(located, context)
    fixtures = Fixtures(context)
    cases = tuple(
        read_case(each, located, fixtures, context) for each in _case_objects(located, context)
    )
    _tell_of_ungraded(
        [*graders.criteria, *(text for case in cases for text in case.graders.criteria)], context
    )
    _refuse_repeated_ids(cases, context)
    for case in cases:
        _check_graders(case, graders, context)
    return Suite(
        name=_name(located),
        description=_text(located, "description"),
        metadata=_metadata(located),
        tags=tags_of(located),
        graders=graders,
        cases=cases,
        location=located.location,
    )


def cases_without_candidate(suite: Suite) -> Iterator[Problem]:
    """Each case whose candidate nobody would produce."""
    for case in suite.cases:
        if case.files != 1:
            named = f"{case.files} JSON files" if case.files else "no JSON file"
            said = f"The case {case.id} has no candidate: its input names {named}."
            hint = "Import the file, and give the case candidate:, or all candidates: or target:."
            yield Problem(said, case.location, hint)


def _case_objects(located: Located, context: Context) -> Sequence[Located]:
    given = first_of(located, *Era)
    if given is None:
        return ()
    if not isinstance(given.value, list) or not given.items:
        hint = "Cases in files of their own are not read: put them here."
        context.add(f"Not a list of cases: {describe(given.value)}.", given.location, hint)
        return ()
    for each in given.items:
        if not isinstance(each.value, dict):
            context.add(f"Not a case: {describe(each.value)}.", each.location)
    return [each for each in given.items if isinstance(each.value, dict)]


def _tell_of_ungraded(texts: Sequence[Located], context: Context) -> None:
    if texts:
        said = f"{len(texts)} of the graders are texts, for a language model to judge by."
        hint = "They are not graded; a case keeps its own as criteria in its metadata."
        context.warn(said, texts[0].location, hint)


def _refuse_repeated_ids(cases: Sequence[AgentvCase], context: Context) -> None:
    first: dict[str, AgentvCase] = {}
    for case in cases:
        earlier = first.setdefault(case.id, case)
        if earlier is not case and case.id:
            hint = f"It is first given on line {earlier.location.line}."
            context.add(f"Duplicate id: {case.id}.", case.location, hint)


def _check_graders(case: AgentvCase, common: Graders, context: Context) -> None:
    sources = (case.graders,) if case.only_own else (case.graders, common)
    if not any(source.written for source in sources):
        hint = "AgentV would ask a language model; add graders that compare fields."
        context.add(f"Nothing grades the case {case.id}.", case.location, hint)
    text_only = any(grader.text_only for source in sources for grader in source.graders)
    if text_only and isinstance(case.expected, dict | list):
        hint = "Name the fields: type: field_accuracy, with match: fuzzy for each."
        said = f"The case {case.id} expects a document, and one of its graders compares texts."
        context.add(said, case.location, hint)


def _name(located: Located) -> str:
    """The name that the file gives itself, or its own without the endings."""
    name = PurePath(located.location.file).stem.removesuffix(".eval")
    return _text(located, "name") or name or "agentv"


def _text(located: Located, key: str) -> str:
    given = located.get(key)
    return given.value if given is not None and isinstance(given.value, str) else ""


def _metadata(located: Located) -> JsonObject:
    given = located.get("metadata")
    return given.value if given is not None and isinstance(given.value, dict) else {}


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


def graders_of(located: Located, context: Context) -> tuple[Graders, Located | None]:
    """The graders of a file or a case, and its `execution`, where early versions kept them."""
    execution = located.get("execution")
    if execution is not None:
        check_keys(execution, EXECUTION, context, within="execution.")
    found = first_of(located, "assertions", "assert")
    if found is None and execution is not None:
        found = first_of(execution, "evaluators", "assertions", "assert")
    return read_graders(found or located.get("evaluators"), context), execution


def read_case(located: Located, suite: Located, fixtures: Fixtures, context: Context) -> AgentvCase:
    """A case as its object tells; what it lacks is a problem, except for its candidate."""
    check_keys(located, CASE, context)
    graders, execution = graders_of(located, context)
    era_replaces = Era.DESIGN in suite.entries
    skips = execution is not None and _says(execution, "skip_defaults")
    given = _from_vars(located, _EXPECTED)
    expected = MISSING if given is None else expected_of(given, fixtures)
    if expected is MISSING:
        hint = "Give expected_output, or expected_messages with an answer of the assistant."
        context.add("A case without an expected answer.", located.location, hint)
    asked = _from_vars(located, _INPUT)
    named = _json_files(asked, first_of(located, "input_files") or first_of(suite, "input_files"))
    return AgentvCase(
        id=_id(located, context),
        expected=expected,
        candidate=fixtures.document(named[0]) if len(named) == 1 else MISSING,
        files=len(named),
        input=MISSING if asked is None else asked.value,
        metadata=_case_metadata(located, graders),
        tags=tags_of(located),
        graders=graders,
        only_own=skips or (era_replaces and bool(graders.written)),
        location=located.location,
    )


def tags_of(located: Located) -> tuple[str, ...]:
    """The tags of a file or a case, one or several."""
    given = located.get("tags")
    items = () if given is None else given.items or (given,)
    return tuple(item.value for item in items if isinstance(item.value, str))


def _from_vars(located: Located, keys: tuple[str, ...]) -> Located | None:
    """A value of the case, or of the variables in which late versions keep it."""
    inner = located.get("vars")
    found = first_of(located, *keys)
    return first_of(inner, *keys) if found is None and inner is not None else found


def _says(located: Located, key: str) -> bool:
    given = located.get(key)
    return given is not None and given.value is True


def _id(located: Located, context: Context) -> str:
    given = located.get("id")
    value = None if given is None else given.value
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return str(value)
    place = located.location if given is None else given.location
    context.add(f"A case needs an id that is text, not {describe(value)}.", place)
    return ""


def _json_files(asked: Located | None, more: Located | None) -> list[Located]:
    """The different JSON files that an input names, in its messages or beside them."""
    names = [*(() if asked is None else files_of(asked)), *(() if more is None else more.items)]
    return list({str(name.value): name for name in names if is_json_file(name)}.values())


def _case_metadata(located: Located, graders: Graders) -> JsonObject:
    given = located.get("metadata")
    own = given.value if given is not None and isinstance(given.value, dict) else {}
    told = first_of(located, *_CRITERIA)
    texts = [*(() if told is None else (told,)), *graders.criteria]
    criteria = "\n".join(text.value.strip() for text in texts if isinstance(text.value, str))
    conversation = located.get("conversation_id")
    return {
        **own,
        **({"criteria": criteria} if criteria else {}),
        **({} if conversation is None else {"conversation_id": conversation.value}),
    }


_ANSWERER: Final = "assistant"
_BLOCKS: Final = frozenset({"file", "text"})


def files_of(given: Located) -> Iterator[Located]:
    """The name of every file in an input: a text, a message, or several."""
    for message in given.items or (given,):
        if "content" in message.entries:
            yield from _files_in(message.entries["content"])


def expected_of(given: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """What the assistant should have answered: its last message, or the value itself.

    A text that is JSON is the document that it holds.
    """
    if not _is_conversation(given):
        return _document(given, fixtures)
    for message in reversed(given.items or (given,)):
        content = message.get("content")
        role = message.get("role")
        if content is not None and role is not None and role.value == _ANSWERER:
            return _document(content, fixtures)
    return MISSING


def _is_conversation(given: Located) -> bool:
    return any("role" in each.entries for each in (given, *given.items[:1]))


def _document(content: Located, fixtures: Fixtures) -> JsonValue | Missing:
    if content.items and all(_kind(block) in _BLOCKS for block in content.items):
        named = next(_files_in(content), None)
        if named is not None:
            return fixtures.document(named)
        texts = [
            block.entries["value"].value for block in content.items if "value" in block.entries
        ]
        return _parsed("\n".join(text for text in texts if isinstance(text, str)))
    return _parsed(content.value) if isinstance(content.value, str) else content.value


def _files_in(content: Located) -> Iterator[Located]:
    for block in content.items:
        if _kind(block) == "file" and "value" in block.entries:
            yield block.entries["value"]


def _parsed(text: str) -> JsonValue:
    """The list or object that a text holds; any other text is meant as it stands."""
    try:
        value = parse_json(text).value
    except ConfigError:
        return text
    return value if isinstance(value, list | dict) else text


def _kind(block: Located) -> JsonValue:
    kind = block.get("type")
    return None if kind is None else kind.value


MAX_ALL_BYTES: Final = 64_000_000


def is_json_file(named: Located) -> bool:
    """Whether a value is the name of a JSON file."""
    return isinstance(named.value, str) and named.value.lower().endswith(".json")


class Fixtures:
    """The files below one folder, each read once."""

    __slots__ = ("_context", "_folder", "_left", "_read", "_root")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = (context.folder or Path()).resolve()
        above = self._folder.parent
        self._root = self._folder if above == above.parent else above
        self._read: dict[Path, JsonValue | Missing] = {}
        self._left = MAX_ALL_BYTES

    def document(self, named: Located) -> JsonValue | Missing:
        """The JSON in a file; what is no JSON stays the text that it is, for a reader of answers.

        A file that cannot be had is a problem, and nothing.
        """
        place = self._place(named)
        if place is None:
            return MISSING
        if place not in self._read:
            self._read[place] = self._document(place, named)
        return self._read[place]

    def _place(self, named: Located) -> Path | None:
        name = named.value
        if not isinstance(name, str) or not name or "\0" in name:
            self._problem(f"Not the name of a file: {describe(name)}.", named)
            return None
        place = (self._folder / name).resolve()
        windows = PureWindowsPath(name)
        is_absolute = Path(name).is_absolute() or bool(windows.drive or windows.root)
        if is_absolute or not place.is_relative_to(self._root):
            hint = "Files of cases lie below the folder above the eval file."
            self._problem(f"A file elsewhere: {name}.", named, hint)
            return None
        if not place.is_file():
            self._problem(f"No such file: {name}.", named)
            return None
        return place

    def _document(self, place: Path, named: Located) -> JsonValue | Missing:
        try:
            with place.open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
            text = decode(content, file=str(named.value))
        except ConfigError as error:
            for problem in error.problems:
                self._problem(f"{named.value}: {problem.message}", named, problem.hint)
            return MISSING
        except OSError as error:
            self._problem(f"{named.value}: Cannot be read: {error.strerror}.", named)
            return MISSING
        self._left -= len(content)
        if self._left < 0:
            said = f"The files of the cases hold more than {MAX_ALL_BYTES:,} bytes together."
            self._problem(said, named)
            return MISSING
        try:
            return parse_json(text).value
        except ConfigError:
            return text

    def _problem(self, message: str, named: Located, hint: str = "") -> None:
        self._context.add(message, named.location, hint)


def is_agentv(located: Located) -> bool:
    """Whether a file is one of AgentV's: its cases are called `evalcases` or `tests`."""
    return era_of(located) is not None


def read_agentv(located: Located, context: Context) -> EvalSpec:
    """The evaluation that a file of AgentV describes; problems go to the context."""
    suite = read_suite(located, context)
    for missing in cases_without_candidate(suite):
        context.add(missing.message, missing.location, missing.hint)
    return EvalSpec(
        name=suite.name,
        description=suite.description,
        location=suite.location,
        folder=context.folder or Path(),
        cases=tuple(_case(case, context) for case in suite.cases),
        convention=DEFAULT_CONVENTION,
        evaluators=members_of(suite.graders, suite.location, context),
        tags=suite.tags,
        metadata=suite.metadata,
        warnings=context.problems.warnings,
    )


def _case(case: AgentvCase, context: Context) -> InlineCase:
    return InlineCase(
        id=case.id,
        expected=case.expected,
        candidate=case.candidate,
        input=case.input,
        metadata=case.metadata or None,
        tags=case.tags,
        evaluators=members_of(case.graders, case.location, context),
        only_own=case.only_own,
        location=case.location,
    )


def members_of(
    graders: Graders, location: Location, context: Context
) -> tuple[ConfiguredEvaluator, ...]:
    """The evaluators of some graders; what they cannot take goes to the problems."""
    entries = (grader.entry for grader in graders.graders)
    return read_evaluators(located_list(entries, location), context)
