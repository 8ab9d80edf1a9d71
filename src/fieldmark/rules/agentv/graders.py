"""Convert AgentV graders to entries of `evaluators`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from fieldmark import registry
from fieldmark.errors import Location
from fieldmark.model.json import MISSING, Missing
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context, Located, constant, located_list
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import describe

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
        return tuple(str(each.entry.value_of("name")) for each in self.graders if each.required)


def read_graders(located: Located | None, context: Context) -> Graders:
    """Convert all supported graders; the others are problems."""
    if located is None:
        return Graders()
    if not isinstance(located.value, list):
        message = f"expected a list of graders, got {describe(located.value)}"
        context.add(message, located.location)
        return Graders()
    found = [_grader(each, context) for each in located.items if not isinstance(each.value, str)]
    return Graders(
        tuple(grader for grader in found if grader is not None),
        tuple(each for each in located.items if isinstance(each.value, str)),
        len(found),
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


def _converted(located: Located, kind: Located, word: str, context: Context) -> Grader | None:
    """Convert a grader by its type, written with underscores."""
    if word in _CODE:
        return _code_grader(located, context)
    if word in ("composite", "assert_set"):
        return _composite(located, context, is_set=word == "assert_set")
    if word == "is_json":
        entries = {key: each for key, each in located.entries.items() if key != "value"}
        schema = located.get("value") or located.with_entries({})
        return Grader(_with_type(located, "json_schema", {**entries, "schema": schema}))
    known = registry.canonical(Plugin.EVALUATORS, word)
    if known is not None and word not in _UNSUPPORTED:
        return Grader(_with_type(located, known, located.entries))
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
    listed = next((key for key in _MEMBERS if key in entries), None)
    if listed is None:
        hint = "for example assertions: [{name: header, type: field_accuracy, fields: […]}]"
        context.add("composite: a list of graders is required", located.location, hint)
        return None
    given = entries.pop(listed)
    members = read_graders(given, context)
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
    entries["evaluators"] = located_list(evaluators, given.location)
    text_only = any(member.text_only for member in members.graders)
    return Grader(_with_type(located, "composite", entries), text_only)


def _weighted(members: list[Located], weights: Located | None, context: Context) -> list[Located]:
    """Return the members of a composite with the weights of its aggregator."""
    given = {} if weights is None else weights.entries
    names = {str(member.value_of("name")) for member in members}
    for name in given.keys() - names:
        message = f"weights: unknown grader {name!r}"
        context.add(message, given[name].location, did_you_mean(name, names))
    return [
        member.with_entries({**member.entries, "weight": given[name]}) if name in given else member
        for member in members
        for name in [str(member.value_of("name"))]
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
    known = counterpart(words)
    if known is not None:
        without_cwd = {key: value for key, value in entries.items() if key != "cwd"}
        settings = known.settings(located.with_entries(without_cwd))
        return Grader(_with_type(located, known.type, settings), known.text_only)
    # A missing script is reported once here instead of for every case.
    directory = context.directory or Path()
    for name in _script_names(words):
        if PurePosixPath(name).is_absolute() or "\0" in name or (directory / name).is_file():
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
    """Return the evaluator that replaces the script of a command, if it is a script of AgentV.

    >>> counterpart(["bun", "run", "../judges/line_item_matching.ts"]).type
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
        for each in fields.items:
            unset = {key: value for key, value in defaults.items() if key not in each.entries}
            compared.append(each.with_entries({**each.entries, **unset}) if each.entries else each)
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
