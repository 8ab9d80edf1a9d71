"""JSONL files of documents in any notation, hostile and broken ones among them.

Everything is derived from a seed, so that another process can create the same bytes.
"""

from __future__ import annotations

import json
from random import Random
from typing import Final

__all__ = ["STYLES", "encoded", "mutated", "two_sides"]

TEXTS: Final = (
    "", " ", "\t", "\u00a0", "\u2003", "n/a", "N/A", "-", "Acme", "acme ", "é", "e\u0301", "日本",
    'a"b', "a\\b", "a/b", "x\ny", "😀", "\x7f", "\\", "2024-01-02", "01/02/2024", "02.01.2024",
    "13/01/2024", "1", "1.0", "true", "null", "(", "[a-", ".*", "long " * 10, "long ", "0 - 20",
    "0 \N{EN DASH} 20", "m2", "m²",
)  # fmt: skip
NUMBERS: Final = (0, 1, 1.0, -1, 2.5, 100.004, 100, 10**17, 10**18 - 1, 0.1, 123456789.123456789)
ZEROS: Final = ("0", "-0", "0.0", "-0.0", "0.00")
UNUSUAL: Final = (
    "1e3", "1E-2", "123456789012345678901", "1" * 60, "[]", "{}", "[1]", "1e999", "-0", "1.50",
    "0.00001", "1.7976931348623157e99", "123456789012345678.5", "[" * 30 + "]" * 30, "NaN",
    '"\\ud83d\\ude00"', '"\\ud800"', '{"a": 1, "a": 2}', '"\\/"', '"\\u0020"', "9007199254740993",
)  # fmt: skip
"""Values that are often left to the Python code."""
WORDS: Final = ("blue", "Blue ", "bleu", "red", "rede", "black", "2024-01-02", "2024-01-03", "ß", "",
                " ", "x" * 70, "x" * 69 + "y", '1/2" pipe', "Köln", "0 - 20",
                "0 \N{EN DASH} 20", "0 \N{MINUS SIGN} 20", None)  # fmt: skip
"""Texts of list items: many are similar, so that there are ties."""
FIELDS: Final = ("a", "b", "date", "é k", "only")
STYLES: Final = (
    ("bare", "bare"),
    ("id inside", "id inside"),
    ("envelope", "envelope"),
    ("id inside", "envelope"),
    ("envelope", "bare"),
    ("id inside", "id in both"),
)
"""How the rows of truth and candidate contain their documents."""
ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
BROKEN_BYTES: Final = (
    b'\0\t\n\r "\\/{}[],:-+.0159eEnulltrufas\x80\xc3\xe0\xed\xf0\xf4\xff\xef\xbb\xbf\x1f\x7f'
)


def _scalar(chance: Random) -> object:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(TEXTS)
    return chance.choice(NUMBERS if kind < 0.85 else (None, True, False))


def _item(chance: Random, level: int = 0) -> object:
    kind = chance.random()
    if kind < 0.08 or level > 2:
        return _scalar(chance)
    if kind < 0.12:
        return [_item(chance, level + 1) for _ in range(chance.randrange(3))]
    keys = chance.sample(("name", "qty", "price", "note", "it's", "é"), chance.randrange(5))
    item: dict[str, object] = {}
    for key in keys:
        kind = chance.random()
        item[key] = (
            chance.choice(WORDS)
            if kind < 0.6
            else chance.choice((1, 2, 2.0, 2.5, -0.0, True, 1e17, None))
            if kind < 0.95
            else {"deep": _item(chance, level + 1)}
        )
    return item


def _items(chance: Random) -> list[object]:
    number = chance.choice((0, 1, 2, 3, 3, 4, 6, 25))
    if chance.random() < 0.3:
        return [chance.choice(WORDS) for _ in range(number)]
    return [_item(chance) for _ in range(number)]


def _changed_items(chance: Random, items: list) -> list[object]:
    found = []
    for item in items:
        kind = chance.random()
        if kind < 0.1:
            continue
        if isinstance(item, dict) and kind < 0.5 and item:
            changed = {**item, chance.choice([*item]): chance.choice((*WORDS, 1, 2, 2.0))}
            found.append(changed)
        else:
            found.append(item)
    if chance.random() < 0.3:
        found.append(_item(chance))
    if chance.random() < 0.4:
        chance.shuffle(found)
    return found


def _document(chance: Random, *, full: bool, lists: bool) -> dict[str, object]:
    made = {key: _scalar(chance) for key in FIELDS if full or chance.random() < 0.85}
    inner = {key: _scalar(chance) for key in ("x", "y") if full or chance.random() < 0.85}
    if full or chance.random() < 0.6:
        inner["m"] = {"z": _scalar(chance)}
    if inner and (full or chance.random() < 0.85):
        made["n"] = inner
    if lists:
        made["rows"] = _items(chance)
        if chance.random() < 0.3:
            made["n"] = {**inner, "rows": _items(chance)}
        if chance.random() < 0.05:
            made |= {f"wide {number}": number for number in range(40)}
    return made


