"""The majority vote of flat fields and of keyed items, computed slowly from the definitions."""

from __future__ import annotations

import json
from collections import Counter

NOTHING = "nothing"


def most_frequent(values):
    """Return the JSON texts of the most frequent values; all empty values are the same."""
    texts = [NOTHING if value in (None, "") else json.dumps(value) for value in values]
    counts = Counter(texts)
    return {text for text, count in counts.items() if count == max(counts.values())}


def agreement(values):
    """Return the share of pairs of values that are equal."""
    texts = [NOTHING if value in (None, "") else json.dumps(value) for value in values]
    pairs = [(a, b) for place, a in enumerate(texts) for b in texts[place + 1 :]]
    return sum(a == b for a, b in pairs) / len(pairs)


def fields(documents, key):
    """Return the most frequent values of every field of documents with a list `items` by key.

    A field of an item is voted on by the documents that have the item.
    """
    found = {}
    names = {name for document in documents for name in document if name != "items"}
    for name in names:
        found[name] = most_frequent([document.get(name) for document in documents])
    lists = [document.get("items") or [] for document in documents]
    voters = [items for items in lists if items]
    for name in {item[key] for items in lists for item in items}:
        own = [item for items in voters for item in items if item[key] == name]
        absent = len(voters) - len(own)
        for attribute in {part for item in own for part in item}:
            values = [item.get(attribute) for item in own]
            kept = {True: most_frequent(values), False: {NOTHING}, None: None}
            verdict = None if len(own) == absent else len(own) > absent
            found[name, attribute] = kept[verdict]
    return found
