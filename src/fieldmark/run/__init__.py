"""Runs: read, compare, evaluate, count and save cases."""

from __future__ import annotations
