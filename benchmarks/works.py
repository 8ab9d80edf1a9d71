"""The works that are timed, and what each of them must reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.invoices import RULES, RULES_OPTIMAL, Dataset

__all__ = ["CACHE", "MALFORMED_COST", "WORKS", "Work", "cache_folder"]

CACHE: Final = Path(__file__).resolve().parent.parent / ".cache"
"""Data sets and peers live here, outside version control."""

MALFORMED_COST: Final = 1.25
HEADERS: Final = Dataset(documents=20_000, items=0)
TEN: Final = Dataset(documents=1_000, items=10)
HUNDRED: Final = Dataset(documents=200, items=100)
THOUSAND: Final = Dataset(documents=5, items=1_000)
TEN_MALFORMED: Final = Dataset(documents=1_000, items=10, malformed=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Some documents, how they are compared, and the targets; a target that is `None` is not set.

    `rate` is in documents per CPU second, `share` is a part of what parsing alone reaches. `clean`
    names an earlier work without malformed candidates, which may cost at most a quarter more.
    """

    name: str
    data: Dataset
    rules: str = RULES
    results: bool = True
    rate: float | None = None
    share: float | None = None
    clean: str = ""


WORKS: Final = (
    Work(name="header only", data=HEADERS),
    Work(name="header only, no result rows", data=HEADERS, results=False, share=0.30),
    Work(name="10 items", data=TEN, rate=4_000),
    Work(name="10 items, optimal", data=TEN, rules=RULES_OPTIMAL),
    Work(name="10 items, 10 % malformed", data=TEN_MALFORMED, clean="10 items"),
    Work(name="100 items", data=HUNDRED, rate=1_000),
    Work(name="100 items, optimal", data=HUNDRED, rules=RULES_OPTIMAL),
    Work(name="1,000 items", data=THOUSAND, rate=50),
    Work(name="1,000 items, optimal", data=THOUSAND, rules=RULES_OPTIMAL),
    Work(name="5,000 items", data=Dataset(documents=1, items=5_000), rate=10),
    Work(
        name="5,000 items, optimal",
        data=Dataset(documents=1, items=5_000),
        rules=RULES_OPTIMAL,
        rate=5,
    ),
)


def cache_folder(name: str) -> Path:
    """A folder of the cache, which keeps itself out of version control."""
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    marker = CACHE / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n")
    return folder
