"""Run the command line with `python -m fieldmark`."""

from __future__ import annotations

from fieldmark.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
