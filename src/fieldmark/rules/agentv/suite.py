"""Convert the content of AgentV files of any version to that of native eval files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path, PurePath, PureWindowsPath
from typing import Final

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.rules.agentv.graders import Graders, read_graders
from fieldmark.rules.config_files import MAX_BYTES, load_text, parse_json
from fieldmark.rules.config_values import Context, Located, constant, located_list
from fieldmark.rules.targets import case_id
from fieldmark.values.text import did_you_mean, plural
from fieldmark.values.value_types import describe

MAX_ALL_BYTES: Final = 64_000_000
_EXPECTED: Final = ("expected_output", "expected_messages")
_INPUT: Final = ("input", "input_messages")
_CRITERIA: Final = ("criteria", "expected_outcome")


# --- keys -----------------------------------------------------------------------------------------


class Era(StrEnum):
    """The key of the cases, which identifies the version.

    In early versions, the graders of a case replace those of the file; in 4.x they are added.
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
"""Keys without effect, which are ignored silently."""
_AGENT_KEYS: Final = frozenset(
    {"target", "targets", "provider", "providers", "prompts", "workspace"}
)
"""Keys that only have an effect in AgentV."""
_GRADER_KEYS: Final = frozenset({"required", "min_score", "negate"})
"""Keys of graders, which would change verdicts if they were used elsewhere."""
_NO_AGENT: Final = "no agent is run: the prediction is the JSON file that the input of a case names"


def _check_keys(
    located: Located,
    read: frozenset[str],
    context: Context,
    *,
    labels: frozenset[str] = frozenset(),
    within: str = "",
) -> None:
    """Warn of each unused key; a likely typo is a problem.

    AgentV itself ignores unknown keys.
    """
    for key in located.entries:
        if key in read or key in labels:
            continue
        location = located.key_location(key)
        meant = did_you_mean(key, read)
        if key in _AGENT_KEYS:
            context.warn(f"{within}{key} is not used", location, _NO_AGENT)
        elif key in _GRADER_KEYS:
            message = f"{within}{key} is only supported as a key of a grader"
            context.add(message, location, "move it to a grader")
        elif meant:
            context.add(f"unknown key {key!r}", location, meant)
        else:
            context.warn(f"{within}{key} is not used", location)


# --- the file -------------------------------------------------------------------------------------


def is_agentv(located: Located) -> bool:
    """Whether a file is an AgentV file: its cases are in `evalcases` or `tests`."""
    return "cases" not in located.entries and any(era in located.entries for era in Era)


def native_form(located: Located, context: Context) -> Located:
    """Convert an AgentV file to the native form; problems are added to the context."""
    native, without_candidate = convert_suite(located, context)
    for problem in without_candidate:
        context.add(problem.message, problem.location, problem.hint)
    return native


def convert_suite(located: Located, context: Context) -> tuple[Located, list[Problem]]:
    """Convert an AgentV file, and return a problem for each case without a candidate.

    The documents of the cases are included. Other problems are added to the context; if there are
    no cases, they are raised.
    """
    _check_keys(located, _SUITE_KEYS, context, labels=_LABELS)
    graders = _read_graders(located, context)
    converter = _CaseConverter(located, graders, context)
    cases = [converter.convert(each) for each in _case_objects(located, context)]
    texts = [*graders.criteria, *converter.criteria]
    if texts:
        graders_in_text = plural(len(texts), "grader consists", "graders consist")
        message = f"{graders_in_text} of text for a language model and cannot be used"
        hint = "the text of a case is saved as criteria in its metadata"
        context.warn(message, texts[0].location, hint)
    if not cases:
        raise context.problems.error()
    limits: JsonObject = {f"evaluators.{name}.verdicts.fail": 0 for name in converter.required}
    stem = PurePath(located.location.file).stem.removesuffix(".eval")
    native = _native_object(
        located,
        {
            "name": _text(located, "name") or stem or "agentv",
            "description": _text(located, "description") or MISSING,
            "metadata": _metadata(located) or MISSING,
            "tags": _tags(located) or MISSING,
            "evaluators": graders.evaluators(located.location),
            "gates": _native_object(located, {"max": _native_object(located, limits)})
            if limits
            else MISSING,
            "cases": located_list(cases, located.location),
        },
    )
    return native, converter.without_candidate


