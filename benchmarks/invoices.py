"""Deterministic invoices: ground truth, and predictions with typical mistakes.

An invoice has 16 header fields, some of them nested, and any number of line items with 4 fields.
The candidate is the truth with seeded noise: typos, wrong numbers, dates in another format, dropped
and null fields, and items that are reordered, missing or extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import orjson

Json: TypeAlias = "str | int | float | list[Json] | dict[str, Json] | None"
Document: TypeAlias = "dict[str, Json]"

_FIELD_RULES: Final = """\
scope: union
defaults: {match: exact}
fields:
  - {path: vendor.name, match: fuzzy, threshold: 0.85}
  - {path: vendor.address.street, match: fuzzy, threshold: 0.85}
  - {path: notes, match: fuzzy, threshold: 0.85}
  - {path: issue_date, match: date}
  - {path: due_date, match: date}
  - {path: subtotal, match: numeric_tolerance, tolerance: 0.01}
  - {path: tax, match: numeric_tolerance, tolerance: 0.01}
  - {path: total, match: numeric_tolerance, tolerance: 0.01}
  - {path: "line_items[*].description", match: fuzzy, threshold: 0.85}
  - {path: "line_items[*].unit_price", match: numeric_tolerance, tolerance: 0.01}
  - {path: "line_items[*].amount", match: numeric_tolerance, tolerance: 0.01}
