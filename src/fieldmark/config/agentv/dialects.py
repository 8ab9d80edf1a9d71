"""The keys of AgentV's eval files: which are read or ignored, and which tell the version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.located import Located
from fieldmark.values.text import did_you_mean

__all__ = ["CASE", "EXECUTION", "SUITE", "Era", "Level", "check_keys", "first_of", "is_agentv"]


class Era(StrEnum):
    """The key for the cases, which tells the version.

    Up to the design era, the graders of a case replace those of the file; since 4.x they are added.
    """

    DESIGN = "evalcases"
    LATER = "tests"


def is_agentv(located: Located) -> bool:
    """Whether a file is one of AgentV: its cases are called `evalcases` or `tests`."""
    return "cases" not in located.entries and any(era in located.entries for era in Era)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The keys of one kind of object.

    `labels` change nothing and are ignored silently; `dropped` keys have an effect in AgentV, so
    a warning says why they have none here.
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
    """Warn of each key that is not read; a likely typo is a problem.

    AgentV itself ignores unknown keys.
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
    """Return the value of the first of some keys that an object has."""
    return next((located.entries[key] for key in keys if key in located.entries), None)