def _changed(chance: Random, value: dict, odd: float) -> dict[str, object]:
    """Return a prediction for a document; `odd` is how often its form changes."""
    found: dict[str, object] = {}
    for key, inner in value.items():
        kind = chance.random()
        if kind < 0.08:
            continue
        if isinstance(inner, dict):
            hollow = chance.choice([None, {}, [], "text"])
            found[key] = hollow if kind < 0.08 + odd else _changed(chance, inner, odd) or inner
        elif isinstance(inner, list):
            found[key] = _scalar(chance) if kind < 0.08 + odd else _changed_items(chance, inner)
        else:
            found[key] = None if kind < 0.13 else _scalar(chance) if kind < 0.25 else inner
    if chance.random() < 0.05:
        found["a" if "date" in value else "x"] = _scalar(chance)
    if chance.random() < odd:
        found["further"] = _scalar(chance)
    return found


def _blank(chance: Random) -> str:
    return chance.choice(("", "", "", "", "", "", " ", "  ", "\t", "\r"))


def _text(chance: Random, text: str, odd: float) -> str:
    letters = [
        f"\\u{ord(letter):04x}"
        if letter < "\uffff" and chance.random() < odd / 5
        else "\\/"
        if letter == "/" and chance.random() < 0.5
        else ESCAPES.get(letter, letter)
        for letter in text
    ]
    return f'"{"".join(letters)}"'


def encoded(chance: Random, value: object, odd: float = 0.0) -> str:
    """Return a value as JSON in one of its notations; `odd` is how often it is unusual."""
    if isinstance(value, list):
        inner = (f"{_blank(chance)}{encoded(chance, item, odd)}{_blank(chance)}" for item in value)
        return f"[{_blank(chance)}{','.join(inner)}]"
    if isinstance(value, dict):
        items = list(value.items())
        if chance.random() < 0.15:
            chance.shuffle(items)
        fields = (
            f"{_blank(chance)}{_text(chance, key, odd)}{_blank(chance)}:{_blank(chance)}"
            f"{encoded(chance, inner, odd)}{_blank(chance)}"
            for key, inner in items
        )
        return f"{{{_blank(chance)}{','.join(fields)}}}"
    if chance.random() < odd / 5:
        return chance.choice(UNUSUAL)
    if isinstance(value, str):
        return _text(chance, value, odd)
    if value == 0 and type(value) is int and chance.random() < 0.5:
        return chance.choice(ZEROS)
    return json.dumps(value)


def _file(chance: Random, rows: list, style: str, key: str, odd: float) -> bytes:
    lines = []
    for name, document in rows:
        row = {
            "bare": document,
            "id inside": {"id": name, **document},
            "envelope": {"id": name, key: document},
            "id in both": {"id": name, key: {"id": name, **document}},
        }[style]
        if key == "candidate" and style == "envelope" and chance.random() < odd:
            answer = encoded(chance, document)
            row[key] = chance.choice(
                (answer, f"Here: {answer}", answer[: len(answer) // 2], "none")
            )
        line = encoded(chance, row, odd)
        if chance.random() < odd / 2:
            line = chance.choice(
                (line[:-1], f"{line}\n", f'{{"id": "0003", {line.lstrip()[1:]}', "7")
            )
        lines.append(line + chance.choice(("", "", "", "\r")))
    end = chance.choice(("\n", "\n", "", " \n"))
    mark = chance.choice(("", "", "", "\ufeff"))
    return f"{mark}{chr(10).join(lines)}{end}".encode()


def two_sides(seed: int, *, rows: int = 30, lists: bool = False) -> tuple[bytes, bytes]:
    """Return truth and candidate as JSONL: mostly in the same order, sometimes with unusual rows."""
    chance = Random(seed)
    odd = chance.choice((0.0, 0.0, 0.01, 0.05))
    numbers = range(rows)
    truth = [
        (f"{n:04}" if chance.random() < 1 - odd else n, _document(chance, full=n < 3, lists=lists))
        for n in numbers
    ]
    found = [(name, _changed(chance, value, odd) if n >= "0003" else value)
             for (name, value), n in zip(truth, map("{:04}".format, numbers), strict=True)]  # fmt: skip
    disorder = chance.random()
    if disorder < 0.1:
        chance.shuffle(found)
    elif disorder < 0.3:
        found[5:9] = found[5:9][::-1]
    elif disorder < 0.5:
        del found[chance.randrange(rows)]
    elif disorder < 0.6:
        found.insert(chance.randrange(rows), ("extra", _document(chance, full=False, lists=lists)))
    styles = chance.choice(STYLES)
    return (
        _file(chance, truth, styles[0], "expected", odd),
        _file(chance, found, styles[1], "candidate", odd),
    )


def mutated(chance: Random, block: bytes) -> bytes:
    """Return the bytes after one or two flips, insertions, deletions, duplications or truncations."""
    changed = bytearray(block)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(changed) + 1)
        to = min(len(changed), at + chance.choice((1, 1, 2, 5, 20)))
        other = chance.randrange(len(changed) + 1)
        piece = bytes([chance.choice(BROKEN_BYTES)])
        start, end, new = chance.choice(
            (
                (at, at, piece),
                (at, to, piece),
                (at, to, b""),
                (at, at, bytes(changed[other : other + 20])),
                (at, len(changed), b""),
                (at, at + 1, bytes([chance.randrange(256)])),
            )
        )
        changed[start:end] = new
    return bytes(changed)
