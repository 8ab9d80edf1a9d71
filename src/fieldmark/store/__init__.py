"""Saved runs: writing, reading, listing and locking run directories."""

from __future__ import annotations
