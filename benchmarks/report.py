"""Measures the HTML report of a large run: `python -m benchmarks.report`."""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, Protocol

from benchmarks.measure import print_table, verdict
from fieldmark import score
from fieldmark.analyses.report import write_report
from fieldmark.model.json import JsonObject, JsonValue

CASES: Final = 10_000
ATTRIBUTES: Final = 50
SECONDS: Final = 5.0
MEGABYTES: Final = 10.0
OPENS: Final = 2.0
_WORDS: Final = ("Harbour", "Mill", "Station", "High", "Port", "Köln", "Malmö", "Gent", "Austin")
_TESTS: Final = Path(__file__).resolve().parent.parent / "tests"


class _Page(Protocol):
    def open(self, path: Path) -> float: ...


class _Browser(Protocol):
    def page(self) -> _Page: ...
    def close(self) -> None: ...


def report() -> bool:
    """Print the cost of the report of a large run; return whether all targets are met."""
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory) / "run"
        score(_rows(), out=run)
        began = time.process_time()
        place = write_report(run)
        seconds = time.process_time() - began
        megabytes = place.stat().st_size / 1e6
        opens = _opened(place, Path(directory) / "profile")
    measures = (
        ("CPU time to write", seconds, SECONDS, "s"),
        ("size", megabytes, MEGABYTES, "MB"),
        ("time to open", opens, OPENS, "s"),
    )
    rows = [
        (name, f"{value:.2f} {unit}", f"< {most:g} {unit}", verdict(ok=value < most))
        for name, value, most, unit in measures
    ]
    print_table((f"report of {CASES:,} cases, {ATTRIBUTES} attributes", "", "target", ""), rows)
    return all(value < most for _, value, most, _ in measures)


def _rows() -> Iterator[tuple[JsonObject, JsonObject]]:
    chance = Random(7)
    for number in range(CASES):
        truth: JsonObject = {
            f"group{place // 10}_field{place}": _value(chance, number, place)
            for place in range(ATTRIBUTES)
        }
        found = {
            key: _noisy(chance, value) for key, value in truth.items() if chance.random() > 0.03
        }
        yield truth, found


def _value(chance: Random, number: int, place: int) -> JsonValue:
    if place % 3:
        return f"{chance.choice(_WORDS)} {chance.choice(_WORDS)} {number % 97}"
    return round(chance.random() * 1_000, 2)


def _noisy(chance: Random, value: JsonValue) -> JsonValue:
    if chance.random() > 0.08:
        return value
    return f"{value}x" if isinstance(value, str) else None


def _opened(place: Path, profile: Path) -> float:
    """Return the seconds until a running browser has rendered the page."""
    sys.path.insert(0, str(_TESTS))
    browser: _Browser = importlib.import_module("browser.chromium").Browser(profile)
    try:
        return browser.page().open(place)
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(0 if report() else 1)
