"""List all text of fieldmark that people read, for a review of its wording.

Python string literals with at least two words, except docstrings and patterns, and the string
literals and text of JavaScript, HTML and CSS files:

    python scripts/list_messages.py [--docstrings] [--comments] [PATH ...]
"""

from __future__ import annotations

import argparse
import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = re.compile(r"[A-Za-z]{2,}[,;:.]? +[A-Za-z{]")
SCRIPT_TEXT = re.compile(r"`(?:[^`\\]|\\.)*`|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|>[^<>{}]+<")


def main() -> None:
    """Print the text of the given files with its location."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "src"])
    parser.add_argument("--docstrings", action="store_true", help="list docstrings too")
    parser.add_argument("--comments", action="store_true", help="list comments too")
    options = parser.parse_args()
    for path in options.paths:
        for file in sorted(path.rglob("*.*")) if path.is_dir() else [path]:
            for line, text in texts(file, docstrings=options.docstrings, comments=options.comments):
                print(f"{file.resolve().relative_to(ROOT)}:{line}: {' '.join(text.split())}")


def texts(file: Path, *, docstrings: bool, comments: bool) -> Iterator[tuple[int, str]]:
    """The line number and text of each message in a file."""
    if file.suffix == ".py":
        found = list(python_strings(file, docstrings=docstrings))
        if comments:
            found += python_comments(file)
        yield from sorted(text for text in found if WORDS.search(text[1]))
    elif file.suffix in {".js", ".html"}:
        content = file.read_text("utf-8")
        for match in SCRIPT_TEXT.finditer(content):
            if WORDS.search(match[0]):
                yield content.count("\n", 0, match.start()) + 1, match[0].strip("`\"'<>")


def python_strings(file: Path, *, docstrings: bool) -> Iterator[tuple[int, str]]:
    """Return the string literals of a Python file, without docstrings unless asked for."""
    tree = ast.parse(file.read_text("utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not docstrings:
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr) and node not in skipped:
            yield node.lineno, f_string(node)
            skipped.update(ast.walk(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.lineno, node.value


def f_string(node: ast.JoinedStr) -> str:
    """Return an f-string with its expressions in braces."""
    return "".join(
        "{" + ast.unparse(part.value) + "}"
        if isinstance(part, ast.FormattedValue)
        else str(ast.literal_eval(part))
        for part in node.values
    )


def python_comments(file: Path) -> list[tuple[int, str]]:
    """Return the comments of a Python file."""
    with file.open("rb") as source:
        return [
            (token.start[0], token.string)
            for token in tokenize.tokenize(source.readline)
            if token.type == tokenize.COMMENT
        ]


if __name__ == "__main__":
    main()
