"""The loop of every adapter: parse a pair, compare it, stop when the time is over.

Runs in the interpreter of a peer, so it imports nothing from this project.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

Kinds = dict[str, Any]
"""How each field is compared, nested as in the document; a list has the kinds of its items."""

INVOICE: Kinds = {
    "invoice_number": "text",
    "purchase_order": "text",
    "issue_date": "date",
    "due_date": "date",
    "vendor": {
        "name": "fuzzy",
        "tax_id": "text",
        "address": {"street": "fuzzy", "city": "text", "zip": "text", "country": "text"},
    },
    "currency": "text",
    "subtotal": "amount",
    "tax": "amount",
    "total": "amount",
    "payment_terms": "text",
    "notes": "fuzzy",
    "line_items": [
        {"description": "fuzzy", "quantity": "number", "unit_price": "amount", "amount": "amount"}
    ],
}
ORDER: Kinds = {
    "number": "text",
    "buyer": "fuzzy",
    "urgent": "text",
    "priority": "number",
    "weight": "number",
    "remark": "text",
    "lines": [
        {
            "sku": "text",
            "title": "fuzzy",
            "colour": "text",
            "size": "text",
            "count": "number",
            "price": "amount",
        }
    ],
}


def fields() -> Kinds:
    """Return the fields of the documents that are compared, for peers that need a schema."""
    with Path(sys.argv[1]).open("rb") as file:
        document = orjson.loads(file.readline())["expected"]
    return ORDER if "lines" in document else INVOICE


def drive(compare: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Compare the documents of the two files named on the command line; print the measurement."""
    truth, candidate, limit = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    documents = 0
    start = time.process_time()
    with truth.open("rb") as expected_file, candidate.open("rb") as candidate_file:
        for expected_line, candidate_line in zip(expected_file, candidate_file, strict=True):
            expected = orjson.loads(expected_line)["expected"]
            compare(expected, orjson.loads(candidate_line)["candidate"])
            documents += 1
            if time.process_time() - start > limit:
                break
    cpu = time.process_time() - start
    print(orjson.dumps({"documents": documents, "cpu": cpu}).decode())
