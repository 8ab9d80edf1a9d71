"""A second generator: purchase orders, which differ from the invoices in every respect.

An order has 7 header fields and a varying number of items with 6 fields, some of them in other
languages. Predictions are worse than for invoices: one field in six has a mistake, and items
are aligned by a fuzzy match field. A change that helps invoices alone does not help here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.invoices import Dataset, Document, Json

ORDER_RULES: Final = """\
scope: union
fields:
  - {path: buyer, match: fuzzy, threshold: 0.8}
  - {path: "lines[*].title", match: fuzzy, threshold: 0.8}
  - {path: "lines[*].price", match: numeric_tolerance, tolerance: 0.05}
  - {path: lines, align: greedy, match_fields: [title, sku], threshold: 0.6}
"""

MISTAKE: Final = 0.16
MISSING: Final = 0.06
EXTRA: Final = 0.06
SHUFFLED: Final = 0.5

_BUYERS: Final = ("Møller & Søn", "Tanaka Trading", "O'Neill Hardware", "Café Central", "Smith Ltd")
_KINDS: Final = ("trousers", "rain jacket", "running shoe", "wool sock", "écharpe", "belt", "Mütze")
_MAKES: Final = ("Northway", "Bergtal", "Lumen", "Óleo", "Atlas", "Kobalt")
_COLOURS: Final = ("navy", "dark green", "rot", "noir", "white", "sand")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDataset(Dataset):
    """Some orders; `items` is the mean number of items."""

    @property
    def edition(self) -> str:
        """A version of what this module writes."""
        return "orders-" + sha256(Path(__file__).read_bytes()).hexdigest()[:8]

    def pairs(self) -> Iterator[tuple[Document, Document]]:
        """Yield truths and candidates."""
        random = Random(f"orders {self.items}")
        for number in range(self.documents):
            expected = _order(random, number, self.items)
            yield expected, _extracted(random, expected)


def _order(random: Random, number: int, items: int) -> Document:
    count = random.randrange(max(1, items // 2), items + items // 2 + 1)
    lines: list[Json] = [_line(random) for _ in range(count)]
    return {
        "number": f"{random.randrange(10**8)}/{number}",
        "buyer": random.choice(_BUYERS),
        "urgent": None if random.random() < 0.5 else "yes",
        "priority": random.randrange(5),
        "lines": lines,
        "weight": random.randrange(10**6) / 1000,
        "remark": random.choice(("", "leave at the door", "call first: +49 30 1234")),
    }


def _line(random: Random) -> Document:
    make, kind = random.choice(_MAKES), random.choice(_KINDS)
    return {
        "sku": f"{random.randrange(36**5):x}",
        "title": f"{make} {kind} {random.randrange(30, 50)}",
        "colour": random.choice(_COLOURS),
        "size": random.choice(("S", "M", "L", "XL")),
        "count": random.randrange(1, 9),
        "price": random.randrange(500, 30_000) / 100,
    }


def _extracted(random: Random, expected: Document) -> Document:
    candidate = _damaged(random, expected)
    lines = expected["lines"]
    assert isinstance(lines, list)
    found: list[Json] = [
        _damaged(random, line)
        for line in lines
        if isinstance(line, dict) and random.random() >= MISSING
    ]
    found += [_line(random) for _ in lines if random.random() < EXTRA]
    if random.random() < SHUFFLED:
        random.shuffle(found)
    candidate["lines"] = found
    return candidate


def _damaged(random: Random, expected: Document) -> Document:
    """Return an object in which fields are dropped, empty or wrong."""
    candidate: Document = {}
    for key, value in expected.items():
        if random.random() >= MISTAKE:
            candidate[key] = value
        elif isinstance(value, str) and value and random.random() < 0.6:
            place = random.randrange(len(value))
            candidate[key] = value[:place] + random.choice(("", "x", " ")) + value[place + 1 :]
        elif isinstance(value, int | float) and random.random() < 0.6:
            candidate[key] = value + random.randrange(1, 10) / 10
        elif random.random() < 0.5:
            candidate[key] = random.choice((None, "", "n/a"))
    return candidate
