"""Stored runs in the formats that other tools read, one module for each format."""

from __future__ import annotations
