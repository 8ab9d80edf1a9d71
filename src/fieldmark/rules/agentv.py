"""Convert AgentV eval files, both early versions and 4.x, to native eval files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fieldmark import registry
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.registry import Plugin
from fieldmark.rules.config_files import MAX_BYTES, load_file, load_text, parse_json
from fieldmark.rules.config_values import Context, Located, constant, located_list
from fieldmark.rules.evaluator_settings import read_evaluators
from fieldmark.rules.target_settings import case_id
from fieldmark.values.text import did_you_mean, plural
from fieldmark.values.value_types import describe

if TYPE_CHECKING:
    from ruamel.yaml.nodes import ScalarNode

MAX_ALL_BYTES: Final = 64_000_000
_EXPECTED: Final = ("expected_output", "expected_messages")
_INPUT: Final = ("input", "input_messages")
_CRITERIA: Final = ("criteria", "expected_outcome")


# --- keys -----------------------------------------------------------------------------------------


class Era(StrEnum):
    """The key of the cases, which identifies the version.

    In early versions, the graders of a case replace the graders of the file; in 4.x they are added.
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
    cases = [converter.convert(case) for case in _case_objects(located, context)]
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
    listed_cases = located.first_of(*Era)
    if listed_cases is None:
        return ()
    if not isinstance(listed_cases.value, list) or not listed_cases.items:
        hint = "cases in separate files are not supported; move them to this file"
        shown = "an empty list" if listed_cases.value == [] else describe(listed_cases.value)
        context.add(f"expected a list of cases, got {shown}", listed_cases.location, hint)
        return ()
    for case in listed_cases.items:
        if not isinstance(case.value, dict):
            context.add(f"case: expected an object, got {describe(case.value)}", case.location)
    return [case for case in listed_cases.items if isinstance(case.value, dict)]


# --- keys that suites and cases share -------------------------------------------------------------


def _text(located: Located, key: str) -> str:
    text = located.value_of(key)
    return text if isinstance(text, str) else ""


