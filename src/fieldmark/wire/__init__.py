"""The records of results, and the JSON form of everything that is stored or sent."""

from __future__ import annotations
