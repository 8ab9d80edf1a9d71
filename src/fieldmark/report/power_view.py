"""How many cases a gate needs, for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Group

from fieldmark.metrics.gates import less_is_better
from fieldmark.report.tables import number
from fieldmark.report.terminal import one_line
from fieldmark.report.text_tables import csv_text
from fieldmark.values.escape import for_markdown
from fieldmark.values.text import plural
from fieldmark.wire.power import GatePower

__all__ = ["power_csv", "power_lines", "power_markdown", "power_view"]


def power_lines(found: GatePower) -> Iterator[str]:
    """Yield the conclusion, the gate to set, and what the run itself can detect."""
    way, option = ("an increase", "max") if less_is_better(found.metric) else ("a drop", "min")
    yield (
        f"{plural(found.cases_needed, 'case')} needed to detect {way} of {found.metric} by "
        f"{found.drop:g} (now {number(found.value)}) with a probability of {found.power:.0%}"
    )
    yield (
        f"gate for {plural(found.cases_needed, 'case')}: --{option} "
        f"'{found.metric}={found.limit:.4f}' (fails {found.alpha:.0%} of unchanged runs)"
    )
    yield (
        f"the {plural(found.cases, 'case')} of {found.run} can detect {way} by "
        f"{number(found.detectable)} or more"
    )
    if found.note:
        yield f"· {found.note}"


def power_view(found: GatePower) -> Group:
    """Show how many cases are needed."""
    return Group(*map(one_line, power_lines(found)))


def power_markdown(found: GatePower) -> str:
    """Return the same content as a list."""
    return "".join(f"- {for_markdown(line)}\n" for line in power_lines(found))


def power_csv(found: GatePower) -> str:
    """Return all figures with full precision."""
    record = asdict(found)
    return csv_text(record, [record.values()])
