"""The pages lead somewhere, and nothing in the tree speaks of the place where it was written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from docs.pages import ROOT, anchors, blocks, links, named, pages

TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".cfg", ".sh", ".html", ".css", ".js", ""}
BORROWED = ("tests/data/", "tests/golden/", "src/fieldmark/sample/", "LICENSE")
"""What others wrote keeps their words."""

PRIVATE = {
    "a path of one machine": re.compile(
        r"(?<![\w.])/(?:work/(?:main|shared)|root/|home/\w+/|Users/\w+/)"
    ),
    "a package index": re.compile(
        r"--(?:extra-)?index-url|//[\w.-]+/simple\b|pythonhosted|artifactory", re.IGNORECASE
    ),
    "the number of an issue": re.compile(
        r"(?:\b(?:issue|pull request|PR|GH)[ -]?#?|(?<![\w&/#(\"'])#)\d+\b(?![-\w])", re.IGNORECASE
    ),
    "the number of a requirement": re.compile(
        r"\(00[0-4][):;, ]|\b00[0-4](?:'s\b| (?:asks|says|design)\b)"
    ),
}


def texts() -> list[Path]:
    """Every text file of the tree that this project wrote; without git, what lies in the usual folders."""
    git = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    listed = git.stdout.split("\0") if git.returncode == 0 else walked()
    own = (name for name in listed if name and not name.startswith(BORROWED))
    return sorted(path for name in own if (path := ROOT / name).suffix in TEXT and path.is_file())


def walked() -> list[str]:
    folders = ("src", "tests", "docs", "examples", "benchmarks", ".ci")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [named(path) for path in [*found, *ROOT.glob("*")] if "__pycache__" not in path.parts]


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_link_leads_to_a_file_and_a_heading(page):
    broken = []
    for target in links(page.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_fenced_block_says_its_language(page):
    assert not [block.line for block in blocks(page.read_text("utf-8")) if not block.language]


@pytest.mark.parametrize("secret", PRIVATE)
def test_no_file_names(secret):
    pattern = PRIVATE[secret]
    found = {
        named(path): pattern.findall(path.read_text("utf-8"))
        for path in texts()
        if path != Path(__file__)
    }
    assert not {name: hits for name, hits in found.items() if hits}


@pytest.mark.parametrize(
    ("secret", "text", "told"),
    [
        pytest.param("a path of one machine", "see /home/ann/data", True, id="a-home-folder"),
        pytest.param("a path of one machine", "/path/to/python", False, id="a-placeholder-path"),
        pytest.param("a package index", "pip install --index-url x", True, id="an-index-option"),
        pytest.param(
            "a package index", "https://host.test/" + "simple/", True, id="an-index-address"
        ),
        pytest.param("a package index", "pip install fieldmark", False, id="a-plain-install"),
        pytest.param("the number of an issue", "as in #12", True, id="a-hash-and-a-number"),
        pytest.param("the number of an issue", "see issue 12", True, id="an-issue-in-words"),
        pytest.param("the number of an issue", "colour: '#123456'", False, id="a-colour"),
        pytest.param("the number of an issue", "&#39;", False, id="an-escaped-character"),
        pytest.param(
            "the number of a requirement", "the table (003)", True, id="a-requirement-in-brackets"
        ),
        pytest.param(
            "the number of a requirement", "a tolerance of 0.001", False, id="a-small-number"
        ),
    ],
)
def test_a_private_name_is_seen(secret, text, told):
    assert bool(PRIVATE[secret].search(text)) is told


def test_a_broken_link_is_seen():
    text = '# One page\n\n[here](#one-page) `[not](a link)` [there](missing.md "title")\n'
    assert links(text) == ["#one-page", "missing.md"]
    assert anchors(text) == {"one-page"}
