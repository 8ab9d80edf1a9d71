"""Reads the Markdown pages: their fenced blocks, their links and their headings.

What runs, and how a page says so in the first line of a fenced block:

    ```python             run as a doctest if it holds `>>>` prompts; otherwise it must compile
    ```console            every `$ fieldmark ...` line is run; output shown below it must match,
                          where `...` stands for anything; shown output may be left out
    ```console exit=1     the last command of the block must end with this exit code
    ```yaml file=x.yaml   is written to the page's own folder before the blocks after it run
    ```console skip       is only read

A console block with another program (`$ pip install ...`) is only read. The blocks of a page share
one folder, in which the sample data lies, and one Python namespace.
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
        """The text after `name=` in the first line of the block."""
        return next((w.partition("=")[2] for w in self.words if w.startswith(f"{name}=")), None)

    def commands(self) -> list[tuple[str, str]]:
        """Each command of a console block with the output shown below it."""
        parts = re.split(r"^\$ ", self.body, flags=re.MULTILINE)[1:]
        joined = (part.replace("\\\n", " ").partition("\n") for part in parts)
        return [(command, shown) for command, _, shown in joined]

    def runs(self) -> bool:
        """Whether a console block is to be run: it is not skipped and knows all its programs."""
        programs = {command.split()[0] for command, _ in self.commands()}
        return "skip" not in self.words and bool(programs) and programs <= RUNNABLE


def pages() -> list[Path]:
    """The pages that a reader is sent to."""
    found = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")}
    return sorted(found)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
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
    """A page without its code."""
    return INLINE_CODE.sub("", FENCE.sub("", text))


def links(text: str) -> list[str]:
    """The targets of a page's links."""
    return LINK.findall(prose(text))


def anchors(text: str) -> set[str]:
    """The names by which the headings of a page can be linked to."""
    kept = (
        re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(FENCE.sub("", text))
    )
    return {heading.strip().replace(" ", "-") for heading in kept}
