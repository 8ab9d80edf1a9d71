"""Write a saved run, or its comparison with an earlier one, as a report or for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, cast

from fieldmark import registry
from fieldmark.analyses.diff import DiffResult, diff
from fieldmark.analyses.improve import find_slices
from fieldmark.analyses.review import review_of
from fieldmark.analyses.saved_run import stored_intervals, stored_run
from fieldmark.analyses.show import RunRules
from fieldmark.data.input_files import is_url
from fieldmark.errors import ConfigError, FieldmarkError
from fieldmark.judges.images import ImageError
from fieldmark.judges.managed_process import ProcessGroup
from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.metrics.slices import TAG
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.report.document import table_to_json
from fieldmark.report.exports import Exporter
from fieldmark.report.html.cases import ReportLimits
from fieldmark.report.html.metrics import EarlierRun, tiles
from fieldmark.report.html.page import page
from fieldmark.report.html.value_encoding import encode_shortened
from fieldmark.report.html.view import view_of
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.case_pages import LocalPages
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.remote_runs import local_copy
from fieldmark.runs.reviews import REVIEWS
from fieldmark.runs.run_index import COMPLETE, ROOT, list_runs, read_notes
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.values.text import did_you_mean, plural

_MAX_CASES: Final = 250
"""The number of cases of each direction that are listed."""
_MAX_FIELDS: Final = 20
_MAX_TEXT: Final = 80
"""The number of characters of a value in a list."""
_NAMES: Final = {
    Direction.WORSE: "worse",
    Direction.IMPROVED: "improved",
    Direction.UNCHANGED: "mixed",
}


def change_lines(
    diff: DiffResult, changes: Sequence[tuple[Direction, CaseChange]]
) -> list[JsonObject]:
    """Return changed cases with the first of their fields, and their values if they were saved."""
    values = diff.values_of([change for _, change in changes])
    lines = []
    for way, change in changes:
        line = change.to_dict(_MAX_FIELDS)
        fields = cast("list[JsonObject]", line["fields"])
        for field, sides in zip(fields, values.get(change.case_id, ()), strict=False):
            encoded = (encode_shortened(value, _MAX_TEXT) for value in sides)
            field["values"] = dict(zip(("expected", "before", "after"), encoded, strict=True))
        lines.append({"direction": _NAMES[way], **line})
    return lines


def change_tables(diff: DiffResult) -> JsonObject:
    """Return the tables of metrics, evaluators, attributes and slices, with a conclusion."""
    return {table.name: table_to_json(table) for table in diff.tables()}


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The comparison of a run with an earlier one in its report."""

    diff: DiffResult

    @property
    def listed_ids(self) -> frozenset[str]:
        """The ids of the cases that are listed: the largest changes of each direction."""
        return frozenset(change.case_id for _, change in self._listed())

    def _listed(self) -> list[tuple[Direction, CaseChange]]:
        pairs = self.diff.pairs
        return [(way, change) for way in _NAMES for change in pairs.changed(way)[:_MAX_CASES]]

    def view(self, ranks: Mapping[str, int]) -> JsonObject:
        """Return metrics, attributes and changed cases of both runs, with `ranks` of cases by id.

        Lists are limited to the largest changes; the numbers of all changes are given too.
        """
        diff = self.diff
        before, after = (
            {tile.label: tile for tile in tiles(summary)} for summary in diff.summaries
        )
        overview, listed = diff.overview(), self._listed()
        slices_of: dict[str, list[JsonValue]] = {}
        for name, pairs in diff.sliced.items():
            for changes in pairs.changes.values():
                for change in changes:
                    slices_of.setdefault(change.case_id, []).append(name)
        return {
            **overview,
            "conclusion": {
                **cast("JsonObject", overview["conclusion"]),
                **diff.conclusion_to_json(),
            },
            "tiles": [
                {**tile.to_dict(), "before": before[label].value if label in before else None}
                for label, tile in after.items()
            ],
            "tables": change_tables(diff),
            "changes": [
                {
                    **line,
                    "attributes": [
                        {"attribute": attribute, "change": number}
                        for attribute, number in change.attributes.items()
                    ],
                    "rank": ranks.get(change.case_id),
                    "slices": slices_of.get(change.case_id, []),
                }
                for (_, change), line in zip(listed, change_lines(diff, listed), strict=True)
            ],
            "changed": sum(map(len, diff.pairs.changes.values())),
        }


