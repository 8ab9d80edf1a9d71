"""A finished run, as reports and exports show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import Attribute
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.manifest import Manifest, run_title
from fieldmark.values.text import plural

__all__ = ["ShownRun", "comparators_by_attribute", "gates_failed_first", "provider_names"]

_NO_VALUES: Final = ("case_id", "path", "decision", "by", "at", "problem")
"""The parts of a review that quote no value; a comment may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A finished run; each call of `cases` reads all cases from the start.

    `reviews` are the decisions of people on its fields, as JSON. `has_values` is false after
    `without_values`, and `label` is the name that a person gave the run.
    """

    name: str
    manifest: Manifest
    summary: Summary
    cases: Callable[[], Iterable[CaseResult]]
    attributes: Sequence[Attribute] = ()
    reviews: Sequence[JsonObject] = ()
    has_values: bool = True
    rule_facts: Callable[[Attribute], Sequence[tuple[str, str]]] | None = None
    label: str = ""

    @property
    def title(self) -> str:
        """The name of the run for people."""
        inputs = [source.name for source in self.manifest.inputs]
        return run_title(self.label, self.manifest.eval, inputs, self.name)

    def without_values(self) -> ShownRun:
        """Return the run with paths and scores, without anything that may quote a document.

        Options are removed from the manifest, because they may contain examples; of providers,
        the names and models remain. Warnings are only
        counted and classes of detected regions are removed, because both may contain values.
        """
        manifest, summary, cases = self.manifest, self.summary, self.cases
        hidden = len(summary.warnings)
        return replace(
            self,
            has_values=False,
            reviews=[
                {key: review[key] for key in _NO_VALUES if key in review} for review in self.reviews
            ],
            cases=lambda: (case.without_values() for case in cases()),
            manifest=Manifest(
                command=manifest.command,
                fieldmark=manifest.fieldmark,
                python=manifest.python,
                convention=manifest.convention,
                providers=tuple(map(_without_options, manifest.providers)),
                eval=manifest.eval,
                inputs=manifest.inputs,
                limits=manifest.limits,
                status=manifest.status,
                started_at=manifest.started_at,
                finished_at=manifest.finished_at,
            ),
            summary=replace(
                summary.without_classes(),
                warnings=(f"{plural(hidden, 'warning')} hidden, because warnings may quote values",)
                if hidden
                else (),
                structural_warnings=(),
                input_warnings=(),
            ),
        )


def _without_options(provider: JsonObject) -> JsonObject:
    options = provider.get("options")
    kept = {"model": options["model"]} if isinstance(options, dict) and "model" in options else {}
    return {"name": provider.get("name"), "options": kept}


def gates_failed_first(summary: Summary) -> list[GateResult]:
    """Return the gates of a run, failed gates first."""
    return sorted(summary.gates, key=lambda gate: gate.passed)


def comparators_by_attribute(attributes: Iterable[Attribute]) -> Mapping[str, str]:
    """Return the comparator of every attribute, or several if rules differ by position."""
    names_by_path: dict[str, dict[str, None]] = {}
    for attribute in attributes:
        names_by_path.setdefault(attribute.path, {})[attribute.comparator] = None
    return {path: ", ".join(names) for path, names in names_by_path.items()}


def provider_names(identities: Iterable[JsonObject]) -> list[str]:
    """Return the providers and judges of a manifest, with their models.

    >>> connection = {"name": "openai", "options": {"model": "judge-1", "task": "similarity"}}
    >>> provider_names([connection, {"name": "recorded", "options": {}}])
    ['openai judge-1', 'recorded']
    """
    names = []
    for identity in identities:
        options = identity.get("options")
        model = options.get("model") if isinstance(options, dict) else None
        names.append(" ".join(str(part) for part in (identity["name"], model) if part))
    return list(dict.fromkeys(names))
