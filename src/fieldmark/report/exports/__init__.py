"""Exports of saved runs for other tools, one module per format."""

from __future__ import annotations
