"""The measured workloads and their targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.invoices import RULES, RULES_OPTIMAL, Dataset
from benchmarks.orders import ORDER_RULES, OrderDataset

CACHE: Final = Path(__file__).resolve().parent.parent / ".cache"
"""The directory of data sets and peers, outside version control."""

MALFORMED_COST: Final = 1.25
HEADERS: Final = Dataset(documents=20_000, items=0)
TEN: Final = Dataset(documents=1_000, items=10)
HUNDRED: Final = Dataset(documents=200, items=100)
THOUSAND: Final = Dataset(documents=5, items=1_000)
TEN_MALFORMED: Final = Dataset(documents=1_000, items=10, malformed=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Documents, how they are compared, and the targets; `None` means no target.

    `rate` is in documents per CPU second, `share` is relative to parsing alone. `clean` names the
    same workload without malformed candidates, which this one may exceed by 25 % in CPU time.
    """

    name: str
    data: Dataset
    rules: str = RULES
    results: bool = True
    rate: float | None = None
    share: float | None = None
    clean: str = ""


WORKLOADS: Final = (
    Workload(name="header only", data=HEADERS, share=0.25),
    Workload(name="header only, no result rows", data=HEADERS, results=False, share=0.42),
    Workload(name="10 items", data=TEN, rate=8_000, share=0.15),
    Workload(name="10 items, no result rows", data=TEN, results=False, share=0.25),
    Workload(name="10 items, optimal", data=TEN, rules=RULES_OPTIMAL),
    Workload(name="10 items, 10 % malformed", data=TEN_MALFORMED, clean="10 items"),
    Workload(name="100 items", data=HUNDRED, rate=2_000, share=0.15),
    Workload(name="100 items, optimal", data=HUNDRED, rules=RULES_OPTIMAL),
    Workload(name="1,000 items", data=THOUSAND, rate=150, share=0.15),
    Workload(name="1,000 items, optimal", data=THOUSAND, rules=RULES_OPTIMAL),
    Workload(
        name="orders, 10 items",
        data=OrderDataset(documents=1_000, items=10),
        rules=ORDER_RULES,
        rate=8_000,
    ),
    Workload(
        name="orders, 100 items",
        data=OrderDataset(documents=200, items=100),
        rules=ORDER_RULES,
        rate=2_000,
    ),
    Workload(
        name="orders, 1,000 items",
        data=OrderDataset(documents=5, items=1_000),
        rules=ORDER_RULES,
        rate=100,
    ),
    Workload(name="5,000 items", data=Dataset(documents=1, items=5_000), rate=10),
    Workload(
        name="5,000 items, optimal",
        data=Dataset(documents=1, items=5_000),
        rules=RULES_OPTIMAL,
        rate=5,
    ),
)


def cache_directory(name: str) -> Path:
    """Return a directory of the cache, which is excluded from version control."""
    directory = CACHE / name
    directory.mkdir(parents=True, exist_ok=True)
    marker = CACHE / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n")
    return directory