def _native_object(
    located: Located, entries: Mapping[str, Located | JsonValue | Missing]
) -> Located:
    """Return an object at the location of another, without missing entries."""
    return located.with_entries(
        {
            key: value if isinstance(value, Located) else constant(value, located.location)
            for key, value in entries.items()
            if value is not MISSING
        }
    )


def _case_objects(located: Located, context: Context) -> Sequence[Located]:
    given = located.first_of(*Era)
    if given is None:
        return ()
    if not isinstance(given.value, list) or not given.items:
        hint = "cases in separate files are not supported; move them to this file"
        got = "an empty list" if given.value == [] else describe(given.value)
        context.add(f"expected a list of cases, got {got}", given.location, hint)
        return ()
    for each in given.items:
        if not isinstance(each.value, dict):
            context.add(f"case: expected an object, got {describe(each.value)}", each.location)
    return [each for each in given.items if isinstance(each.value, dict)]


# --- keys that suites and cases share -------------------------------------------------------------


def _text(located: Located, key: str) -> str:
    text = located.value_of(key)
    return text if isinstance(text, str) else ""


def _metadata(located: Located) -> JsonObject:
    metadata = located.value_of("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _tags(located: Located) -> list[JsonValue]:
    given = located.get("tags")
    items = () if given is None else given.items or (given,)
    return [item.value for item in items if isinstance(item.value, str)]


def _read_graders(located: Located, context: Context) -> Graders:
    """Read the graders of a suite or a case; in early versions they are in `execution`."""
    execution = located.get("execution")
    if execution is not None:
        _check_keys(execution, _EXECUTION_KEYS, context, within="execution.")
    found = located.first_of("assertions", "assert")
    if found is None and execution is not None:
        found = execution.first_of("evaluators", "assertions", "assert")
    return read_graders(found or located.get("evaluators"), context)


# --- cases ----------------------------------------------------------------------------------------


class _CaseConverter:
    """Converts the cases of a suite; their ids must be unique."""

    def __init__(self, suite: Located, graders: Graders, context: Context) -> None:
        self.criteria: list[Located] = []
        self.required: dict[str, None] = {}
        self.without_candidate: list[Problem] = []
        self._suite = suite
        self._graders = graders
        self._context = context
        self._fixtures = Fixtures(context)
        self._ids: dict[str, Location] = {}

    def convert(self, located: Located) -> Located:
        """Convert a case; missing parts other than the candidate are problems."""
        context, location = self._context, located.location
        _check_keys(located, _CASE_KEYS, context, labels=_CASE_LABELS)
        graders = _read_graders(located, context)
        self.criteria += graders.criteria
        answer = _case_value(located, _EXPECTED)
        expected = MISSING if answer is None else _expected_document(answer, self._fixtures)
        if expected is MISSING:
            hint = "add expected_output, or expected_messages with an assistant message"
            context.add("case: an expected output is required", location, hint)
        given = located.entries.get("id", Located(value=None, location=location))
        name = case_id(given.value) or ""
        if not name:
            message = "case: 'id' is required"
            if "id" in located.entries:
                message = f"id: expected a string, got {describe(given.value)}"
            context.add(message, given.location)
        elif name in self._ids:
            hint = f"first defined at line {self._ids[name].line}"
            context.add(f"duplicate case id {name!r}", location, hint)
        # A case with an invalid id gets another id, so that the rest of it is checked.
        unique = f"{name}#{len(self._ids)}" if not name or name in self._ids else name
        self._ids[unique] = location
        question = _case_value(located, _INPUT)
        files = _json_files(question, located.get("input_files") or self._suite.get("input_files"))
        if len(files) != 1:
            named = f"{len(files)} JSON files" if files else "no JSON file"
            message = f"case {name!r} has no prediction: its input names {named}"
            hint = "import the file, then add candidate: to the case, or candidates: or target:"
            self.without_candidate.append(Problem(message, location, hint))
        execution = located.get("execution")
        skips_defaults = execution is not None and execution.value_of("skip_defaults") is True
        replaces_defaults = Era.DESIGN in self._suite.entries and graders.written > 0
        only_own = skips_defaults or replaces_defaults
        sources = (graders,) if only_own else (graders, self._graders)
        self.required |= dict.fromkeys(each for source in sources for each in source.required())
        if not any(source.written for source in sources):
            hint = "AgentV would use a language model; add graders that compare fields"
            context.add(f"case {name!r} has no graders", location, hint)
        text_only = any(grader.text_only for source in sources for grader in source.graders)
        if text_only and isinstance(expected, dict | list):
            hint = "use type: field_accuracy, with match: fuzzy for each field"
            message = f"case {name!r} expects a document, but one of its graders compares strings"
            context.add(message, location, hint)
        return _native_object(
            located,
            {
                "id": unique,
                "tags": _tags(located) or MISSING,
                "metadata": _case_metadata(located, graders) or MISSING,
                "input": MISSING if question is None else question.value,
                "expected": expected,
                "candidate": self._fixtures.document(files[0]) if len(files) == 1 else MISSING,
                "evaluators": graders.evaluators(location),
                "only_own": True if only_own else MISSING,
            },
        )


def _case_value(located: Located, keys: tuple[str, ...]) -> Located | None:
    """Return a value of the case, or of its `vars` in later versions."""
    inner = located.get("vars")
    found = located.first_of(*keys)
    return inner.first_of(*keys) if found is None and inner is not None else found


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
    """Return the distinct JSON files that an input names, in its messages or in `input_files`."""
    messages = () if question is None else question.items or (question,)
    contents = [each.entries["content"] for each in messages if "content" in each.entries]
    names = [name for content in contents for name in _files_in(content)]
    names += () if more is None else more.items
    texts = [name for name in names if isinstance(name.value, str)]
    json = {name.value: name for name in texts if str(name.value).lower().endswith(".json")}
    return list(json.values())


def _expected_document(answer: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document in the last assistant message, or in the value itself."""
    if not any("role" in each.entries for each in (answer, *answer.items[:1])):
        return _document(answer, fixtures)
    for message in reversed(answer.items or (answer,)):
        if message.value_of("role") == "assistant" and "content" in message.entries:
            return _document(message.entries["content"], fixtures)
    return MISSING


def _document(content: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document that the content names or contains; other text is not changed."""
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

    AgentV projects have eval files and fixtures in sibling directories. So only files below the
    parent of the eval file's directory are read, after resolving links. If the parent is the root
    of the file system, only files below the directory itself are read.
    """

    __slots__ = ("_context", "_directory", "_documents", "_remaining", "_root")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._directory = (context.directory or Path()).resolve()
        parent = self._directory.parent
        self._root = self._directory if parent == parent.parent else parent
        self._documents: dict[Path, JsonValue | Missing] = {}
        self._remaining = MAX_ALL_BYTES

    def document(self, named: Located) -> JsonValue | Missing:
        """Return the JSON in a file, or its text if it is not JSON.

        An unreadable file is a problem and gives `MISSING`.
        """
        name = named.value
        if not isinstance(name, str) or not name or "\0" in name:
            self._context.add(f"expected a file name, got {describe(name)}", named.location)
            return MISSING
        path = (self._directory / name).resolve()
        windows = PureWindowsPath(name)
        is_absolute = Path(name).is_absolute() or bool(windows.drive or windows.root)
        if is_absolute or not path.is_relative_to(self._root):
            hint = "move it to the directory of the eval file or to its parent directory"
            message = f"{name!r} is outside the parent directory of the eval file's directory"
            self._context.add(message, named.location, hint)
            return MISSING
        if not path.is_file():
            self._context.add(f"{name!r} not found", named.location)
            return MISSING
        if path not in self._documents:
            self._documents[path] = self._read(path, named)
        return self._documents[path]

    def _read(self, path: Path, named: Located) -> JsonValue | Missing:
        try:
            text = load_text(path, MAX_BYTES)
        except ConfigError as error:
            for problem in error.problems:
                message = f"{named.value}: {problem.message}"
                self._context.add(message, named.location, problem.hint)
            return MISSING
        self._remaining -= len(text.encode())
        if self._remaining < 0:
            message = f"the files of all cases exceed the limit of {MAX_ALL_BYTES:,} bytes"
            self._context.add(message, named.location)
            return MISSING
        try:
            return parse_json(text).value
        except ConfigError:
            return text
