"""The links of the pages lead to files and headings that exist."""

from __future__ import annotations

import re

import pytest

from docs.pages import anchors, blocks, links, named, pages


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


def test_a_broken_link_is_seen():
    text = '# One page\n\n[here](#one-page) `[not](a link)` [there](missing.md "title")\n'
    assert links(text) == ["#one-page", "missing.md"]
    assert anchors(text) == {"one-page"}
