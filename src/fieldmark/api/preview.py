"""Show what other rules would change in a saved run, without a new run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked
from fieldmark.api.recount import RunLike, stored_run
from fieldmark.api.rescore import prepare_rules
from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Summary, summarize
from fieldmark.model.case import Case
from fieldmark.model.json import JsonValue
from fieldmark.model.outcomes import AttributeTable
from fieldmark.run.case_processor import GroupTotals
from fieldmark.run.run_options import complete_options
from fieldmark.run.session import Progress, run_session
from fieldmark.run.settings import RulesLike
from fieldmark.run.stored_cases import StoredPairs
from fieldmark.store.reader import StoredRun
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.rules_preview import AttributeChange, FieldChange, RulesPreview

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["PreviewResult", "preview_rules"]

_LIMIT: Final = 1000
_LIMIT_BYTES: Final = 16 << 20
"""The approximate size of the rows that are compared."""
_FEWEST: Final = 20
"""The smallest sample because of the size of cases."""
_EXAMPLES: Final = 50
_EXAMPLES_OF_CASE: Final = 5


@dataclass(frozen=True, kw_only=True, repr=False)
class PreviewResult(RulesPreview):
    """What other rules would change in a run."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.preview_view import preview_view

        return preview_view(self)


@checked
def preview_rules(
    run: RunLike,
    rules: RulesLike,
    *,
    convention: str | None = None,
    options: Mapping[str, JsonValue] | None = None,
    limit: int = _LIMIT,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> PreviewResult:
    """Compare the stored documents of a run with other rules, and return what would change.

    Nothing is saved; `rescore` with the same arguments makes the run. At most about `limit` cases
    are compared, and fewer if they are large: a random sample, always the same for a run, and the
    result says so. The metrics before and after are those of the same cases. Models are not called:
    only cached responses are used, and a field without one is an error.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 10}, {"total": 10.4})], out="run")
    >>> found = fm.preview_rules(run, {"total": {"match": "numeric_tolerance", "tolerance": 0.5}})
    >>> found.changed_fields, found.metrics["micro_f1"]
    (1, (0.0, 1.0))
    """
    if limit < 1:
        raise ConfigError.of(f"limit must be at least 1, got {limit}")
    stored = stored_run(run)
    numbers = _sample(stored, limit)
    run_options = complete_options(
        rules=rules,
        convention=convention,
        options=options,
        offline=True,
        allow_code=allow_code,
    )
    prepared, stream = prepare_rules(stored, run_options, numbers=numbers, keep=True)
    changes = _Changes(stream)
    result = run_session(prepared, run_options, progress=progress, observers=[changes.add])
    before, after = changes.summary_before(stored), result.summary
    hidden = (
        {"safety", "rqs"}
        if "safety" in after.flags and next(iter(after.metrics)) != "rqs"
        else set()
    )
    return PreviewResult(
        run=stored.path.name,
        cases=_rows(stored),
        compared=changes.compared,
        changed_cases=changes.cases,
        changed_fields=sum(changes.attributes.values()),
        metrics={
            name: (before.metrics.get(name), value)
            for name, value in after.metrics.items()
            if name not in hidden
        },
        attributes=tuple(
            AttributeChange(
                attribute=path,
                fields=number,
                before=_f1(before, path),
                after=_f1(after, path),
            )
            for path, number in changes.attributes.most_common()
        ),
        examples=tuple(changes.examples),
        errors=changes.errors,
        # That no document has a path is not known from a sample.
        warnings=() if numbers is not None else after.warnings,
    )


def _rows(run: StoredRun) -> int:
    """Return the number of stored cases: those with invalid ground truth are not."""
    cases = run.complete_summary.cases
    return cases.total - cases.invalid_truth


def _sample(run: StoredRun, limit: int) -> frozenset[int] | None:
    """Return the numbers of the cases to compare; `None` if neither cases nor bytes are too many.

    They are random, because every n-th case of data with a period would be of one kind.
    """
    cases, size = _rows(run), run.results_bytes
    most = min(limit, max(_FEWEST, _LIMIT_BYTES * cases // max(1, size)))
    if cases <= most:
        return None
    return frozenset(random.Random(0).sample(range(1, cases + 1), most))  # noqa: S311


def _f1(summary: Summary, attribute: str) -> float | None:
    found = summary.attributes.get(attribute)
    return None if found is None else found.f1


class _Changes:
    """Compares new results with the stored ones, case by case."""

    def __init__(self, stream: StoredPairs) -> None:
        self._before = GroupTotals(AttributeTable(), sampled=False)
        self.compared = self.cases = self.errors = 0
        self.attributes: Counter[str] = Counter()
        self.examples: list[FieldChange] = []
        self._stream = stream

    def add(self, results: Sequence[CaseResult], _: Sequence[Case]) -> None:
        """Add the results of a segment."""
        for after in results:
            stored = self._stream.results
            assert stored is not None  # noqa: S101 - they are kept
            number, before = stored.popleft()
            self.compared += 1
            if self.compared == 1:
                self._before = GroupTotals(before.attributes, sampled=False)
            self._before.add([before])
            changes = list(_changed_fields(before, after))
            self.attributes.update(each.attribute for each in map(_shown, changes))
            self.cases += bool(changes) or before.score != after.score
            self.errors += after.stats.errors_count
            room = min(_EXAMPLES - len(self.examples), _EXAMPLES_OF_CASE)
            self.examples += [
                FieldChange(number=number, before=one, after=two) for one, two in changes[:room]
            ]

    def summary_before(self, run: StoredRun) -> Summary:
        """Return the metrics of the compared cases as they were stored."""
        applied = run.manifest.convention
        return summarize(self._before.tally, run.convention, applied=applied)


def _shown(change: tuple[FieldResult | None, FieldResult | None]) -> FieldResult:
    found = change[1] or change[0]
    assert found is not None  # noqa: S101 - one of them exists
    return found


def _changed_fields(
    before: CaseResult, after: CaseResult
) -> Iterator[tuple[FieldResult | None, FieldResult | None]]:
    """Yield the fields whose outcome or score differs, and those that only one side compares."""
    fields: dict[tuple[str, int], list[FieldResult | None]] = {}
    for side, result in enumerate((before, after)):
        seen: Counter[str] = Counter()
        for each in result.iter_fields():
            key = each.path, seen[each.path]
            seen[each.path] += 1
            fields.setdefault(key, [None, None])[side] = each
    for one, two in fields.values():
        if one is None or two is None or (one.outcome, one.score) != (two.outcome, two.score):
            yield one, two
