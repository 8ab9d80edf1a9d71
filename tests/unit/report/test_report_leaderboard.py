"""The report of a ranking: one page with its data, and nothing of it as markup."""

from __future__ import annotations

import json
import re

import pytest

import fieldmark as fm

TRUTH = [{"id": str(n), "a": n, "b": "x"} for n in range(12)]


@pytest.fixture(scope="module")
def ranking():
    wrong = [{**row, "a": -1} for row in TRUTH]
    hostile = "</script><img src=x onerror=alert(1)>"
    return fm.score_many(TRUTH, {"good": TRUTH, hostile: wrong}).ranking


def test_page_contains_the_ranking_as_data(ranking, tmp_path):
    ranking.save(tmp_path / "ranking.html")
    text = (tmp_path / "ranking.html").read_text("utf-8")
    match = re.search(r'<script type="application/json" id="board">(.*?)</script>', text, re.DOTALL)
    board = json.loads(match[1])
    assert board == {**ranking.to_dict(), "title": "macro F1 by attribute", "tied": []}
    assert "<img" not in text
    assert "default-src 'none'" in text


def test_difference_is_never_shown_as_none():
    truth = [{"id": str(n), "a": n, "b": n, "c": n, "d": n} for n in range(600)]
    wrong = [{**row, "a": -1} if row["id"] == "7" else row for row in truth]
    ranking = fm.score_many(truth, {"one": truth, "two": wrong}).ranking
    assert ranking.pair(0, 1).delta == pytest.approx(1 / 2400)
    assert "−<0.001" in str(ranking)


def test_command_writes_the_page(ranking, tmp_path, monkeypatch, capsys):
    import sys

    from fieldmark.cli import main

    monkeypatch.chdir(tmp_path)
    for name, rows in (("one", TRUTH), ("two", TRUTH[:6])):
        fm.score(TRUTH, rows, out=f"runs/{name}", intervals=False)
    monkeypatch.setattr(sys, "argv", ["fieldmark", "rank", "one", "two", "--html", "ranking.html"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert not ended.value.code
    assert capsys.readouterr().err == "wrote ranking to ranking.html\n"
    assert b'id="board"' in (tmp_path / "ranking.html").read_bytes()
