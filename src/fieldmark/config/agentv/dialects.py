"""The keys of AgentV's eval files: which are read, which are dropped, and which tell an era."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.located import Located
from fieldmark.values.text import did_you_mean

__all__ = ["CASE", "EXECUTION", "SUITE", "Era", "Level", "check_keys", "era_of", "first_of"]

_NATIVE: Final = "cases"


class Era(StrEnum):
    """The two ways in which a case's graders stand to those of the file, by the key of its cases.

    Up to the design era they replaced them; since 4.x they join them.
    """

    DESIGN = "evalcases"
    LATER = "tests"


def era_of(located: Located) -> Era | None:
    """Which of AgentV's files this is, if it is one."""
    if not isinstance(located.value, dict) or _NATIVE in located.entries:
        return None
    return next((era for era in Era if era in located.entries), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What one kind of object in a file may hold.

    Keys that are `read` mean something here. `labels` change nothing and are dropped in silence;
    `dropped` have meant something to AgentV, so whoever wrote them is told why they do not count.
    """

    read: frozenset[str]
    labels: frozenset[str] = frozenset()
    dropped: Mapping[str, str] = field(default_factory=dict)


_GRADERS: Final = frozenset({"assertions", "assert", "evaluators"})
_LABELS: Final = frozenset({"$schema", "version", "author", "license", "category", "suite"})
_NO_AGENT: Final = "No agent is run: a case's candidate is the JSON file that its input names."
_AGENT: Final = dict.fromkeys(
    ("target", "targets", "provider", "providers", "prompts", "workspace"), _NO_AGENT
)

SUITE: Final = Level(
    read=_GRADERS
    | {"name", "description", "evalcases", "tests", "execution", "input_files", "metadata", "tags"},
    labels=_LABELS,
    dropped=_AGENT,
)
EXECUTION: Final = Level(read=_GRADERS | {"skip_defaults"}, dropped=_AGENT)
CASE: Final = Level(
    read=_GRADERS
    | {
        "id", "conversation_id", "criteria", "expected_outcome", "expected_messages",
        "expected_output", "input_messages", "input", "input_files", "execution", "metadata",
        "tags", "vars",
    },
    labels=_LABELS | {"description", "note", "notes"},
    dropped=_AGENT,
)  # fmt: skip


def check_keys(located: Located, level: Level, context: Context, *, within: str = "") -> None:
    """Tell of each key that is not read; one that looks like a slip is a problem.

    AgentV itself ignores keys that it does not know, so others are no more than odd.
    """
    for key in located.entries:
        if key in level.read or key in level.labels:
            continue
        place = located.key_location(key)
        meant = did_you_mean(key, level.read)
        if key in level.dropped:
            context.warn(f"{within}{key} is not used.", place, level.dropped[key])
        elif meant:
            context.add(f"Unknown key: {key}.", place, meant)
        else:
            context.warn(f"{within}{key} is not used.", place)


def first_of(located: Located, *keys: str) -> Located | None:
    """The value of the first of some keys that is there."""
    return next((located.entries[key] for key in keys if key in located.entries), None)
