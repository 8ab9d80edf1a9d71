"""Documents with one planted cause of mistakes each, and what `improve` should call it."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchmarks.invoices import document_pairs

from fieldmark.metrics.patterns import BY_NAME

Document = dict[str, Any]
CASES = 40


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A cause: `change` makes it in a candidate; `prepare` changes the expected document first.

    Without `rule`, no rule accepts such values, although one accepts others with this pattern.
    `hidden` is the number of other mistakes of a document, which the cause hides.
    """

    name: str
    pattern: str
    change: Callable[[Document, random.Random], Any]
    prepare: Callable[[Document, random.Random], Any] | None = None
    rules: Mapping[str, Any] | None = None
    rule: bool = True
    hidden: int = 0

    @property
    def has_rule(self) -> bool:
        """Whether `improve` proposes a rule that accepts such values."""
        pattern = BY_NAME[self.pattern]
        return self.rule and bool(pattern.rules or pattern.list_rule)


def invoices(seed: int, cases: int = CASES, items: int = 5) -> list[Document]:
    """Return invoices with more kinds of fields than the benchmarks have."""
    chance = random.Random(seed)
    truths = [expected for expected, _ in document_pairs(cases + 7 * seed, items)][7 * seed :]
    for truth in truths:
        truth |= {
            "paid": chance.random() < 0.5,
            "weight": f"{chance.randrange(2, 90)} kg",
            "deposit": f"${chance.randrange(1_000, 9_000):,}.{chance.randrange(10, 99)}",
            "discount": -chance.randrange(100, 999) / 10,
            "customer": f"00{chance.randrange(10_000, 99_999)}",
            "population": chance.randrange(1_001, 99_999) * 10 + chance.randrange(1, 9),
            "bbox": box(chance),
            "stamps": [
                {"label": label, "bbox": box(chance)} for label in ("received", "paid", "copy")
            ],
            "codes": chance.sample(range(100, 999), 5),
        }
    return truths


def box(chance: random.Random) -> list[int]:
    """Return the corners of a box on a page of 1,000 by 1,400 pixels."""
    left, top = chance.randrange(150, 700), chance.randrange(200, 1_100)
    return [left, top, left + chance.randrange(60, 250), top + chance.randrange(40, 90)]


def put(path: str, make: Callable[[Any, random.Random], Any]) -> Callable[..., None]:
    """Return a change of one field."""
    *parents, key = path.split(".")

    def change(document: Document, chance: random.Random) -> None:
        for parent in parents:
            document = document[parent]
        document[key] = make(document[key], chance)

    return change


def in_items(change: Callable[[list[Document], random.Random], Any]) -> Callable[..., None]:
    """Return a change of the line items."""
    return lambda document, chance: change(document["line_items"], chance)


def drop(path: str) -> Callable[..., None]:
    *parents, key = path.split(".")

    def change(document: Document, _: random.Random) -> None:
        for parent in parents:
            document = document[parent]
        del document[key]

    return change


def day_of(text: str) -> date:
    return date.fromisoformat(text)


def swapped(text: str, _: random.Random) -> str:
    year, month, day = text.split("-")
    return f"{year}-{day}-{month}" if int(day) <= 12 else text


def other_digit(value: float, chance: random.Random) -> float:
    text = f"{value:.2f}"
    places = [place for place, char in enumerate(text) if char.isdigit() and place < len(text) - 3]
    place = chance.choice(places[1:] or places)
    digit = chance.choice([each for each in "123456789" if each != text[place]])
    return float(text[:place] + digit + text[place + 1 :])


def typo(text: str, chance: random.Random) -> str:
    place = chance.randrange(3, len(text) - 3)
    return text[:place] + chance.choice("qxz") + text[place + 1 :]


def moved_column(items: list[Document], _: random.Random) -> None:
    amounts = [item["amount"] for item in items]
    for item, amount in zip(items, amounts[1:], strict=False):
        item["amount"] = amount


def other_amount(items: list[Document], _: random.Random) -> None:
    items[0]["amount"] = items[3]["amount"]


def shuffled(items: list[Any], chance: random.Random) -> None:
    before = list(items)
    while items == before or sum(a == b for a, b in zip(items, before, strict=True)) > 2:
        chance.shuffle(items)


def shuffled_with_mistakes(items: list[Document], chance: random.Random) -> None:
    shuffled(items, chance)
    items[0]["quantity"] += 1


