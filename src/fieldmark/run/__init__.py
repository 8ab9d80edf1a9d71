"""One pass over the cases of a run."""

from __future__ import annotations
