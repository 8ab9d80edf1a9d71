"""Which items of two lists belong together."""

from __future__ import annotations

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import OnLimit, Optimal
from fieldmark.align.sets import SetAlign
from fieldmark.align.whole import Whole

__all__ = ["Greedy", "Index", "Key", "OnLimit", "Optimal", "SetAlign", "Whole"]
