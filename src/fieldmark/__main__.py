"""Run the command line with `python -m fieldmark`."""

from __future__ import annotations

from fieldmark.cli.main import main

if __name__ == "__main__":
    main()
