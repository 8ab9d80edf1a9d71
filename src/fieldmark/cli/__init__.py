"""The `fieldmark` command and its subcommands."""

from __future__ import annotations
