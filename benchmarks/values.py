"""Instructions per comparison of two values: `python -m benchmarks.values [SOURCE DIRECTORY]`.

Plain dates and numbers are most of the values in documents, so they must stay cheap. All pairs of a
kind are different, so that nothing is read from a cache.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from fieldmark.compare.date import DateMatch
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonValue
from fieldmark.values.numbers import NumberFormat

PAIRS: Final = 1_000
SCRIPT: Final = """
import sys
from benchmarks.values import compare_values
compare_values(sys.argv[1], int(sys.argv[2]))
"""
FIRST_DAY: Final = date(1900, 1, 1)
TEXT: Final = "Blue pens, box of twelve, order number"


def _days(form: str) -> Callable[[int], tuple[JsonValue, JsonValue]]:
    def pair(number: int) -> tuple[JsonValue, JsonValue]:
        days = (FIRST_DAY + timedelta(days=2 * number + other) for other in (0, 1))
        first, second = (day.strftime(form) for day in days)
        return first, second

    return pair


KINDS: Final[Mapping[str, tuple[Comparator, Callable[[int], tuple[JsonValue, JsonValue]]]]] = {
    "ISO dates": (DateMatch(), _days("%Y-%m-%d")),
    "ISO date-times": (DateMatch(), _days("%Y-%m-%dT10:30:00Z")),
    "dates with slashes": (DateMatch(), _days("%d/%m/%Y")),
    "dates with month names": (DateMatch(), _days("%d %b %Y")),
    "numbers": (NumericTolerance(tolerance=0.01), lambda each: (each + 0.5, each + 0.505)),
    "numbers in strings": (
        NumericTolerance(tolerance=0.01),
        lambda each: (f"{each}.50", f"{each}.505"),
    ),
    "amounts": (
        NumericTolerance(tolerance=0.01, number_format=NumberFormat.US),
        lambda each: (f"${each + 1_000:,}.50", f"${each + 1_000:,}.505"),
    ),
    "text": (Fuzzy(), lambda each: (f"{TEXT} {each}", f"{TEXT} {each + 1}")),
}
"""A comparator and a pair of values for each number."""


def compare_values(kind: str, count: int) -> None:
    """Compare so many pairs of a kind."""
    comparator, pair = KINDS[kind]
    compare = comparator.compare
    for expected, candidate in _pairs(pair, count):
        compare(expected, candidate)


def _pairs(
    pair: Callable[[int], tuple[JsonValue, JsonValue]], count: int
) -> Iterator[tuple[JsonValue, JsonValue]]:
    """Yield pairs; all of them are made in every process, so that making them costs nothing."""
    made = [pair(number) for number in range(2 * PAIRS)]
    return iter(made[:count])


def _instructions(kind: str, source: Path | None = None) -> int:
    from benchmarks.slope import count_instructions  # not in the measured processes

    fewer, more = (
        count_instructions(SCRIPT, kind, str(count), source=source) for count in (PAIRS, 2 * PAIRS)
    )
    return round((more - fewer) / PAIRS)


def values(source: Path | None = None) -> bool:
    """Print the instructions per comparison, also for another source directory."""
    from benchmarks.measure import print_table

    if shutil.which("valgrind") is None:
        print("values: skipped because valgrind is not installed")
        return True
    plain = None
    rows = []
    for kind in KINDS:
        cost = _instructions(kind)
        plain = plain or cost
        row = [kind, f"{cost:,}", f"{cost / plain:.2f}"]
        if source is not None:
            other = _instructions(kind, source)
            row += [f"{other:,}", f"{cost / other:.2f}"]
        rows.append(tuple(row))
    others = () if source is None else ("in the other directory", "ratio")
    print_table(("values", "instructions", "relative to ISO dates", *others), rows)
    return True


if __name__ == "__main__":
    values(Path(sys.argv[1]).resolve() if sys.argv[1:] else None)
