"""What a run looks like: tables for terminals, files and notebooks."""

from __future__ import annotations
