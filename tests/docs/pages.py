"""Parses the Markdown pages: fenced blocks, links and headings.

What is run, according to the first line of a fenced block:

    ```python             runs as a doctest if it contains `>>>` prompts; otherwise it must compile
    ```console            runs every `$ fieldmark ...` line; the output below it must match,
                          where `...` matches anything; output may be omitted
    ```console exit=1     the last command of the block must have this exit code
    ```yaml file=x.yaml   is written to the directory of the page
    ```console skip       is not run

A console block with another program (`$ pip install ...`) is not run. The blocks of a page share
one directory, which contains the sample data, and one Python namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNNABLE = frozenset({"cat", "echo", "fieldmark", "head", "ls", "python"})

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$",
    re.MULTILINE | re.DOTALL,
)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    language: str
    words: tuple[str, ...]
    body: str
    line: int

    def option(self, name: str) -> str | None:
        """Return the text after `name=` in the first line of the block."""
        return next((w.partition("=")[2] for w in self.words if w.startswith(f"{name}=")), None)

    def commands(self) -> list[tuple[str, str]]:
        """Return each command of a console block with the output below it."""
        parts = re.split(r"^\$ ", self.body, flags=re.MULTILINE)[1:]
        joined = (part.replace("\\\n", " ").partition("\n") for part in parts)
        return [(command, shown) for command, _, shown in joined]

    def runs(self) -> bool:
        """Return whether a console block is run: it is not skipped and has only known programs."""
        programs = {command.split()[0] for command, _ in self.commands()}
        return "skip" not in self.words and bool(programs) and programs <= RUNNABLE


def pages() -> list[Path]:
    """Return all documentation pages."""
    found = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")}
    return sorted(found)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    for fence in FENCE.finditer(text):
        language, *words = fence["info"].split() or [""]
        indent = re.compile(f"^{fence['indent']}", re.MULTILINE)
        yield Block(
            language=language,
            words=tuple(words),
            body=indent.sub("", fence["body"]),
            line=text.count("\n", 0, fence.start()) + 1,
        )


def prose(text: str) -> str:
    """Return a page without its code."""
    return INLINE_CODE.sub("", FENCE.sub("", text))


def links(text: str) -> list[str]:
    """Return the targets of all links on a page."""
    return LINK.findall(prose(text))


def anchors(text: str) -> set[str]:
    """Return the link anchors of all headings on a page."""
    headings = (
        re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(FENCE.sub("", text))
    )
    return {heading.strip().replace(" ", "-") for heading in headings}
