"""In which order the dates of each attribute are written, as its unambiguous dates show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, TypeAlias

from fieldmark.model.json import JsonValue, Missing
from fieldmark.values.dates import DateOrder
from fieldmark.values.paths import leaves

NUMERIC_DATE: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})[/.\- ]([0-9]{2}|[0-9]{4})\Z")
"""A date of numbers whose year is last: its day and month can be in either order."""
_MAX_CASES: Final = 2_000
"""The number of cases whose dates are examined."""
_MAX_MONTH: Final = 12
_INDEX: Final = re.compile(r"\[[0-9]+\]")

SidesOrder: TypeAlias = "tuple[DateOrder | None, DateOrder | None]"
"""The order of the expected and of the candidate dates; `None` if it is not known."""
Documents: TypeAlias = "tuple[JsonValue | Missing, JsonValue | Missing]"
UNKNOWN: Final[SidesOrder] = (None, None)


class DateOrders:
    """The orders of dates by attribute, from the documents of a run.

    The documents are read once, when an order is first asked for. A day above 12 shows the order of
    its side; if two dates show different orders, no order is known.
    """

    __slots__ = ("_documents", "_orders")

    def __init__(self, documents: Callable[[], Iterable[Documents]]) -> None:
        self._documents = documents
        self._orders: dict[str, tuple[set[DateOrder], set[DateOrder]]] | None = None

    def of(self, attribute: str) -> SidesOrder:
        """Return the orders of the dates of an attribute."""
        if self._orders is None:
            self._orders = {}
            for documents in islice(self._documents(), _MAX_CASES):
                for side, document in enumerate(documents):
                    if not isinstance(document, Missing):
                        _add_orders(self._orders, side, document)
        shown = self._orders.get(attribute)
        if shown is None:
            return UNKNOWN
        expected, candidate = (next(iter(side)) if len(side) == 1 else None for side in shown)
        return expected, candidate


def _add_orders(
    orders: dict[str, tuple[set[DateOrder], set[DateOrder]]], side: int, document: JsonValue
) -> None:
    """Add the orders that the dates of one document show."""
    for path, value in leaves(document):
        match = NUMERIC_DATE.match(value.strip()) if isinstance(value, str) else None
        if match is None:
            continue
        first, second = int(match[1]), int(match[2])
        if (first > _MAX_MONTH) != (second > _MAX_MONTH):
            order = DateOrder.DMY if first > _MAX_MONTH else DateOrder.MDY
            orders.setdefault(_INDEX.sub("[]", path), (set(), set()))[side].add(order)
