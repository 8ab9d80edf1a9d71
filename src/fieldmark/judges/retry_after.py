"""The header by which a server says when to come again."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime

__all__ = ["seconds_to_wait"]


def seconds_to_wait(header: str | None) -> float | None:
    """The seconds that `Retry-After` asks for, written as a number or as a date.

    >>> seconds_to_wait("120"), seconds_to_wait("soon"), seconds_to_wait(None)
    (120.0, None, None)
    """
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(moment.timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
