"""A case in a terminal: marks, differing characters, aligned items, what judges said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import fieldmark as fm
from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.report.case_view import case_list, case_view, differing_pieces
from fieldmark.report.html.cases import CaseLine
from fieldmark.report.terminal import as_text
from fieldmark.store.run_reader import open_run

TRUTH = {
    "vendor": "Acme GmbH",
    "total": 12.5,
    "items": [{"d": "Apples", "q": 3}, {"d": "Pears", "q": 2}, {"d": "Plums", "q": 1}],
    "date": "2024-01-02",
    "note": None,
}
FOUND = {
    "vendor": "Acme Gmbh",
    "total": "twelve",
    "items": [{"d": "Pears", "q": 2}, {"d": "Appels", "q": 3}, {"d": "Soap", "q": 9}],
    "note": None,
    "extra": "yes",
}
JUDGE = {
    "name": "tone",
    "type": "llm_judge",
    "score": 0.5,
    "weight": 2,
    "verdict": "partial",
    "status": "ok",
    "reasoning": "Polite,\nbut \x1b[31mlong.",
    "hits": ["greets"],
    "misses": ["rambles"],
    "skipped": ["signature"],
    "details": {"words": 512},
}


def stored(tmp_path, truth=TRUTH, found=FOUND, **options):
    row = {"id": "a", "expected": truth, "tags": ["scan"]}
    fm.score([row], [{"id": "a", "candidate": found}], out=tmp_path / "run", **options)
    return next(open_run(tmp_path / "run").cases())


def text(case, **options):
    shown = as_text(case_view(case, styled=False, **options), width=120)
    return "\n".join(line.rstrip() for line in shown.splitlines())


def test_both_documents_stand_side_by_side(tmp_path):
    assert (
        text(stored(tmp_path))
        == """\
case a  partial  score 0.167
3 omission, 3 hallucination, 1 format error, 2 wrong value; tags: scan

   Field         Expected         Candidate
x  vendor        "Acme Gmb[-H-]"  "Acme Gmb{+h+}"  wrong value; different
x  total         12.5             "twelve"         format error; type mismatch
   items         [3]              [3]
     [0] -> [1]  {2}              {2}              paired, 0.833 alike
x      d         "Appl[-e-]s"     "App{+e+}ls"     wrong value; different
=      q         3                3
     [1] -> [0]  {2}              {2}              paired, 1.000 alike
=      d         "Pears"          "Pears"
=      q         2                2
-    [2]         {2}                               lost item
-      d         "Plums"                           missing
-      q         1                                 missing
+    [2]                          {2}              invented item
+      d                          "Soap"           invented
+      q                          9                invented
-  date          "2024-01-02"                      missing
.  note          null             null             both empty
+  extra                          "yes"            invented"""
    )


def test_only_mistakes_leaves_out_what_is_right(tmp_path):
    lines = text(stored(tmp_path), only_mistakes=True).splitlines()
    assert not [line for line in lines if line.startswith(("=", "."))]
    assert sum(line.startswith(("x", "-", "+")) for line in lines) == 11


def test_without_values_paths_and_outcomes_are_left(tmp_path):
    shown = text(stored(tmp_path).without_values())
    assert "x  items[0].d  wrong value; different" in shown
    assert "Acme" not in shown
    assert "Expected" not in shown


def test_a_judge_tells_why(tmp_path):
    case = stored(tmp_path)
    judge = EvaluatorResult(
        name=JUDGE["name"], type=JUDGE["type"], weight=2.0, score=Score.from_dict(JUDGE)
    )
    overall = Score(score=0.5, verdict=None, reasoning="two judges")
    shown = text(replace(case, evaluator_results=(judge,), overall=overall))
    assert "\ntwo judges\n" in shown
    assert shown.endswith("""
tone (llm_judge)  partial  score 0.500  weight 2
  Polite,
  but \\x1b[31mlong.
  = greets
  x rambles
  ~ signature
  {
    "words": 512
  }""")


def test_why_there_is_no_candidate_is_said(tmp_path):
    case = stored(tmp_path, found="not json at all")
    shown = text(case)
    assert "the candidate is parse error" in shown
    assert case.note in shown


def test_what_no_rule_asks_about_is_shown_and_called_so(tmp_path):
    rules = {"fields": [{"path": "vendor", "match": "exact"}]}
    shown = text(stored(tmp_path, rules=rules, scope="configured"))
    assert "not compared" in shown


def test_a_terminal_with_colour_has_no_brackets(tmp_path):
    console = Console(force_terminal=True, color_system="standard", width=120, no_color=False)
    with console.capture() as capture:
        console.print(case_view(stored(tmp_path)))
    assert "[-" not in capture.get()
    assert "\x1b[1;4;31mH" in capture.get()


@pytest.mark.parametrize("value", ["\x1b[2J", "a\nb", "\u202e", "[bold]x[/bold]", "\ud800"])
def test_no_text_commands_the_terminal(tmp_path, value):
    case = stored(tmp_path)
    odd = case.case._replace(
        id=value,
        note=value,
        tags=(value,),
        expected={value: value, "vendor": value},
        candidate={value: f"{value}!", "vendor": f"{value}?"},
    )
    case = replace(case, case=odd)
    shown = text(case)
    assert not {"\x1b", "\u202e", "\ud800"} & set(shown)
    assert "[bold]x[/bold]" in shown if "bold" in value else True


def test_the_list_has_a_line_a_case_and_counts_the_rest():
    lines = [
        CaseLine("b", 0.0, "fail", "ok", "missing", (), ErrorCounts(omission=2)),
        CaseLine("a", None, None, "error", "ok", ("scan",), ErrorCounts(wrong_value=1)),
    ]
    shown = [line.split() for line in as_text(case_list(lines, 5)).splitlines()]
    assert shown == [
        ["Case", "Score", "Verdict", "Mistakes", "Tags"],
        ["b", "0.000", "fail", "missing,", "2", "omission"],
        ["a", "–", "error", "1", "wrong", "value", "scan"],
        ["…", "and", "3", "more", "cases:", "--top", "0", "shows", "them", "all"],
    ]


@given(st.text(max_size=40), st.text(max_size=40))
def test_pieces_joined_are_the_texts(expected, candidate):
    ours, theirs = differing_pieces(expected, candidate)
    assert "".join(piece.text for piece in ours) == expected
    assert "".join(piece.text for piece in theirs) == candidate
    shared = [[piece.text for piece in side if piece.shared] for side in (ours, theirs)]
    assert "".join(shared[0]) == "".join(shared[1])


@pytest.mark.parametrize(
    ("expected", "candidate", "ours", "theirs"),
    [
        pytest.param("Smith", "Smyth", ["i"], ["y"], id="a-letter-replaced"),
        pytest.param("Smith", "Smiths", [], ["s"], id="a-letter-added"),
        pytest.param("0012", "12", ["00"], [], id="a-beginning-lost"),
        pytest.param("abc", "xyz", ["abc"], ["xyz"], id="nothing-in-common"),
        pytest.param("abcdef", "xyczwv", ["abcdef"], ["xyczwv"], id="too-little-in-common"),
        pytest.param("same", "same", [], [], id="nothing-differs"),
    ],
)
def test_what_differs_is_marked(expected, candidate, ours, theirs):
    sides = differing_pieces(expected, candidate)
    assert [[p.text for p in side if not p.shared] for side in sides] == [ours, theirs]
