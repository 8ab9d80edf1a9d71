"""Tests with real models, which are large: collected only if `FIELDMARK_MODELS` is set."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("FIELDMARK_MODELS") else ["test_*.py"]
