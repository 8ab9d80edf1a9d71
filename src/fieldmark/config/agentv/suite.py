"""Read the cases and graders of an AgentV file, whichever version wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePath, PureWindowsPath
from typing import Final, NamedTuple

from fieldmark.config.agentv.graders import Graders, read_graders
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import EvalSpec, InlineCase
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.files import MAX_BYTES, decode, read_bytes
from fieldmark.config.json_parser import parse_json
from fieldmark.config.located import Located, describe, located_list
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.text import did_you_mean

__all__ = [
    "MAX_ALL_BYTES",
    "AgentvCase",
    "Era",
    "Fixtures",
    "Suite",
    "build_evaluators",
    "cases_without_candidate",
    "is_agentv",
    "read_agentv",
    "read_suite",
]

MAX_ALL_BYTES: Final = 64_000_000
_EXPECTED: Final = ("expected_output", "expected_messages")
_INPUT: Final = ("input", "input_messages")
_CRITERIA: Final = ("criteria", "expected_outcome")


# --- keys -----------------------------------------------------------------------------------------


class Era(StrEnum):
    """The key for the cases, which tells the version.

    Up to the design era, the graders of a case replace those of the file; since 4.x they are added.
    """

    DESIGN = "evalcases"
    LATER = "tests"


_GRADERS: Final = frozenset({"assertions", "assert", "evaluators"})
_SUITE_KEYS: Final = _GRADERS | {
    "name", "description", "evalcases", "tests", "execution", "input_files", "metadata", "tags",
}  # fmt: skip
_EXECUTION_KEYS: Final = _GRADERS | {"skip_defaults"}
_CASE_KEYS: Final = _GRADERS | {
    "id", "conversation_id", "criteria", "expected_outcome", "expected_messages",
    "expected_output", "input_messages", "input", "input_files", "execution", "metadata",
    "tags", "vars",
}  # fmt: skip
_LABELS: Final = frozenset({"$schema", "version", "author", "license", "category", "suite"})
_CASE_LABELS: Final = _LABELS | {"description", "note", "notes"}
"""Keys that change nothing and are ignored silently."""
_AGENT_KEYS: Final = frozenset(
    {"target", "targets", "provider", "providers", "prompts", "workspace"}
)
"""Keys that have an effect in AgentV but none here."""
_NO_AGENT: Final = "No agent is run: a case's candidate is the JSON file that its input names."


def _check_keys(
    located: Located,
    read: frozenset[str],
    context: Context,
    *,
    labels: frozenset[str] = frozenset(),
    within: str = "",
) -> None:
    """Warn of each key that is not read; a likely typo is a problem.

    AgentV itself ignores unknown keys.
    """
    for key in located.entries:
        if key in read or key in labels:
            continue
        place = located.key_location(key)
        meant = did_you_mean(key, read)
        if key in _AGENT_KEYS:
            context.warn(f"{within}{key} is not used.", place, _NO_AGENT)
        elif meant:
            context.add(f"Unknown key: {key}.", place, meant)
        else:
            context.warn(f"{within}{key} is not used.", place)


# --- the file -------------------------------------------------------------------------------------


def is_agentv(located: Located) -> bool:
    """Whether a file is one of AgentV: its cases are called `evalcases` or `tests`."""
    return "cases" not in located.entries and any(era in located.entries for era in Era)


class AgentvCase(NamedTuple):
    """A case without its evaluators, its graders, and the number of JSON files in its input.

    If the input names one JSON file, that is the candidate.
    """

    case: InlineCase
    graders: Graders
    files: int


class Suite(NamedTuple):
    """The content of an AgentV file: an evaluation without its evaluators, and its graders."""

    spec: EvalSpec
    graders: Graders
    cases: tuple[AgentvCase, ...]


def read_agentv(located: Located, context: Context) -> EvalSpec:
    """Read an AgentV file as an evaluation; problems go to the context."""
    suite = read_suite(located, context)
    for missing in cases_without_candidate(suite):
        context.add(missing.message, missing.location, missing.hint)
    cases = tuple(
        replace(case, evaluators=build_evaluators(graders, case.location, context))
        for case, graders, _ in suite.cases
    )
    evaluators = build_evaluators(suite.graders, suite.spec.location, context)
    warnings = context.problems.warnings
    return replace(suite.spec, cases=cases, evaluators=evaluators, warnings=warnings)


def build_evaluators(
    graders: Graders, location: Location, context: Context
) -> tuple[ConfiguredEvaluator, ...]:
    """Build the evaluators of some graders; problems go to the context."""
    entries = (grader.entry for grader in graders.graders)
    return read_evaluators(located_list(entries, location), context)


def cases_without_candidate(suite: Suite) -> Iterator[Problem]:
    """Yield a problem for each case that has no candidate."""
    for case, _, files in suite.cases:
        if files != 1:
            named = f"{files} JSON files" if files else "no JSON file"
            message = f"The case {case.id} has no candidate: its input names {named}."
            hint = "Import the file, and give the case candidate:, or all candidates: or target:."
            yield Problem(message, case.location, hint)


def read_suite(located: Located, context: Context) -> Suite:
    """Read the cases and graders of a file; problems go to the context."""
    _check_keys(located, _SUITE_KEYS, context, labels=_LABELS)
    graders = _read_graders(located, context)
    fixtures = Fixtures(context)
    cases = tuple(
        _read_case(each, located, fixtures, context) for each in _case_objects(located, context)
    )
    texts = [*graders.criteria, *(text for case in cases for text in case.graders.criteria)]
    if texts:
        message = f"{len(texts)} of the graders are texts, for a language model to judge by."
        hint = "They are not graded; a case keeps its own as criteria in its metadata."
        context.warn(message, texts[0].location, hint)
    first: dict[str, InlineCase] = {}
    for each in cases:
        earlier = first.setdefault(each.case.id, each.case)
        if earlier is not each.case and each.case.id:
            hint = f"It is first given on line {earlier.location.line}."
            context.add(f"Duplicate id: {each.case.id}.", each.case.location, hint)
    for each in cases:
        _check_graders(each, graders, context)
    stem = PurePath(located.location.file).stem.removesuffix(".eval")
    spec = EvalSpec(
        name=_text(located, "name") or stem or "agentv",
        description=_text(located, "description"),
        location=located.location,
        folder=context.folder or Path(),
        cases=tuple(each.case for each in cases),
        convention=DEFAULT_CONVENTION,
        tags=_tags(located),
        metadata=_metadata(located),
    )
    return Suite(spec, graders, cases)


def _case_objects(located: Located, context: Context) -> Sequence[Located]:
    given = located.first_of(*Era)
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


def _check_graders(each: AgentvCase, common: Graders, context: Context) -> None:
    case = each.case
    sources = (each.graders,) if case.only_own else (each.graders, common)
    if not any(source.written for source in sources):
        hint = "AgentV would ask a language model; add graders that compare fields."
        context.add(f"Nothing grades the case {case.id}.", case.location, hint)
    text_only = any(grader.text_only for source in sources for grader in source.graders)
    if text_only and isinstance(case.expected, dict | list):
        hint = "Name the fields: type: field_accuracy, with match: fuzzy for each."
        message = f"The case {case.id} expects a document, and one of its graders compares texts."
        context.add(message, case.location, hint)


# --- keys that suites and cases share -------------------------------------------------------------


def _text(located: Located, key: str) -> str:
    text = located.value_of(key)
    return text if isinstance(text, str) else ""


def _metadata(located: Located) -> JsonObject:
    metadata = located.value_of("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _tags(located: Located) -> tuple[str, ...]:
    given = located.get("tags")
    items = () if given is None else given.items or (given,)
    return tuple(item.value for item in items if isinstance(item.value, str))


def _read_graders(located: Located, context: Context) -> Graders:
    """Read the graders of a suite or a case; early versions have them in `execution`."""
    execution = located.get("execution")
    if execution is not None:
        _check_keys(execution, _EXECUTION_KEYS, context, within="execution.")
    found = located.first_of("assertions", "assert")
    if found is None and execution is not None:
        found = execution.first_of("evaluators", "assertions", "assert")
    return read_graders(found or located.get("evaluators"), context)


# --- one case -------------------------------------------------------------------------------------


def _read_case(
    located: Located, suite: Located, fixtures: Fixtures, context: Context
) -> AgentvCase:
    """Read a case; everything that it lacks is a problem, except for its candidate."""
    _check_keys(located, _CASE_KEYS, context, labels=_CASE_LABELS)
    graders = _read_graders(located, context)
    answer = _case_value(located, _EXPECTED)
    expected = MISSING if answer is None else _expected_document(answer, fixtures)
    if expected is MISSING:
        hint = "Give expected_output, or expected_messages with an answer of the assistant."
        context.add("A case without an expected answer.", located.location, hint)
    question = _case_value(located, _INPUT)
    more = located.get("input_files") or suite.get("input_files")
    files = _json_files(question, more)
    execution = located.get("execution")
    skips_defaults = execution is not None and execution.value_of("skip_defaults") is True
    replaces_defaults = Era.DESIGN in suite.entries and graders.written > 0
    case = InlineCase(
        id=_read_id(located, context),
        expected=expected,
        candidate=fixtures.document(files[0]) if len(files) == 1 else MISSING,
        input=MISSING if question is None else question.value,
        metadata=_case_metadata(located, graders) or None,
        tags=_tags(located),
        only_own=skips_defaults or replaces_defaults,
        location=located.location,
    )
    return AgentvCase(case, graders, len(files))


def _case_value(located: Located, keys: tuple[str, ...]) -> Located | None:
    """Return a value of the case, or of the variables in which late versions have it."""
    inner = located.get("vars")
    found = located.first_of(*keys)
    return inner.first_of(*keys) if found is None and inner is not None else found


def _read_id(located: Located, context: Context) -> str:
    given = located.entries.get("id", Located(value=None, location=located.location))
    value = given.value
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return str(value)
    message = f"A case needs an id that is text, not {describe(value)}."
    context.add(message, given.location)
    return ""


def _case_metadata(located: Located, graders: Graders) -> JsonObject:
    own = located.first_of(*_CRITERIA)
    texts = [*(() if own is None else (own,)), *graders.criteria]
    criteria = "\n".join(text.value.strip() for text in texts if isinstance(text.value, str))
    conversation = located.get("conversation_id")
    return {
        **_metadata(located),
        **({"criteria": criteria} if criteria else {}),
        **({} if conversation is None else {"conversation_id": conversation.value}),
    }


# --- documents in messages ------------------------------------------------------------------------


def _json_files(question: Located | None, more: Located | None) -> list[Located]:
    """Return the different JSON files that an input names, in its messages or beside them."""
    messages = () if question is None else question.items or (question,)
    contents = [each.entries["content"] for each in messages if "content" in each.entries]
    names = [name for content in contents for name in _files_in(content)]
    names += () if more is None else more.items
    texts = [name for name in names if isinstance(name.value, str)]
    json = {name.value: name for name in texts if str(name.value).lower().endswith(".json")}
    return list(json.values())


def _expected_document(answer: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document in the last message of the assistant, or in the value itself."""
    if not any("role" in each.entries for each in (answer, *answer.items[:1])):
        return _document(answer, fixtures)
    for message in reversed(answer.items or (answer,)):
        if message.value_of("role") == "assistant" and "content" in message.entries:
            return _document(message.entries["content"], fixtures)
    return MISSING


