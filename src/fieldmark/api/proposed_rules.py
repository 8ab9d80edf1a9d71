"""Proposed rules, as data that other functions accept and as the text of a rules file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fieldmark.config.proposal import proposed_rules, render_proposal
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.plan.proposals import InferredRule
from fieldmark.store.disk import write_atomic
from fieldmark.values.text import plural

__all__ = ["ProposedRules"]


class ProposedRules(Mapping[str, JsonValue]):
    """Proposed rules: a mapping that other functions accept as `rules`.

    Its text is a rules file with a reason for each rule. `source` is what the rules are proposed
    from, and `warnings` are about what is left to the defaults.
    """

    __slots__ = ("_content", "_rules", "is_from_schema", "source", "warnings")

    def __init__(
        self,
        rules: Sequence[InferredRule],
        source: str,
        warnings: Sequence[str] = (),
        *,
        is_from_schema: bool,
    ) -> None:
        self.is_from_schema = is_from_schema
        self._rules = tuple(rules)
        self._content: JsonObject = proposed_rules(self._rules)
        self.source = source
        self.warnings = tuple(warnings)

    def __getitem__(self, key: str) -> JsonValue:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __str__(self) -> str:
        return render_proposal(self._rules, source=self.source, warnings=self.warnings)

    @property
    def reasons(self) -> JsonObject:
        """The reason for each rule, by path."""
        return {each.path: each.reason for each in self._rules}

    def __repr__(self) -> str:
        return f"<ProposedRules from {self.source}: {plural(len(self._rules), 'rule')}>"

    def save(self, path: str | Path) -> None:
        """Write the rules file; an existing file is replaced."""
        write_atomic(Path(path), str(self).encode("utf-8", "replace"))