def _metadata(located: Located) -> JsonObject:
    metadata = located.value_of("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _tags(located: Located) -> list[JsonValue]:
    tags = located.get("tags")
    items = () if tags is None else tags.items or (tags,)
    return [item.value for item in items if isinstance(item.value, str)]


def _read_graders(located: Located, context: Context) -> Graders:
    """Read the graders of a suite or a case; in early versions they are in `execution`."""
    execution = located.get("execution")
    if execution is not None:
        _check_keys(execution, _EXECUTION_KEYS, context, within="execution.")
    listed_graders = located.first_of("assertions", "assert")
    if listed_graders is None and execution is not None:
        listed_graders = execution.first_of("evaluators", "assertions", "assert")
    return read_graders(listed_graders or located.get("evaluators"), context)


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
        identifier = located.entries.get("id", Located(value=None, location=location))
        name = case_id(identifier.value) or ""
        if not name:
            message = "case: 'id' is required"
            if "id" in located.entries:
                message = f"id: expected a string, got {describe(identifier.value)}"
            context.add(message, identifier.location)
        elif name in self._ids:
            hint = f"first defined at line {self._ids[name].line}"
            context.add(f"duplicate case id {name!r}", location, hint)
        # A case with an invalid id gets another id, so that its other keys are checked.
        unique = f"{name}#{len(self._ids)}" if not name or name in self._ids else name
        self._ids[unique] = location
        question = _case_value(located, _INPUT)
        input_files = located.get("input_files") or self._suite.get("input_files")
        files = _json_files(question, input_files)
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
        self.required |= dict.fromkeys(
            grader_name for source in sources for grader_name in source.required()
        )
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
                "metadata": _case_metadata(located, graders, input_files) or MISSING,
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
    own = located.first_of(*keys)
    return inner.first_of(*keys) if own is None and inner is not None else own


def _case_metadata(located: Located, graders: Graders, input_files: Located | None) -> JsonObject:
    """Return the metadata of a case, and the parts that only the requests of judges contain."""
    own = located.first_of(*_CRITERIA)
    texts = [*(() if own is None else (own,)), *graders.criteria]
    criteria = "\n".join(text.value.strip() for text in texts if isinstance(text.value, str))
    conversation = located.get("conversation_id")
    return {
        **_metadata(located),
        **({"criteria": criteria} if criteria else {}),
        **({} if input_files is None else {"input_files": input_files.value}),
        **({} if conversation is None else {"conversation_id": conversation.value}),
    }


# --- documents in messages ------------------------------------------------------------------------


def _json_files(question: Located | None, more: Located | None) -> list[Located]:
    """Return the distinct JSON files that an input names, in its messages or in `input_files`."""
    messages = () if question is None else question.items or (question,)
    contents = [message.entries["content"] for message in messages if "content" in message.entries]
    names = [name for content in contents for name in _files_in(content)]
    names += () if more is None else more.items
    texts = [name for name in names if isinstance(name.value, str)]
    json = {name.value: name for name in texts if str(name.value).lower().endswith(".json")}
    return list(json.values())


def _expected_document(answer: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document in the last assistant message, or in the value itself."""
    if not any("role" in part.entries for part in (answer, *answer.items[:1])):
        return _document(answer, fixtures)
    for message in reversed(answer.items or (answer,)):
        if message.value_of("role") == "assistant" and "content" in message.entries:
            return _document(message.entries["content"], fixtures)
    return MISSING


def _document(content: Located, fixtures: Fixtures) -> JsonValue | Missing:
    """Return the document that the content names or contains; other text is not changed."""
    text = content.value
    if content.items and all(part.value_of("type") in ("file", "text") for part in content.items):
        named = next(_files_in(content), None)
        if named is not None:
            return fixtures.document(named)
        texts = (part.value_of("value") for part in content.items)
        text = "\n".join(part for part in texts if isinstance(part, str))
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
            self._documents[path] = self._read_file(path, named)
        return self._documents[path]

    def _read_file(self, path: Path, named: Located) -> JsonValue | Missing:
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


# --- graders --------------------------------------------------------------------------------------

_COMMANDS: Final = ("script", "command")
_CODE: Final = frozenset({"code", "code_judge", "code_grader", "script", "script_grader"})
_SHELL_CHARACTERS: Final = frozenset("|&;<>$`\n")
_SCRIPT_SUFFIXES: Final = frozenset({".ts", ".mts", ".js", ".mjs", ".cjs", ".py", ".sh", ".rb"})
_USE_OWN_JUDGE: Final = "remove it, or use your own judge: type: code_judge with script: [...]"
_UNSUPPORTED: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(
        (
            "llm_judge", "llm_grader", "llm_rubric", "rubric", "rubrics", "g_eval", "agent_judge",
            "agent_rubric", "similar", "factuality",
        ),
        (
            "uses AgentV's own prompts for a language model",
            "remove it, import the file, and add an evaluator with type: llm_judge",
        ),
    ),
    **dict.fromkeys(
        (
            "latency", "cost", "token_usage", "execution_metrics", "tool_trajectory",
            "trigger_judge", "skill_trigger", "skill_used",
        ),
        (
            "measures the run of an agent",
            "remove it: predictions are read from files, and no agent is run",
        ),
    ),
    **dict.fromkeys(
        (
            "contains", "contains_any", "contains_all", "icontains", "icontains_any",
            "icontains_all", "starts_with", "ends_with", "equals", "regex",
        ),
        (
            "checks text, and fieldmark compares fields",
            "use type: field_accuracy with match: exact, contains or regex for a field",
        ),
    ),
}  # fmt: skip
"""Unsupported types of graders, with the reason and what to do instead."""
_UNSUPPORTED_KEYS: Final[Mapping[str, str]] = {
    "target": "it gives the script access to a language model",
    "provider": "it gives the script access to a language model",
    "preprocessors": "they change the prediction before it is graded",
}
"""Unsupported keys of code graders, with the reason."""
_DEFAULT_MIN_SCORE: Final = 0.8
_MEMBERS: Final = ("assertions", "assert", "evaluators")


class Grader(NamedTuple):
    """One entry of `evaluators`, whether it compares only strings, and whether it must pass."""

    entry: Located
    text_only: bool = False
    required: bool = False


class Graders(NamedTuple):
    """The graders of a file or a case, and criteria in text form, which are not graded.

    `written` counts all graders, including unsupported ones.
    """

    graders: tuple[Grader, ...] = ()
    criteria: tuple[Located, ...] = ()
    written: int = 0

    def evaluators(self, location: Location) -> Located | Missing:
        """Return the list of `evaluators`, or `MISSING` if it is empty."""
        entries = [grader.entry for grader in self.graders]
        return located_list(entries, location) if entries else MISSING

    def required(self) -> tuple[str, ...]:
        """Return the names of the graders that must pass."""
        return tuple(
            str(grader.entry.value_of("name")) for grader in self.graders if grader.required
        )


def read_graders(located: Located | None, context: Context) -> Graders:
    """Convert all supported graders; unsupported graders are problems."""
    if located is None:
        return Graders()
    if not isinstance(located.value, list):
        message = f"expected a list of graders, got {describe(located.value)}"
        context.add(message, located.location)
        return Graders()
    graders = [_grader(item, context) for item in located.items if not isinstance(item.value, str)]
    return Graders(
        tuple(grader for grader in graders if grader is not None),
        tuple(item for item in located.items if isinstance(item.value, str)),
        len(graders),
    )


def _grader(located: Located, context: Context) -> Grader | None:
    kind = located.get("type")
    if kind is None or not isinstance(kind.value, str):
        hint = "for example {name: header, type: field_accuracy, fields: […]}"
        context.add("grader: 'type' is required", located.location, hint)
        return None
    entries = dict(located.entries)
    metric = entries.pop("metric", None)  # the name, in later versions
    name = entries.pop("name", metric)
    named = located.with_entries(entries if name is None else {"name": name, **entries})
    verdict = _read_verdict_keys(named, context)
    if verdict is None:
        return None
    named, required = verdict
    grader = _converted(named, kind, kind.value.replace("-", "_"), context)
    return None if grader is None else grader._replace(required=required)


_SETTINGS: Final[Mapping[str, Mapping[str, JsonValue]]] = {
    # AgentV does not count values that the ground truth lacks as misses.
    "field_accuracy": {"absent_truth": "skip"},
}
"""Options of evaluators that AgentV files do not have, where AgentV differs from the default."""


def _converted(located: Located, kind: Located, word: str, context: Context) -> Grader | None:
    """Convert a grader by its type, written with underscores."""
    if word in _CODE:
        return _code_grader(located, context)
    if word in ("composite", "assert_set"):
        return _composite(located, context, is_set=word == "assert_set")
    if word == "is_json":
        entries = {key: value for key, value in located.entries.items() if key != "value"}
        schema = located.get("value") or located.with_entries({})
        return Grader(_with_type(located, "json_schema", {**entries, "schema": schema}))
    known = registry.canonical(Plugin.EVALUATORS, word)
    if known is not None and word not in _UNSUPPORTED:
        settings = {
            name: constant(value, located.location)
            for name, value in _SETTINGS.get(known, {}).items()
        }
        return Grader(_with_type(located, known, {**settings, **located.entries}))
    if word in _UNSUPPORTED:
        reason, hint = _UNSUPPORTED[word]
        context.add(f"unsupported grader {kind.value!r}: it {reason}", kind.location, hint)
    else:
        words = [*registry.names(Plugin.EVALUATORS), *_CODE, *_UNSUPPORTED, "assert_set", "is_json"]
        hint = did_you_mean(word, words) or _USE_OWN_JUDGE
        context.add(f"unknown grader {kind.value!r}", kind.location, hint)
    return None


def _read_verdict_keys(located: Located, context: Context) -> tuple[Located, bool] | None:
    """Replace `required` and `min_score` by `pass_threshold`, and return whether it must pass.

    A number as `required` is also the lowest score that passes, as in early versions.
    """
    entries, before = dict(located.entries), len(context.problems)
    negate, required = entries.pop("negate", None), entries.pop("required", None)
    min_score = entries.pop("min_score", None)
    if negate is not None and negate.value is not False:
        hint = "remove it, or use your own judge that returns 1 minus the score"
        context.add("negate is not supported: scores are never inverted", negate.location, hint)
    is_flag = required is None or isinstance(required.value, bool)
    if not is_flag and min_score is None:
        min_score = required
    if min_score is not None:
        number = min_score.value
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 1:
            message = f"expected a score above 0 and up to 1, got {describe(number)}"
            context.add(message, min_score.location)
        if "pass_threshold" in entries:
            message = "a minimum score and pass_threshold cannot be combined"
            context.add(message, min_score.location, "remove one of them")
        entries["pass_threshold"] = min_score
    must_pass = required is not None and required.value is not False
    if required is not None and must_pass:
        entries.setdefault("pass_threshold", constant(_DEFAULT_MIN_SCORE, required.location))
        if not isinstance(located.value_of("name"), str):
            context.add("a required grader must have a name", required.location)
        message = "required: a case that fails this grader keeps its score; AgentV sets it to 0"
        context.warn(message, required.location, "a gate fails the run instead")
    return None if len(context.problems) > before else (located.with_entries(entries), must_pass)


def _composite(located: Located, context: Context, *, is_set: bool) -> Grader | None:
    """Convert a composite, or an assert-set, whose `threshold` is the lowest score that passes."""
    before, entries = len(context.problems), dict(located.entries)
    key_of_members = next((key for key in _MEMBERS if key in entries), None)
    if key_of_members is None:
        hint = "for example assertions: [{name: header, type: field_accuracy, fields: […]}]"
        context.add("composite: a list of graders is required", located.location, hint)
        return None
    listed_members = entries.pop(key_of_members)
    members = read_graders(listed_members, context)
    for text in members.criteria:
        message = "composite: text for a language model cannot be graded"
        context.add(message, text.location, "remove it")
    for member in members.graders:
        if member.required:
            message = "required is not supported in a composite: gates use its score as a whole"
            context.add(message, member.entry.location, "make the composite required")
    if is_set and "threshold" in entries:
        entries["pass_threshold"] = entries.pop("threshold")
    evaluators = [member.entry for member in members.graders]
    aggregator = entries.get("aggregator")
    if aggregator is not None and isinstance(aggregator.value, dict):
        options = dict(aggregator.entries)
        kind = str(options.pop("type", constant("weighted_average", located.location)).value)
        entries["aggregator"] = constant(kind, aggregator.location)
        if kind == "weighted_average":
            evaluators = _weighted(evaluators, options.pop("weights", None), context)
        elif kind == "threshold" and "threshold" in options:
            entries["threshold"] = options.pop("threshold")
        elif kind != "threshold":
            message = f"unsupported aggregator {kind!r}: it runs a script or a language model"
            hint = "use weighted_average or threshold"
            context.add(message, aggregator.location, hint)
            options.clear()
        for key in options:
            context.add(f"unknown key {key!r}", aggregator.key_location(key))
    if len(context.problems) > before:
        return None
    entries["evaluators"] = located_list(evaluators, listed_members.location)
    text_only = any(member.text_only for member in members.graders)
    return Grader(_with_type(located, "composite", entries), text_only)


def _weighted(members: list[Located], weights: Located | None, context: Context) -> list[Located]:
    """Return the members of a composite with the weights of its aggregator."""
    weights_by_name = {} if weights is None else weights.entries
    names = [str(member.value_of("name")) for member in members]
    for name in weights_by_name.keys() - set(names):
        message = f"weights: unknown grader {name!r}"
        context.add(message, weights_by_name[name].location, did_you_mean(name, names))
    return [
        member.with_entries({**member.entries, "weight": weights_by_name[name]})
        if name in weights_by_name
        else member
        for member, name in zip(members, names, strict=True)
    ]


def _with_type(located: Located, kind: str, entries: Mapping[str, Located]) -> Located:
    location = entries["type"].location
    return located.with_entries({**entries, "type": constant(kind, location)})


def _code_grader(located: Located, context: Context) -> Grader | None:
    command = located.first_of(*_COMMANDS)
    words = None if command is None else _words(command)
    if command is None or not words:
        location = located.location if command is None else command.location
        hint = "commands run without a shell; for example script: [python, judge.py]"
        context.add("grader: a valid command is required", location, hint)
        return None
    entries = {key: value for key, value in located.entries.items() if key not in _COMMANDS}
    for key in _UNSUPPORTED_KEYS.keys() & entries.keys():
        message = f"{key} of a grader is not supported: {_UNSUPPORTED_KEYS[key]}"
        context.add(message, located.key_location(key), "remove it")
        return None
    cwd = located.value_of("cwd")
    directory = (context.directory or Path()) / (cwd if isinstance(cwd, str) else "")
    missing = [
        name
        for name in _script_names(words)
        if "\0" not in f"{directory}{name}" and not (directory / name).is_file()
    ]
    known = counterpart(missing)
    if known is not None:
        message = f"script {', '.join(missing)} not found"
        hint = f"the built-in evaluator {known.type} replaces it"
        context.warn(message, command.location, hint)
        without_cwd = {key: value for key, value in entries.items() if key != "cwd"}
        settings = known.settings(located.with_entries(without_cwd))
        return Grader(_with_type(located, known.type, settings), known.text_only)
    # A missing script is reported once here instead of for every case.
    for name in missing:
        if PurePosixPath(name).is_absolute():
            continue
        scripts = ", ".join(COUNTERPARTS)
        hint = f"set script: to your own judge; built-in scripts: {scripts}"
        context.add(f"script {name} not found", command.location, hint)
        return None
    script = constant([*words], command.location)
    return Grader(_with_type(located, "code_judge", {**entries, "script": script}))


def _words(command: Located) -> Sequence[str] | None:
    """Split a command into words; `None` if it requires a shell."""
    if isinstance(command.value, str):
        if _SHELL_CHARACTERS & set(command.value):
            return None
        try:
            return shlex.split(command.value)
        except ValueError:
            return None
    words = [item.value for item in command.items if isinstance(item.value, str)]
    return words if len(words) == len(command.items) else None


def _script_names(words: Iterable[str]) -> Iterable[str]:
    slashed = (word.replace("\\", "/") for word in words)
    return (word for word in slashed if PurePosixPath(word).suffix in _SCRIPT_SUFFIXES)


# --- AgentV's own grader scripts ------------------------------------------------------------------

_FUZZY: Final = "fuzzy"
_THRESHOLD: Final = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """The evaluator that replaces a script, and the conversion of its settings.

    With `text_only`, it compares only strings.
    """

    type: str
    settings: Callable[[Located], Mapping[str, Located]]
    text_only: bool = False


def counterpart(words: Iterable[str]) -> Counterpart | None:
    """Return the evaluator that replaces a missing script, if it is a script of AgentV.

    >>> counterpart(["../judges/line_item_matching.ts"]).type
    'line_items'
    """
    stems = (PurePosixPath(name).stem for name in _script_names(words))
    return next((COUNTERPARTS[stem] for stem in stems if stem in COUNTERPARTS), None)


def _fuzzy_fields(grader: Located) -> Mapping[str, Located]:
    """Compare each field with `fuzzy`, with its own threshold or the common one."""
    entries = dict(grader.entries)
    defaults = {
        "match": constant(_FUZZY, grader.location),
        "threshold": entries.pop("threshold", constant(_THRESHOLD, grader.location)),
        **{key: entries.pop(key) for key in ("algorithm",) if key in entries},
    }
    fields = entries.get("fields")
    if fields is not None:
        compared = []
        for field in fields.items:
            unset = {key: value for key, value in defaults.items() if key not in field.entries}
            compared.append(
                field.with_entries({**field.entries, **unset}) if field.entries else field
            )
        entries["fields"] = located_list(compared, fields.location)
    return entries


def _paired_rows(grader: Located) -> Mapping[str, Located]:
    """Compare the rows at `line_items_path`; three fields are scored by default."""
    entries = dict(grader.entries)
    if "line_items_path" in entries:
        entries["path"] = entries.pop("line_items_path")
    scored = constant(["description", "quantity", "line_total"], grader.location)
    return {**entries, "score_fields": entries.get("score_fields", scored)}


def _whole_text(grader: Located) -> Mapping[str, Located]:
    """Compare the prediction as one string."""
    rule = {
        "path": constant("$", grader.location),
        "match": constant(_FUZZY, grader.location),
        "threshold": constant(_THRESHOLD, grader.location),
    }
    fields = located_list([grader.with_entries(rule)], grader.location)
    return {**grader.entries, "fields": fields}


COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "header_confusion_metrics": Counterpart(
        type="field_confusion", settings=lambda grader: grader.entries
    ),
    "line_item_matching": Counterpart(type="line_items", settings=_paired_rows),
    "multi_field_fuzzy": Counterpart(type="field_confusion", settings=_fuzzy_fields),
    "fuzzy_match": Counterpart(type="field_accuracy", settings=_whole_text, text_only=True),
}
"""Scripts by name, without directory and extension, which differ between versions."""


# --- import ---------------------------------------------------------------------------------------


class ImportedSuite(NamedTuple):
    """The text of a native eval file, the number of its cases, and warnings."""

    text: str
    cases: int
    warnings: tuple[Problem, ...]


def import_agentv(path: Path | str) -> ImportedSuite:
    """Convert an AgentV file; the documents of its cases are included."""
    file = str(path)
    located = load_file(path)
    if not is_agentv(located):
        hint = f"expected the key {' or '.join(map(repr, map(str, Era)))}"
        raise ConfigError.of("not an AgentV eval file", Location(file), hint)
    context = Context(directory=Path(path).parent)
    native, without_candidate = convert_suite(located, context)
    cases = native.entries["cases"].items
    for evaluators in (owner.get("evaluators") for owner in (native, *cases)):
        if evaluators is None:
            continue
        read_evaluators(evaluators, context)
        for script in _scripts(evaluators):
            message = "script paths are relative to the directory of the eval file"
            context.warn(message, script.location, "save the new file in the same directory")
    for missing in without_candidate:
        context.warn(missing.message, missing.location)
    context.problems.raise_any()
    text = yaml_text(cast("JsonObject", native.value))
    if len(text.encode()) > MAX_BYTES:
        hint = "run it without converting it, or move its cases to a JSONL file"
        message = f"the converted file exceeds the limit of {MAX_BYTES:,} bytes"
        raise ConfigError.of(message, Location(file), hint)
    return ImportedSuite(text, len(cases), context.problems.warnings)


def _scripts(evaluators: Located) -> Iterator[Located]:
    """Yield the scripts of evaluators, also of evaluators in composites."""
    for entry in evaluators.items:
        if "script" in entry.entries:
            yield entry.entries["script"]
        if "evaluators" in entry.entries:
            yield from _scripts(entry.entries["evaluators"])


# --- writing YAML ---------------------------------------------------------------------------------

_PLAIN: Final = re.compile(r"[A-Za-z_](?:[\w .,/()&+'$-]*[\w.)$])?", re.ASCII)
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML parsers do not read as strings."""
_LINE: Final = r"[!-~\xa1-\u167f](?:[ -~\xa1-\u167f]*[!-~\xa1-\u167f])?"
_BLOCK: Final = re.compile(rf"(?:{_LINE}\n)+(?:{_LINE})?")
"""Lines that start and end with a visible character."""
_NO_WRAPPING: Final = 1_000_000_000


def yaml_text(value: JsonObject) -> str:
    """Write an object as readable YAML, without folded lines and aliases.

    >>> print(yaml_text({"total": 10, "id": "007", "notes": None}), end="")
    total: 10
    id: "007"
    notes: null
    """
    # Importing the YAML library takes longer than reading most files.
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """Quotes strings that a parser could misread, and uses no aliases."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the library's signature
            return True

        def represent_text(self, data: str) -> ScalarNode:
            is_plain = _PLAIN.fullmatch(data) and data.lower() not in _NOT_PLAIN
            quoted = "|" if _BLOCK.fullmatch(data) else '"'
            style = None if is_plain else quoted
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

        def represent_null(self, data: None) -> ScalarNode:  # noqa: ARG002
            return self.represent_scalar("tag:yaml.org,2002:null", "null")

    Representer.add_representer(str, Representer.represent_text)
    Representer.add_representer(type(None), Representer.represent_null)

    writer = YAML()
    writer.Representer = Representer
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.width = _NO_WRAPPING
    stream = StringIO()
    writer.dump(value, stream)
    return stream.getvalue()
