"""Real models, which are large: only looked at where `FIELDMARK_MODELS` is set."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("FIELDMARK_MODELS") else ["test_*.py"]