"""
RULES: Final = _FIELD_RULES + "  - {path: line_items, align: greedy}\n"
"""Items are aligned greedily by all of their leaves, at the default threshold of `score`."""
RULES_OPTIMAL: Final = _FIELD_RULES + "  - {path: line_items, align: optimal}\n"

TYPO: Final = 0.04
WRONG: Final = 0.02
DROPPED: Final = 0.02
NULLED: Final = 0.01
REFORMATTED: Final = 0.05
MISSING: Final = 0.02
EXTRA: Final = 0.02
SHUFFLED: Final = 0.25

_MAKERS: Final = ("Acme", "Globex", "Initech", "Umbra", "Vandelay", "Stark", "Wayne", "Hooli")
_TRADES: Final = ("Tools", "Logistics", "Papers", "Energy", "Foods", "Optics", "Metals", "Print")
_FORMS: Final = ("Ltd", "GmbH", "Inc", "SARL", "BV", "AB")
_STREETS: Final = ("Harbour Road", "Mill Lane", "Station Street", "High Street", "Rue du Port")
_CITIES: Final = ("Leeds", "Köln", "Austin", "Lyon", "Utrecht", "Malmö", "Porto", "Gent")
_COUNTRIES: Final = ("GB", "DE", "US", "FR", "NL", "SE", "PT", "NO")
_CURRENCIES: Final = ("EUR", "USD", "GBP", "SEK")
_TERMS: Final = ("Net 30", "Net 14", "Net 60", "Due on receipt")
_NOTES: Final = (
    "Goods remain our property until paid in full",
    "Please quote the invoice number with your payment",
    "Delivered to gate 4, signed for by the warehouse",
)
_QUALITIES: Final = ("Galvanised", "Stainless", "Recycled", "Heavy duty", "Coated", "Compact")
_THINGS: Final = ("hex bolt", "pallet wrap", "drill bit", "copy paper", "LED panel", "cable tie")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_EPOCH: Final = date(2024, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A number of invoices of one size, cached on disk.

    `malformed` is the share of candidates that are truncated model output.
    """

    documents: int
    items: int
    malformed: float = 0.0

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Return the truth file and the candidate file, and create them if they do not exist."""
        share = f"-malformed{self.malformed:g}" if self.malformed else ""
        home = directory / self.edition / f"{self.documents}x{self.items}{share}"
        truth, candidate = home / "truth.jsonl", home / "candidate.jsonl"
        if not candidate.exists():
            home.mkdir(parents=True, exist_ok=True)
            unfinished = home / "candidate.part"
            with truth.open("wb") as expected_file, unfinished.open("wb") as candidate_file:
                for expected_line, candidate_line in self.lines():
                    expected_file.write(expected_line)
                    candidate_file.write(candidate_line)
            unfinished.rename(candidate)
        return truth, candidate

    @property
    def edition(self) -> str:
        """A version of what this module writes, so that older files are not reused."""
        return sha256(Path(__file__).read_bytes()).hexdigest()[:8]

    def pairs(self) -> Iterator[tuple[Document, Document]]:
        """Yield truths and candidates."""
        return document_pairs(self.documents, self.items)

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield one line of each file for every document."""
        accidents = Random(f"malformed {self}")
        for number, (expected, candidate) in enumerate(self.pairs()):
            name = f"invoice-{number:07}"
            produced: Json = candidate
            if accidents.random() < self.malformed:
                text = orjson.dumps(candidate).decode()
                produced = text[: len(text) // 2]
            yield (
                orjson.dumps({"id": name, "expected": expected}) + b"\n",
                orjson.dumps({"id": name, "candidate": produced}) + b"\n",
            )


def document_pairs(documents: int, items: int) -> Iterator[tuple[Document, Document]]:
    """Yield truths and candidates; the same arguments always give the same documents."""
    random = Random(f"invoices {items}")
    for number in range(documents):
        expected = _invoice(random, number, items)
        yield expected, extracted_document(random, expected)


def _invoice(random: Random, number: int, items: int) -> Document:
    """Return a truth."""
    issued = _EPOCH + timedelta(days=random.randrange(700))
    lines = [_item(random) for _ in range(items)]
    subtotal = _money(random.uniform(20, 9_000))
    tax = _money(subtotal * 0.2)
    invoice: Document = {
        "invoice_number": f"INV-{issued.year}-{number:06}",
        "purchase_order": f"PO{random.randrange(10**6):06}",
        "issue_date": issued.isoformat(),
        "due_date": (issued + timedelta(days=30)).isoformat(),
        "vendor": {
            "name": " ".join(random.choice(words) for words in (_MAKERS, _TRADES, _FORMS)),
            "tax_id": f"{random.choice(_COUNTRIES)}{random.randrange(10**9):09}",
            "address": {
                "street": f"{random.randrange(1, 300)} {random.choice(_STREETS)}",
                "city": random.choice(_CITIES),
                "zip": f"{random.randrange(10**5):05}",
                "country": random.choice(_COUNTRIES),
            },
        },
        "currency": random.choice(_CURRENCIES),
        "subtotal": subtotal,
        "tax": tax,
        "total": _money(subtotal + tax),
        "payment_terms": random.choice(_TERMS),
        "notes": random.choice(_NOTES),
    }
    if items:
        invoice["line_items"] = list[Json](lines)
    return invoice


def _item(random: Random) -> Document:
    """Return a line item of a truth."""
    quantity = random.randrange(1, 60)
    price = _money(random.uniform(0.5, 400))
    size, code = random.randrange(2, 90), random.randrange(10**5)
    return {
        "description": f"{random.choice(_QUALITIES)} {random.choice(_THINGS)} {size} mm, {code:05}",
        "quantity": quantity,
        "unit_price": price,
        "amount": _money(quantity * price),
    }


def _money(amount: float) -> float:
    return round(amount, 2)


def extracted_document(random: Random, expected: Document) -> Document:
    """Return the prediction for a truth."""
    candidate = _damaged(random, {k: v for k, v in expected.items() if k != "line_items"})
    items = expected.get("line_items")
    if isinstance(items, list):
        candidate["line_items"] = _extracted_items(random, items)
    return candidate


def _extracted_items(random: Random, items: list[Json]) -> list[Json]:
    """Return the items with some missing, some extra, and some invoices out of order."""
    extracted: list[Json] = [
        _damaged(random, item)
        for item in items
        if isinstance(item, dict) and random.random() >= MISSING
    ]
    for _ in items:
        if random.random() < EXTRA:
            extracted.insert(random.randrange(len(extracted) + 1), _item(random))
    if random.random() < SHUFFLED:
        random.shuffle(extracted)
    return extracted


def _damaged(random: Random, expected: Document) -> Document:
    """Return an object with each leaf possibly damaged or dropped."""
    candidate: Document = {}
    for key, value in expected.items():
        if isinstance(value, dict):
            candidate[key] = _damaged(random, value)
            continue
        fate = random.random()
        if fate < DROPPED:
            continue
        candidate[key] = None if fate < DROPPED + NULLED else _misread(random, key, value)
    return candidate


def _misread(random: Random, key: str, value: Json) -> Json:
    """Return a leaf with a possible mistake."""
    chance, reading = _READINGS["date" if key.endswith("_date") else type(value).__name__]
    return reading(random, value) if random.random() < chance else value


def _typo(random: Random, value: Json) -> Json:
    """Change, drop or double one letter."""
    text = str(value)
    place = random.randrange(len(text))
    middle = random.choice((random.choice(_LETTERS), "", text[place] * 2))
    return text[:place] + middle + text[place + 1 :]


def _wrong_number(random: Random, value: Json) -> Json:
    """Return a slightly different number."""
    if isinstance(value, int):
        return value + random.randrange(1, 9)
    assert isinstance(value, float)
    return _money(value + random.uniform(0.5, 90))


def _other_date(random: Random, value: Json) -> Json:
    """Return the same day in another format, or another day."""
    day = date.fromisoformat(str(value))
    if random.random() < WRONG / REFORMATTED:
        return (day + timedelta(days=random.randrange(1, 40))).isoformat()
    return f"{day.day:02}-{_MONTHS[3 * day.month - 3 : 3 * day.month]}-{day.year}"


_READINGS: Final[dict[str, tuple[float, Callable[[Random, Json], Json]]]] = {
    "str": (TYPO, _typo),
    "date": (REFORMATTED, _other_date),
    "int": (WRONG, _wrong_number),
    "float": (WRONG, _wrong_number),
}
