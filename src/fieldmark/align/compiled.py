"""The part of this room that is written in C, where it was compiled.

It says what the Python modules say, only faster; each of them asks here which way to go.
"""

from __future__ import annotations

try:
    from fieldmark.align import _items as items
except ImportError:  # no compiler
    COMPILED = False
else:
    COMPILED = True

__all__ = ["COMPILED", "items"]
