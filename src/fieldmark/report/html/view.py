"""The whole view of a run: plain JSON that a page draws, whoever asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.report.html.case_view import opened_case
from fieldmark.report.html.detection import detection_lines
from fieldmark.report.html.figures import (
    attribute_lines,
    domain_lines,
    gate_lines,
    tiles,
    verdict_of,
)
from fieldmark.report.html.heat import HeatMap
from fieldmark.report.html.method import method_of
from fieldmark.report.html.mistakes import Mistakes
from fieldmark.report.html.shown import ShownRun, mapping, whole
from fieldmark.report.html.trend import Earlier, trends_of
from fieldmark.report.html.versus import Versus
from fieldmark.report.html.worst import Chosen, Limits, choose

__all__ = ["RunView", "view_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The figures and the list of cases, and the opened cases as JSON by their rank."""

    run: JsonObject
    opened: list[tuple[int, bytes]]


def view_of(
    run: ShownRun,
    other: ShownRun | None = None,
    *,
    earlier: Sequence[Earlier] = (),
    limits: Limits | None = None,
) -> RunView:
    """Read a run and make its view; with another run, what has changed since then as well."""
    limits = limits or Limits()
    chosen = choose(run.cases(), limits)
    heat = HeatMap(_with_mistakes(run.summary), len(chosen.lines), chosen.total)
    mistakes = Mistakes()
    versus = Versus(run, other) if other is not None else None
    opened, values = _Opened(limits), False
    for position, case in enumerate(run.cases()):
        rank = chosen.rank.get(position)
        values = values or case.expected is not MISSING or case.candidate is not MISSING
        times = Counter(case.outcomes.cells)
        heat.add(times, case.attributes, rank)
        mistakes.add(case, times, rank)
        if versus is not None:
            versus.add(case, rank)
        if rank is not None and rank < limits.opened:
            opened.add(rank, opened_case(case))
    kept = opened.kept()
    view: JsonObject = {
        **_heading(run),
        "attributes": attribute_lines(run.summary, _comparators(run)),
        "domains": domain_lines(run.summary),
        "mistakes": mistakes.view(),
        "heat": heat.view(),
        "cases": _cases(chosen, len(kept)),
        "method": method_of(run, values=values),
    }
    extra = _present(
        detection=detection_lines(run.summary),
        trends=trends_of(run.summary, earlier),
        versus=None if versus is None else versus.view(),
    )
    return RunView(run=view | extra, opened=kept)


def _present(**parts: JsonValue) -> JsonObject:
    """The parts that not every run has, as far as this one has them."""
    return {name: part for name, part in parts.items() if part}


class _Opened:
    """The cases that can be opened: the worst of them, within a number of bytes."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.opened_bytes
        self._cases: dict[int, bytes | None] = {}
        self._bytes = 0

    def add(self, rank: int, view: bytes | None) -> None:
        """Take one in; the best go when twice the bytes are there."""
        self._cases[rank] = view
        self._bytes += len(view or b"")
        if self._bytes > 2 * self._most:
            self._cases = dict(self._within())
            self._bytes = sum(len(each or b"") for each in self._cases.values())

    def _within(self) -> list[tuple[int, bytes | None]]:
        """The worst that fit, in order."""
        left = self._most
        within: list[tuple[int, bytes | None]] = []
        for rank, view in sorted(self._cases.items(), key=lambda each: each[0]):
            left -= len(view or b"")
            if left < 0:
                break
            within.append((rank, view))
        return within

    def kept(self) -> list[tuple[int, bytes]]:
        """The cases that stay, the worst first."""
        return [(rank, view) for rank, view in self._within() if view is not None]


def _heading(run: ShownRun) -> JsonObject:
    manifest, summary = run.manifest, run.summary
    return {
        "name": run.name,
        "title": str(manifest.get("eval") or run.name),
        "made": str(manifest.get("finished_at") or manifest.get("started_at") or ""),
        "convention": str(mapping(summary.get("convention")).get("name", "")),
        "verdict": verdict_of(summary),
        "gates": gate_lines(summary),
        "tiles": tiles(summary),
        "micro": {name: whole(n) for name, n in mapping(summary.get("micro")).items() if name in
                  {"tp", "tn", "fp", "fn"}},
        "totals": {name: whole(n) for name, n in mapping(summary.get("cases")).items()},
        "verdicts": {name: whole(n) for name, n in mapping(summary.get("verdicts")).items()},
        "errors": {name: whole(n) for name, n in mapping(summary.get("errors_by_type")).items()},
    }  # fmt: skip


def _cases(chosen: Chosen, opened: int) -> JsonObject:
    lines: list[JsonValue] = [list(line) for line in chosen.lines]
    return {"total": chosen.total, "opened": opened, "lines": lines}


def _comparators(run: ShownRun) -> dict[str, str]:
    """The comparator of every attribute; several where places of a path have their own."""
    found: dict[str, list[str]] = {}
    for each in run.attributes:
        names = found.setdefault(each.path, [])
        if each.comparator not in names:
            names.append(each.comparator)
    return {path: ", ".join(names) for path, names in found.items()}


def _with_mistakes(summary: JsonObject) -> list[str]:
    """The attributes with mistakes, most of them first."""
    counts = {
        path: sum(whole(n) for n in mapping(mapping(each).get("errors_by_type")).values())
        for path, each in mapping(summary.get("attributes")).items()
    }
    return sorted((path for path in counts if counts[path]), key=lambda path: -counts[path])
