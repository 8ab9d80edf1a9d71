"""The optional C implementation of some functions of this package.

The Python functions are the specification; each of them checks here whether C is available.
"""

from __future__ import annotations

try:
    from fieldmark.align import _items as items
except ImportError:  # no compiler
    COMPILED = False
else:
    COMPILED = True

__all__ = ["COMPILED", "items"]
