"""Hostile strings in Chromium: displayed as text, never interpreted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from fieldmark.report.html.page import page as whole_page
from fieldmark.report.html.view import view_of
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.stored_run import open_run
from unit.web.live_server import write_jsonl
from waiting import eventually

LISTS = json.loads(
    (Path(__file__).parents[1] / "data" / "naughty" / "strings.json").read_text("utf-8")
)
OWN = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "\u2028alert(1)\u2029",
    "a\u202egnp.exe",
    "zero\u200bwidth",
    "\x00\x07\x1b[31m",
    "__proto__",
    "constructor",
    "toString",
    "&lt;b&gt; &amp;",
]
STRINGS = list(dict.fromkeys(text for texts in [*LISTS.values(), OWN] for text in texts if text))
NAMES = {text if len(text) <= 500 else f"long {len(text)}": text for text in STRINGS}
"""Ids and tags are truncated after 500 characters, values only after many more."""
CASES_PER_SCRIPT = 50
SHOWN_CASES = """
(async () => {
  const found = [];
  for (let rank = %d; rank < %d; rank += 1) {
    const shown = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = `case-${rank + 1}`;
    await shown;
    const all = document.getElementById("single");
    const texts = (selector) => [...all.querySelectorAll(selector)].map((each) => each.textContent);
    found.push({
      id: texts("#case-title")[0], keys: texts(".key"), literals: texts(".literal"), tags: texts(".tag"),
      judges: texts(".judge h3"), details: texts(".judge pre"),
      blanks: texts(".blank .kind"),
    });
  }
  return found;
})()
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report in which every hostile string is an id, a key, a value, a tag and a reason."""
    directory = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "id": name,
            "expected": {text: text, "items": [{text: text}], "other": text},
            "candidate": {text: text, "items": [{text: f"{text}!"}], "other": 1},
            "tags": [name],
        }
        for name, text in NAMES.items()
    ]
    write_jsonl(directory / "rows.jsonl", rows)
    fm.score(directory / "rows.jsonl", out=directory / "run")
    results = directory / "run" / "results.jsonl"
    changed = [
        _with_evaluator(json.loads(line)) for line in results.read_text("utf-8").split("\n")[:-1]
    ]
    write_jsonl(results, changed)
    summary = json.loads((directory / "run" / "summary.json").read_text("utf-8"))
    summary["warnings"] = STRINGS
    summary["gates"] = [
        {"name": text, "kind": "min", "limit": 1, "value": 0.5, "passed": False, "note": text}
        for text in STRINGS
    ]
    (directory / "run" / "summary.json").write_text(json.dumps(summary), "utf-8")
    return write_report(directory / "run")


def _with_evaluator(row):
    name = row["case_id"]
    text = NAMES[name]
    judge = {
        "name": text, "type": text, "weight": 1, "score": 0, "verdict": "fail", "status": "ok",
        "reasoning": text, "hits": [text], "misses": [text], "details": {text: text},
    }  # fmt: skip
    return {**row, "tags": [name], "evaluator_results": [judge]}


def test_every_string_is_shown_unchanged(open_page, hostile):
    page = open_page(hostile)
    shown = {}
    for start in range(0, len(NAMES), CASES_PER_SCRIPT):
        end = min(start + CASES_PER_SCRIPT, len(NAMES))
        shown.update((each["id"], each) for each in page.run(SHOWN_CASES % (start, end)))
    assert set(shown) == set(NAMES)
    for name, text in NAMES.items():
        each = shown[name]
        assert text in each["keys"]
        assert {text, f"{text}!"} <= set(each["literals"])
        assert each["tags"] == [name]
        assert each["judges"] == [text]
        assert json.loads(each["details"][0]) == {text: text}
        # A field on both sides, another on one side, the reasoning, a hit and a miss.
        # Blank values are named.
        assert each["literals"].count(text) + len(each["blanks"]) >= 6
        assert not (text.strip() and each["blanks"])
    warnings = page.run(
        "[...document.querySelectorAll('#method .notice')].map((n) => n.textContent)"
    )
    assert warnings == STRINGS
    gates = page.run("[...document.querySelectorAll('.gate-name')].map((n) => n.textContent)")
    assert gates == STRINGS


def test_the_policy_blocks_other_scripts(browser, hostile, tmp_path):
    """Even if a string became markup, the policy would block its scripts."""
    path = tmp_path / "broken.html"
    attack = b'<body><img src="https://example.invalid/x" onerror="document.title=1"><script>document.title=2</script>'
    path.write_bytes(hostile.read_bytes().replace(b"<body>", attack, 1))
    page = browser.page()
    page.open(path)

    def blocked():
        page.settle()
        return [each for each in page.errors if "Content Security Policy" in each]

    assert eventually(lambda: len(blocked()) >= 2)
    assert page.run("document.title") not in {"1", "2"}
    assert page.dialogs == []
    page.close()


def test_lone_surrogates_are_shown_as_replacement_characters(open_page, tmp_path):
    fm.score([({"k": "a"}, {"k": "b"})], out=tmp_path / "run")
    stored = open_run(tmp_path / "run")
    (case,) = stored.cases()
    broken = case.case._replace(
        id="lone \ud83d",
        expected={"k\udc00": "a\ud800b"},
        candidate={"k\udc00": "a\ud800c"},
    )
    cases = [replace(case, case=broken)]
    run = ShownRun(name="x", manifest=stored.manifest, summary=stored.summary, cases=lambda: cases)
    path = tmp_path / "broken.html"
    path.write_bytes(whole_page(view_of(run)))
    page = open_page(path)
    page.run("void (location.hash = 'case-1')")
    page.wait("document.getElementById('case-title')")
    assert page.text("#case-title") == "lone \ufffd"
    assert "a\ufffdb" in page.text(".documents")
