"""Turns a grader of AgentV into the entry of an eval file that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.located import Located, constant, describe, located_list
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean

__all__ = [
    "COUNTERPARTS",
    "Counterpart",
    "Grader",
    "Graders",
    "counterpart",
    "file_names",
    "read_graders",
]

_COMMANDS: Final = ("script", "command")
_CODE: Final = frozenset({"code", "code_judge", "code_grader", "script", "script_grader"})
_SHELL_SIGNS: Final = frozenset("|&;<>$`\n")
_MODEL: Final = "asks a language model with AgentV's own prompts, which are not read here"
_RUN: Final = "measures the agent's run, and only its answer is known here"
_TEXT: Final = "checks the answer as text, and here its fields are compared"
_JOINED: Final = "combines graders in a way of AgentV's own, which is not read here"
_BY_FAMILY: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "llm_judge", "llm_grader", "llm_rubric", "rubric", "rubrics", "g_eval", "agent_judge",
            "agent_rubric", "similar", "factuality",
        ),
        _MODEL,
    ),
    **dict.fromkeys(
        (
            "latency", "cost", "token_usage", "execution_metrics", "tool_trajectory",
            "trigger_judge", "skill_trigger", "skill_used",
        ),
        _RUN,
    ),
    **dict.fromkeys(
        (
            "contains", "contains_any", "contains_all", "icontains", "icontains_any",
            "icontains_all", "starts_with", "ends_with", "equals", "regex", "is_json",
        ),
        _TEXT,
    ),
    **dict.fromkeys(("composite", "assert_set"), _JOINED),
}  # fmt: skip
_YOUR_OWN: Final = (
    "Take it out, or let a judge of yours do it: type: code_judge with script: [...]."
)


class Grader(NamedTuple):
    """One entry of `evaluators`, and whether it can compare nothing but texts."""

    entry: Located
    text_only: bool = False


class Graders(NamedTuple):
    """The graders of a file or a case, and what it says in words for a model to check.

    `written` counts all of them, those too that cannot work here.
    """

    graders: tuple[Grader, ...] = ()
    criteria: tuple[Located, ...] = ()
    written: int = 0


def read_graders(located: Located | None, context: Context) -> Graders:
    """Every grader that can work here; the others are problems."""
    if located is None:
        return Graders()
    if not isinstance(located.value, list):
        context.add(f"Not a list of graders: {describe(located.value)}.", located.location)
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
        hint = "A grader has a name and a type."
        context.add("A grader without a type.", located.location, hint)
        return None
    named = _named(located)
    word = kind.value.replace("-", "_")
    if word in _CODE:
        return _code(named, context)
    known = registry.canonical(Plugin.EVALUATORS, kind.value)
    if known is None or word in _BY_FAMILY:
        _refuse(kind, word, context)
        return None
    return Grader(named.with_entries({**named.entries, "type": constant(known, kind.location)}))


def _named(located: Located) -> Located:
    """The grader with its name first, whichever word the version has for it."""
    entries = dict(located.entries)
    metric = entries.pop("metric", None)
    name = entries.pop("name", metric)
    return located.with_entries(entries if name is None else {"name": name, **entries})


def _refuse(kind: Located, word: str, context: Context) -> None:
    reason = _BY_FAMILY.get(word)
    if reason is not None:
        context.add(f"{kind.value} {reason}.", kind.location, _YOUR_OWN)
        return
    known = [*registry.names(Plugin.EVALUATORS), *_CODE, *_BY_FAMILY]
    hint = did_you_mean(word, known) or _YOUR_OWN
    context.add(f"No such grader here: {kind.value}.", kind.location, hint)


def _code(located: Located, context: Context) -> Grader | None:
    given = next((located.entries[key] for key in _COMMANDS if key in located.entries), None)
    words = None if given is None else _words(given)
    if given is None or not words:
        place = located.location if given is None else given.location
        hint = "Write script: [python, judge.py]; there is no shell to read it."
        context.add("The grader has no command that can be run.", place, hint)
        return None
    entries = {key: value for key, value in located.entries.items() if key not in _COMMANDS}
    known = counterpart(words)
    if known is not None:
        kept = {key: value for key, value in entries.items() if key != "cwd"}
        settings = known.settings(located.with_entries(kept))
        return Grader(_typed(located, known.type, settings), known.text_only)
    if _is_lost(words, given, context):
        return None
    script = located_list((constant(word, given.location) for word in words), given.location)
    return Grader(_typed(located, "code_judge", {**entries, "script": script}))


def _typed(located: Located, kind: str, entries: Mapping[str, Located]) -> Located:
    """The entry with another type."""
    return located.with_entries({**entries, "type": constant(kind, entries["type"].location)})


def _words(given: Located) -> Sequence[str] | None:
    """A command as its words; a line that only a shell could read is none."""
    if isinstance(given.value, str):
        if _SHELL_SIGNS & set(given.value):
            return None
        try:
            return shlex.split(given.value)
        except ValueError:
            return None
    words = [item.value for item in given.items if isinstance(item.value, str)]
    return words if len(words) == len(given.items) else None


def _is_lost(words: Sequence[str], given: Located, context: Context) -> bool:
    """Whether the script lies nowhere near the file: then say so now, not once for every case."""
    folder = context.folder or Path()
    for name in file_names(words):
        path = PurePosixPath(name)
        if path.is_absolute() or "\0" in name or (folder / path).is_file():
            continue
        known = ", ".join(COUNTERPARTS)
        hint = f"Point script: to a judge of yours. Scripts that need none here: {known}."
        context.add(f"The script {name} is not here.", given.location, hint)
        return True
    return False


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
    settings: Callable[[Located], Mapping[str, Located]]
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


def _as_written(grader: Located) -> Mapping[str, Located]:
    return grader.entries


def _alike_fields(grader: Located) -> Mapping[str, Located]:
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
            each.with_entries(_ordered(each.entries, usual)) if each.entries else each
            for each in fields.items
        ]
        entries["fields"] = located_list(compared, fields.location)
    return entries


def _ordered(own: Mapping[str, Located], usual: Mapping[str, Located]) -> Mapping[str, Located]:
    """A field's own settings first, then the usual ones that it lacks."""
    return {**own, **{key: value for key, value in usual.items() if key not in own}}


def _paired_items(grader: Located) -> Mapping[str, Located]:
    """Rows below `line_items_path`, of which three fields are scored unless it says otherwise."""
    entries = dict(grader.entries)
    if "line_items_path" in entries:
        entries["path"] = entries.pop("line_items_path")
    return {**entries, **_unsaid(entries, "score_fields", _ITEM_FIELDS, grader)}


def _unsaid(
    entries: Mapping[str, Located], key: str, value: list[str], grader: Located
) -> Mapping[str, Located]:
    return {} if key in entries else {key: constant(list(value), grader.location)}


def _whole_text(grader: Located) -> Mapping[str, Located]:
    """The answer as one text."""
    rule = {
        "path": constant("$", grader.location),
        "match": constant(_FUZZY, grader.location),
        "threshold": constant(_THRESHOLD, grader.location),
    }
    return {**grader.entries, "fields": located_list([grader.with_entries(rule)], grader.location)}


COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "header_confusion_metrics": Counterpart(type="field_confusion", settings=_as_written),
    "line_item_matching": Counterpart(type="line_items", settings=_paired_items),
    "multi_field_fuzzy": Counterpart(type="field_confusion", settings=_alike_fields),
    "fuzzy_match": Counterpart(type="field_accuracy", settings=_whole_text, text_only=True),
}
"""Scripts by their name without folder and suffix, which have differed from version to version."""
