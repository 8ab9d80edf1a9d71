"""Measure what an installation of fieldmark and each of its extras takes on disk.

Run it with the Python of an environment in which fieldmark is installed with all extras, not as an
editable install. With `--core`, it prints the size of everything that is installed, in MB.
"""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from typing import Final

PACKAGE: Final = "fieldmark"
TOOLS: Final = frozenset({"pip", "setuptools", "wheel"})
MEGABYTE: Final = 1_000_000


def size(dist: Distribution) -> int:
    """Return the bytes of all files of a distribution."""
    paths = [dist.locate_file(file) for file in dist.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())  # type: ignore[attr-defined]


def closure(name: str, extras: frozenset[str]) -> dict[str, int]:
    """Return the sizes of a distribution and of all that it requires, by name."""
    from packaging.requirements import Requirement  # absent from an environment of users
    from packaging.utils import canonicalize_name

    found: dict[str, int] = {}
    waiting = [(canonicalize_name(name), extras)]
    seen = set(waiting)
    while waiting:
        current, wanted = waiting.pop()
        dist = distribution(current)
        found[current] = size(dist)
        for text in dist.requires or ():
            need = Requirement(text)
            marker = need.marker
            if marker and not any(marker.evaluate({"extra": each}) for each in {"", *wanted}):
                continue
            entry = canonicalize_name(need.name), frozenset(need.extras)
            if entry not in seen:
                seen.add(entry)
                waiting.append(entry)
    return found


def main() -> None:
    """Print the sizes as a table."""
    if sys.argv[1:] == ["--core"]:
        installed = {each.name.lower(): each for each in distributions()}
        total = sum(size(each) for name, each in installed.items() if name not in TOOLS)
        print(round(total / MEGABYTE))
        return
    core = closure(PACKAGE, frozenset())
    extras = distribution(PACKAGE).metadata.get_all("Provides-Extra") or []
    print("| installed | packages | size |\n|---|--:|--:|")
    print(f"| `{PACKAGE}` | {len(core)} | {sum(core.values()) / MEGABYTE:.0f} MB |")
    for extra in sorted(set(extras) - {"dev"}):
        try:
            added = closure(PACKAGE, frozenset({extra}))
        except PackageNotFoundError as error:
            sys.exit(f"{extra}: {error.name} is not installed")
        new = [bytes_ for name, bytes_ in added.items() if name not in core]
        megabytes = sum(new) / MEGABYTE
        shown = f"{megabytes:.0f}" if megabytes >= 1 else f"{megabytes:.1f}"
        print(f"| `{PACKAGE}[{extra}]` | + {len(new)} | + {shown} MB |")


if __name__ == "__main__":
    main()