def exchange(first: str, second: str) -> Callable[..., None]:
    def change(document: Document, _: random.Random) -> None:
        document[first], document[second] = document[second], document[first]

    return change


def with_size(box: list[float], _: random.Random) -> list[float]:
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]]


def moved_by(step: int) -> Callable[..., list[float]]:
    return lambda box, _: [number + step for number in box]


def in_shares(box: list[float], _: random.Random) -> list[float]:
    return [round(number / size, 4) for number, size in zip(box, (1000, 1400) * 2, strict=True)]


def jittered(box: list[float], chance: random.Random) -> list[float]:
    return [number + chance.choice((-3, -2, 2, 3, 4)) for number in box]


def in_stamps(make: Callable[[Any, random.Random], Any]) -> Callable[..., None]:
    def change(document: Document, chance: random.Random) -> None:
        for stamp in document["stamps"]:
            stamp["bbox"] = make(stamp["bbox"], chance)

    return change


def random_words(_: Any, chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=12))


BY_INDEX = {"fields": [{"path": "line_items", "align": "index"}]}
PLANTS = (
    Plant(name="list of one value", pattern="wrapped", change=put("currency", lambda v, _: [v])),
    Plant(name="address as text", pattern="wrong_structure",
          change=put("vendor.address", lambda v, _: f"{v['street']}, {v['city']}")),
    Plant(name="N/A", pattern="placeholder", change=put("notes", lambda _, c: c.choice(["N/A", "-", "unknown"]))),
    Plant(name="yes for true", pattern="boolean_as_word", change=put("paid", lambda v, _: "yes" if v else "No")),
    Plant(name="number as text", pattern="number_as_string", change=put("total", lambda v, _: str(v))),
    Plant(name="upper case", pattern="case_or_whitespace", change=put("vendor.name", lambda v, _: v.upper())),
    Plant(name="double blanks", pattern="case_or_whitespace", change=put("notes", lambda v, _: v.replace(" ", "  "))),
    Plant(name="no blanks", pattern="case_or_whitespace", change=put("vendor.name", lambda v, _: v.replace(" ", ""))),
    Plant(name="en dash", pattern="dash", change=put("invoice_number", lambda v, _: v.replace("-", "–"))),
    Plant(name="typographic apostrophe", pattern="dash", rule=False, prepare=put("notes", lambda v, _: f"{v}, at buyer's risk"),
          change=put("notes", lambda v, _: v.replace("'", "’"))),
    Plant(name="names of currencies", pattern="currency_name", prepare=put("currency", lambda *_: "EUR"),
          change=put("currency", lambda *_: "Euro")),
    Plant(name="twelve hours", pattern="time_format", prepare=put("notes", lambda *_: "14:30"),
          change=put("notes", lambda *_: "2:30 PM")),
    Plant(name="months in letters", pattern="month_format", prepare=put("issue_date", lambda v, _: v[:7]),
          change=put("issue_date", lambda v, _: f"{day_of(f'{v}-01'):%B %Y}")),
    Plant(name="another time zone", pattern="timestamp_format", prepare=put("issue_date", lambda v, _: f"{v}T14:30:00+02:00"),
          change=put("issue_date", lambda v, _: f"{v[:10]}T12:30:00Z")),
    Plant(name="no time", pattern="time_of_day", prepare=put("issue_date", lambda v, _: f"{v}T14:30:00"),
          change=put("issue_date", lambda v, _: v[:10])),
    Plant(name="another time", pattern="time_of_day", prepare=put("issue_date", lambda v, _: f"{v}T14:30:00"),
          change=put("issue_date", lambda v, _: f"{v[:10]}T15:30:00")),
    Plant(name="code behind the amount", pattern="money_format", change=put("deposit", lambda v, _: f"{v[1:]} USD")),
    Plant(name="ISO dates swapped", pattern="date_swapped", change=put("issue_date", swapped)),
    Plant(name="dates with slashes swapped", pattern="date_swapped",
          prepare=put("issue_date", lambda v, _: f"{day_of(v):%d/%m/%Y}"),
          change=put("issue_date", lambda v, _: f"{v[3:5]}/{v[:2]}{v[5:]}" if int(v[:2]) <= 12 else v)),
    Plant(name="day first", pattern="date_order", change=put("issue_date", lambda v, _: f"{day_of(v):%d/%m/%Y}")),
    Plant(name="day first in the truth", pattern="date_order",
          prepare=put("issue_date", lambda v, _: f"{day_of(v):%d/%m/%Y}"),
          change=put("issue_date", lambda v, _: f"{v[6:]}-{v[3:5]}-{v[:2]}")),
    Plant(name="day first, compared as dates", pattern="date_order",
          change=put("issue_date", lambda v, _: f"{day_of(v):%d/%m/%Y}"),
          rules={"fields": [{"path": "issue_date", "match": "date"}]}),
    Plant(name="month first", pattern="date_format", change=put("issue_date", lambda v, _: f"{day_of(v):%m/%d/%Y}")),
    Plant(name="month in letters", pattern="date_format", change=put("issue_date", lambda v, _: f"{day_of(v):%d-%b-%Y}")),
    Plant(name="day first against month first", pattern="date_format",
          prepare=put("issue_date", lambda v, _: f"{day_of(v):%d/%m/%Y}"),
          change=put("issue_date", lambda v, _: f"{v[3:5]}/{v[:2]}{v[5:]}")),
    Plant(name="no year", pattern="date_without_year", change=put("issue_date", lambda v, _: f"{day_of(v):%m/%d}")),
    Plant(name="another year", pattern="date_part", change=put("issue_date", lambda v, _: f"{int(v[:4]) - 3}{v[4:]}")),
    Plant(name="euro for dollar", pattern="currency_symbol", change=put("deposit", lambda v, _: v.replace("$", "€"))),
    Plant(name="no currency", pattern="currency_symbol", change=put("deposit", lambda v, _: v.replace("$", ""))),
    Plant(name="no unit", pattern="unit", change=put("weight", lambda v, _: v.split()[0])),
    Plant(name="unit added", pattern="unit", change=put("population", lambda v, _: f"{v} kg")),
    Plant(name="no leading zeros", pattern="leading_zeros", change=put("customer", lambda v, _: v.lstrip("0"))),
    Plant(name="no minus", pattern="sign", change=put("discount", lambda v, _: -v)),
    Plant(name="decimal comma", pattern="number_format", change=put("total", lambda v, _: f"{v:.2f}".replace(".", ","))),
    Plant(name="German numbers", pattern="number_format",
          change=put("total", lambda v, _: f"{v:,.2f}".replace(",", "_").replace(".", ",").replace("_", "."))),
    Plant(name="grouped numbers", pattern="number_format", change=put("population", lambda v, _: f"{v:,}")),
    Plant(name="point read as decimal", pattern="thousands_separator", change=put("population", lambda v, _: v / 1000)),
    Plant(name="cents", pattern="scale", change=put("total", lambda v, _: round(v * 100))),
    Plant(name="thousands", pattern="scale", change=put("subtotal", lambda v, _: round(v * 1000))),
    Plant(name="percent", pattern="scale", prepare=put("discount", lambda _, c: c.randrange(11, 99) / 100),
          change=put("discount", lambda v, _: round(v * 100))),
    Plant(name="whole numbers", pattern="rounded", prepare=put("total", lambda v, _: int(v) + 0.37),
          change=put("total", lambda v, _: round(v))),
    Plant(name="no accents", pattern="accents", prepare=put("vendor.name", lambda v, _: f"Café {v}"),
          change=put("vendor.name", lambda v, _: v.replace("é", "e"))),
    Plant(name="no commas", pattern="punctuation", prepare=put("vendor.name", lambda v, _: f"{v}, Inc."),
          change=put("vendor.name", lambda v, _: v.replace(",", "").replace(".", ""))),
    Plant(name="last word first", pattern="word_order",
          change=put("vendor.name", lambda v, _: " ".join([*v.split()[1:], v.split()[0]]))),
    Plant(name="cut off", pattern="truncated", change=put("notes", lambda v, _: v[:18])),
    Plant(name="cut off with dots", pattern="truncated", change=put("notes", lambda v, _: f"{v[:18]}…")),
    Plant(name="last words only", pattern="partial_text", change=put("notes", lambda v, _: v[12:])),
    Plant(name="with a label", pattern="extra_text", change=put("vendor.name", lambda v, _: f"Seller: {v}")),
    Plant(name="O for zero", pattern="similar_characters", prepare=put("purchase_order", lambda _, c: f"PO{c.randrange(100):02}0{c.randrange(10)}0X"),
          change=put("purchase_order", lambda v, _: v[:2] + v[2:].replace("0", "O"))),
    Plant(name="wrong digit", pattern="one_digit", prepare=put("total", lambda _, c: c.randrange(1_000, 9_000) + 0.25),
          change=put("total", other_digit)),
    Plant(name="typo", pattern="misspelled", change=put("notes", typo)),
    Plant(name="other words", pattern="different", change=put("notes", random_words)),
    Plant(name="column shifted", pattern="shifted_rows", change=in_items(moved_column)),
    Plant(name="column shifted by index", pattern="shifted_rows", change=in_items(moved_column), rules=BY_INDEX),
    Plant(name="items shuffled by index", pattern="item_order", change=in_items(shuffled), rules=BY_INDEX),
    Plant(name="items with mistakes shuffled", pattern="item_order", hidden=1, change=in_items(shuffled_with_mistakes), rules=BY_INDEX),
    Plant(name="numbers in another order", pattern="item_order", change=lambda d, c: shuffled(d["codes"], c)),
    Plant(name="first item missing by index", pattern="item_offset", change=in_items(lambda v, _: v.pop(0)), rules=BY_INDEX),
    Plant(name="item inserted by index", pattern="item_offset",
          change=in_items(lambda v, _: v.insert(1, {**v[0], "description": "Carriage", "amount": 4.75, "quantity": 61})), rules=BY_INDEX),
    Plant(name="amount of another row", pattern="other_row", change=in_items(other_amount)),
    Plant(name="totals exchanged", pattern="other_field", change=exchange("subtotal", "total")),
    Plant(name="date of another field", pattern="other_field", change=lambda d, _: d.update(issue_date=d["due_date"])),
    Plant(name="box as corner and size", pattern="box_format", change=put("bbox", with_size)),
    Plant(name="expected box as corner and size", pattern="box_format", prepare=put("bbox", with_size),
          change=put("bbox", lambda v, _: [v[0], v[1], v[0] + v[2], v[1] + v[3]])),
    Plant(name="box with y first", pattern="box_axes", change=put("bbox", lambda v, _: [v[1], v[0], v[3], v[2]])),
    Plant(name="box in shares", pattern="box_unit", change=put("bbox", in_shares)),
    Plant(name="box of a scaled image", pattern="box_unit", change=put("bbox", lambda v, _: [round(n * 1.5) for n in v])),
    Plant(name="box shifted", pattern="box_shifted", change=put("bbox", moved_by(3))),
    Plant(name="box inexact", pattern="box_inexact", change=put("bbox", jittered)),
    Plant(name="box elsewhere", pattern="different", change=put("bbox", lambda _, c: [5, 6, 25 + c.randrange(9), 17])),
    Plant(name="boxes of items shifted", pattern="box_shifted", change=in_stamps(moved_by(3))),
    Plant(name="boxes of items in shares", pattern="box_unit", change=in_stamps(in_shares)),
    Plant(name="boxes of items as corner and size", pattern="box_format", change=in_stamps(with_size)),
    Plant(name="boxes of items inexact", pattern="box_inexact", change=in_stamps(jittered)),
    Plant(name="item missing", pattern="missing_item", change=in_items(lambda v, _: v.pop(1))),
    Plant(name="item twice", pattern="extra_item", change=in_items(lambda v, _: v.append(v[0]))),
    Plant(name="null", pattern="null_value", change=put("notes", lambda *_: None)),
    Plant(name="blank", pattern="blank_value", change=put("notes", lambda *_: " ")),
    Plant(name="key missing", pattern="missing_key", change=drop("notes")),
    Plant(name="value for null", pattern="extra_value", prepare=put("notes", lambda *_: None),
          change=put("notes", random_words)),
    Plant(name="unknown key", pattern="extra_key", change=lambda d, c: d.update(remark=random_words("", c))),
)  # fmt: skip


def planted(plant: Plant, seed: int, cases: int = CASES) -> list[tuple[Document, Document]]:
    """Return expected documents, and candidates with one cause of mistakes."""
    chance = random.Random(f"{plant.name} {seed}")
    pairs = []
    for expected in invoices(seed, cases):
        if plant.prepare is not None:
            plant.prepare(expected, chance)
        candidate = deepcopy(expected)
        plant.change(candidate, chance)
        pairs.append((expected, candidate))
    return pairs
