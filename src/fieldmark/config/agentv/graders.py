"""Turns a grader of AgentV into the entry of an eval file that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from fieldmark import registry
from fieldmark.config.agentv.scripts import COUNTERPARTS, counterpart, file_names
from fieldmark.config.agentv.shaping import constant, listed, with_entries
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.config.problems import did_you_mean
from fieldmark.registry import Plugin

__all__ = ["Grader", "Graders", "read_graders"]

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

    entry: Marked
    text_only: bool = False


class Graders(NamedTuple):
    """The graders of a file or a case, and what it says in words for a model to check.

    `written` counts all of them, those too that cannot work here.
    """

    graders: tuple[Grader, ...] = ()
    criteria: tuple[Marked, ...] = ()
    written: int = 0


def read_graders(marked: Marked | None, context: Context) -> Graders:
    """Every grader that can work here; the others are problems."""
    if marked is None:
        return Graders()
    if not isinstance(marked.value, list):
        context.problems.add(f"Not a list of graders: {describe(marked.value)}.", marked.location)
        return Graders()
    found = [_grader(each, context) for each in marked.items if not isinstance(each.value, str)]
    return Graders(
        tuple(grader for grader in found if grader is not None),
        tuple(each for each in marked.items if isinstance(each.value, str)),
        len(found),
    )


def _grader(marked: Marked, context: Context) -> Grader | None:
    kind = marked.entries.get("type")
    if kind is None or not isinstance(kind.value, str):
        hint = "A grader has a name and a type."
        context.problems.add("A grader without a type.", marked.location, hint)
        return None
    named = _named(marked)
    word = kind.value.replace("-", "_")
    if word in _CODE:
        return _code(named, context)
    known = registry.canonical(Plugin.EVALUATORS, kind.value)
    if known is None or word in _BY_FAMILY:
        _refuse(kind, word, context)
        return None
    return Grader(with_entries(named, {**named.entries, "type": constant(known, kind.location)}))


def _named(marked: Marked) -> Marked:
    """The grader with its name first, whichever word the version has for it."""
    entries = dict(marked.entries)
    metric = entries.pop("metric", None)
    name = entries.pop("name", metric)
    return with_entries(marked, entries if name is None else {"name": name, **entries})


def _refuse(kind: Marked, word: str, context: Context) -> None:
    reason = _BY_FAMILY.get(word)
    if reason is not None:
        context.problems.add(f"{kind.value} {reason}.", kind.location, _YOUR_OWN)
        return
    known = [*registry.names(Plugin.EVALUATORS), *_CODE, *_BY_FAMILY]
    hint = did_you_mean(word, known) or _YOUR_OWN
    context.problems.add(f"No such grader here: {kind.value}.", kind.location, hint)


def _code(marked: Marked, context: Context) -> Grader | None:
    given = next((marked.entries[key] for key in _COMMANDS if key in marked.entries), None)
    words = None if given is None else _words(given)
    if given is None or not words:
        place = marked.location if given is None else given.location
        hint = "Write script: [python, judge.py]; there is no shell to read it."
        context.problems.add("The grader has no command that can be run.", place, hint)
        return None
    entries = {key: value for key, value in marked.entries.items() if key not in _COMMANDS}
    known = counterpart(words)
    if known is not None:
        kept = {key: value for key, value in entries.items() if key != "cwd"}
        settings = known.settings(with_entries(marked, kept))
        return Grader(_typed(marked, known.type, settings), known.text_only)
    if _is_lost(words, given, context):
        return None
    script = listed((constant(word, given.location) for word in words), given.location)
    return Grader(_typed(marked, "code_judge", {**entries, "script": script}))


def _typed(marked: Marked, kind: str, entries: Mapping[str, Marked]) -> Marked:
    """The entry with another type."""
    return with_entries(marked, {**entries, "type": constant(kind, entries["type"].location)})


def _words(given: Marked) -> Sequence[str] | None:
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


def _is_lost(words: Sequence[str], given: Marked, context: Context) -> bool:
    """Whether the script lies nowhere near the file: then say so now, not once for every case."""
    folder = context.folder or Path()
    for name in file_names(words):
        path = PurePosixPath(name)
        if path.is_absolute() or "\0" in name or (folder / path).is_file():
            continue
        known = ", ".join(COUNTERPARTS)
        hint = f"Point script: to a judge of yours. Scripts that need none here: {known}."
        context.problems.add(f"The script {name} is not here.", given.location, hint)
        return True
    return False
