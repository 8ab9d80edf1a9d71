"""The results of a run as records, and the JSON form of everything that is stored or sent."""

from __future__ import annotations
