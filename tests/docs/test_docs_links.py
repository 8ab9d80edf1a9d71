"""All links on the pages lead to existing files and headings."""

from __future__ import annotations

import re

import pytest

from docs.pages import anchors, blocks, links, named, pages


@pytest.mark.parametrize("page", pages(), ids=named)
def test_all_links_lead_to_a_file_and_a_heading(page):
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
def test_all_fenced_blocks_have_a_language(page):
    assert not [block.line for block in blocks(page.read_text("utf-8")) if not block.language]


def test_broken_link_is_detected():
    text = '# One page\n\n[here](#one-page) `[not](a link)` [there](missing.md "title")\n'
    assert links(text) == ["#one-page", "missing.md"]
    assert anchors(text) == {"one-page"}
