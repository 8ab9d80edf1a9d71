"""Reports of runs: terminal tables, HTML, Markdown and exports."""

from __future__ import annotations