__all__ = ["HTML", "KINDS", "file_name", "html_report", "kinds", "write_report"]

_MAX_CASE_PAGES: Final = 4
_MAX_BYTES: Final = 24 << 20
_LIMITS: Final = f"up to {_MAX_BYTES >> 20} MB of pages, worst cases first"


class EmbeddedPages:
    """Returns the pages of cases as data URLs, until the limit of the report is reached."""

    def __init__(self, folder: LocalPages, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._left = max_bytes

    @classmethod
    @contextmanager
    def opened(cls, directory: Path | str) -> Iterator[Self]:
        """Open a directory; leaving the context ends the processes that render PDF files."""
        with ProcessGroup() as group:
            yield cls(LocalPages(directory, group))

    def __call__(self, case_id: str, metadata: Mapping[str, JsonValue] | None) -> JsonObject:
        """Return the first pages of a case, and a note about further pages."""
        if self._left <= 0:
            return {"pages": [], "left_out": f"This report contains {_LIMITS}."}
        try:
            images, total = self._folder.images(case_id, metadata, _MAX_CASE_PAGES)
        except ImageError as error:
            return {"pages": [], "problems": [f"The pages cannot be shown: {error}."]}
        pages: list[JsonValue] = []
        for image, file in images:
            self._left -= len(file.url)
            if self._left <= 0:
                break
            pages.append({**image.to_dict(), "src": file.url})
        left_out = ""
        if len(pages) < total:
            per_case = f"{_MAX_CASE_PAGES} pages of each case and {_LIMITS}"
            left_out = (
                f"{len(pages)} of {plural(total, 'page')} shown. This report contains {per_case}."
            )
        elif not total:
            left_out = "No page was found for this case."
        return {"pages": pages, "left_out": left_out}


HTML: Final = "html"
_MAX_CASES_FOR_INTERVALS: Final = 2_000
"""Intervals require reading all cases again, and are narrow if there are more cases."""
_MAX_EARLIER_RUNS: Final = 11
"""The number of earlier runs in the trend chart."""
_MAX_REVIEWS: Final = 2_000
"""The number of decisions of people in a report."""


KINDS: Final = (HTML, *registry.built_in(Plugin.EXPORTERS))
"""The kinds of reports that need no plug-in."""


def kinds() -> tuple[str, ...]:
    """Return the kinds of reports, including plug-ins."""
    return (HTML, *registry.names(Plugin.EXPORTERS))


def file_name(kind: str) -> str:
    """Return the file name of a kind of report in the run directory.

    >>> file_name("html"), file_name("junit")
    ('report.html', 'junit.xml')
    """
    return "report.html" if kind == HTML else _exporter(kind).file


def _exporter(kind: str) -> Exporter:
    if registry.canonical(Plugin.EXPORTERS, kind) is None:
        hint = did_you_mean(kind, kinds()) or f"must be one of: {', '.join(kinds())}"
        raise ConfigError.of(f"unknown kind of report {kind!r}", hint=hint)
    return cast("Exporter", registry.create(registry.load(Plugin.EXPORTERS, kind), {}))


def write_report(
    run: Path | str,
    out: Path | str | None = None,
    *,
    kind: str = HTML,
    against: Path | str | None = None,
    values: bool = True,
    pages: Path | str | None = None,
) -> Path:
    """Write a report of a run to a file, by default in the run directory, and return its path.

    With `pages`, an HTML report contains the page images of its cases from this directory.

    >>> import fieldmark as fm
    >>> _ = fm.score("truth.jsonl", "candidate.jsonl", out="runs/reported")
    >>> write_report("runs/reported").name
    'report.html'
    """
    if out is None and is_url(run):
        raise ConfigError.of("out is required for a report of a run at a URL")
    run, against = local_copy(run), None if against is None else local_copy(against)
    path = Path(run) / file_name(kind) if out is None else Path(out)
    if kind == HTML:
        write_atomic(path, html_report(run, against=against, values=values, pages=pages))
        return path
    if against is not None:
        raise ConfigError.of(f"only HTML reports can compare two runs, not {kind}")
    if pages is not None:
        raise ConfigError.of(f"only HTML reports can contain pages, not {kind}")
    exporter, shown = _exporter(kind), _shown_run(stored_run(run), values=values)
    try:
        exporter.write(shown, path)
    except (FieldmarkError, OSError):
        raise
    except Exception as error:
        if type(exporter).__module__.startswith("fieldmark."):
            raise
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ConfigError.of(f"exporter {kind!r} failed: {reason}") from error
    return path


def html_report(
    run: Path | str,
    *,
    against: Path | str | None = None,
    values: bool = True,
    limits: ReportLimits | None = None,
    pages: Path | str | None = None,
) -> bytes:
    """Return the report of a run, or its comparison with another run, as an HTML page.

    `pages` is a directory with page images to include.
    """
    if pages is not None and not values:
        raise ConfigError.of("pages show values, so they cannot be part of a report without values")
    stored = stored_run(run)
    shown = _shown_run(stored, values=values)
    if shown.summary.intervals is None and shown.summary.cases.total <= _MAX_CASES_FOR_INTERVALS:
        summary = replace(shown.summary, intervals=stored_intervals(stored))
        shown = replace(shown, summary=summary)
    comparison = before = None
    if against is not None:
        earlier_run = stored_run(against)
        compared = diff(earlier_run, stored, force=True)
        if not compared.comparable:
            different = " and ".join(compared.different)
            raise ConfigError.of(
                f"{stored.path.name} and {earlier_run.path.name} have different {different}",
                hint=f"score both runs with the same {different}",
            )
        comparison = ComparisonView(compared if values else _without_values(compared))
        before = _shown_run(earlier_run, values=values)
    with relaxed_gc(), ExitStack() as stack:
        embedder = None
        if pages is not None:
            embedder = stack.enter_context(EmbeddedPages.opened(pages))
        earlier = _earlier_runs(Path(run))
        slices = find_slices(stored) if values else None
        view = view_of(
            shown,
            comparison,
            before=before,
            earlier=earlier,
            limits=limits,
            pages=embedder,
            finding=None if slices is None else slices.finding_to_dict(),
        )
        return page(view)


def _without_values(compared: DiffResult) -> DiffResult:
    """Return a comparison without values, and warnings and slices that may quote them."""
    tags = f"{TAG}="
    slices = {
        name: difference for name, difference in compared.slices.items() if name.startswith(tags)
    }
    return replace(
        compared,
        warnings=(),
        new_errors=(),
        fixed_errors=(),
        runs=None,
        metrics=replace(compared.metrics, slices=slices),
        sliced={name: pairs for name, pairs in compared.sliced.items() if name in slices},
    )


def _shown_run(run: StoredRun, *, values: bool) -> ShownRun:
    rules = RunRules(run)
    shown = ShownRun(
        name=run.path.resolve().name,
        manifest=run.manifest,
        summary=run.complete_summary,
        cases=run.cases,
        attributes=run.compared_attributes,
        label=read_notes(run.path).name,
        reviews=_reviews(run),
        rule_facts=lambda attribute: rules.of(attribute).facts(),
    )
    return shown if values else shown.without_values()


def _reviews(run: StoredRun) -> list[JsonObject]:
    """Return the decisions of people on a run, without the values that they were made on."""
    if not (run.path / REVIEWS).exists():
        return []
    reviews = (
        reviewed.to_dict() for reviewed in review_of(run, effect=False).fields[:_MAX_REVIEWS]
    )
    sides = ("expected", "candidate")
    return [{key: record[key] for key in record if key not in sides} for record in reviews]


def _earlier_runs(path: Path) -> list[EarlierRun]:
    """Return the earlier runs in the same directory that are comparable."""
    path = path.resolve()
    if path.parent.name != ROOT:
        return []
    entries = [entry for entry in list_runs(path.parent) if entry.status == COMPLETE]
    position = next((at for at, entry in enumerate(entries) if entry.id == path.name), None)
    if position is None:
        return []
    before = [
        entry for entry in entries[:position] if entry.comparable == entries[position].comparable
    ]
    return [
        EarlierRun(entry.id, open_run(path.parent / entry.id).summary)
        for entry in before[-_MAX_EARLIER_RUNS:]
    ]