def _document(content: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document that content names or contains; other text stays as it is."""
    text = content.value
    if content.items and all(each.value_of("type") in ("file", "text") for each in content.items):
        named = next(_files_in(content), None)
        if named is not None:
            return fixtures.document(named)
        texts = (each.value_of("value") for each in content.items)
        text = "\n".join(each for each in texts if isinstance(each, str))
    if not isinstance(text, str):
        return text
    try:
        value = parse_json(text).value
    except ConfigError:
        return text
    return value if isinstance(value, list | dict) else text


def _files_in(content: Located) -> Iterator[Located]:
    for block in content.items:
        if block.value_of("type") == "file" and "value" in block.entries:
            yield block.entries["value"]


class Fixtures:
    """The JSON files that cases name, each read once.

    AgentV projects have eval files in one folder and fixtures in another beside it. So files below
    the parent folder of the eval file may be read, links followed, and no others; if that is the
    root of the file system, only files below the eval file's own folder.
    """

    __slots__ = ("_context", "_documents", "_folder", "_remaining", "_root")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = (context.folder or Path()).resolve()
        parent = self._folder.parent
        self._root = self._folder if parent == parent.parent else parent
        self._documents: dict[Path, JsonValue | Missing] = {}
        self._remaining = MAX_ALL_BYTES

    def document(self, named: Located) -> JsonValue | Missing:
        """Return the JSON in a file, or its text if it is not JSON.

        A file that cannot be read is a problem, and its document is missing.
        """
        path = self._path(named)
        if path is None:
            return MISSING
        if path not in self._documents:
            self._documents[path] = self._read(path, named)
        return self._documents[path]

    def _path(self, named: Located) -> Path | None:
        name = named.value
        if not isinstance(name, str) or not name or "\0" in name:
            self._context.add(f"Not the name of a file: {describe(name)}.", named.location)
            return None
        path = (self._folder / name).resolve()
        windows = PureWindowsPath(name)
        is_absolute = Path(name).is_absolute() or bool(windows.drive or windows.root)
        if is_absolute or not path.is_relative_to(self._root):
            hint = "Files of cases lie below the folder above the eval file."
            self._context.add(f"A file elsewhere: {name}.", named.location, hint)
            return None
        if not path.is_file():
            self._context.add(f"No such file: {name}.", named.location)
            return None
        return path

    def _read(self, path: Path, named: Located) -> JsonValue | Missing:
        try:
            content = read_bytes(path, MAX_BYTES)
            text = decode(content, file=str(named.value))
        except ConfigError as error:
            for problem in error.problems:
                message = f"{named.value}: {problem.message}"
                self._context.add(message, named.location, problem.hint)
            return MISSING
        self._remaining -= len(content)
        if self._remaining < 0:
            message = f"The files of the cases hold more than {MAX_ALL_BYTES:,} bytes together."
            self._context.add(message, named.location)
            return MISSING
        try:
            return parse_json(text).value
        except ConfigError:
            return text
