"""A case in the terminal: marks, differing characters, aligned items, evaluator results."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import fieldmark as fm
from fieldmark.analyses.show import CaseList
from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.report.case_view import case_view, differing_pieces
from fieldmark.report.html.cases import CaseLine
from fieldmark.runs.stored_run import open_run
from fieldmark.values.records import from_json
from unit.report.exported import as_text

TRUTH = {
    "vendor": "Acme GmbH",
    "total": 12.5,
    "items": [{"d": "Apples", "q": 3}, {"d": "Pears", "q": 2}, {"d": "Plums", "q": 1}],
    "date": "2024-01-02",
    "note": None,
}
CANDIDATE = {
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


def saved_case(tmp_path, truth=TRUTH, candidate=CANDIDATE, **options):
    row = {"id": "a", "expected": truth, "tags": ["scan"]}
    fm.score([row], [{"id": "a", "candidate": candidate}], out=tmp_path / "run", **options)
    return next(open_run(tmp_path / "run").cases())


def text(case, **options):
    shown = as_text(case_view(case, styled=False, **options), width=120)
    return "\n".join(line.rstrip() for line in shown.splitlines())


def test_both_documents_are_shown_side_by_side(tmp_path):
    assert (
        text(saved_case(tmp_path))
        == """\
case a  partial  score 0.167  confusion
3 missing, 3 extra, 1 wrong type, 2 wrong value; tags: scan

   Field         Expected         Predicted
x  vendor        "Acme Gmb[-H-]"  "Acme Gmb{+h+}"  wrong value; different
x  total         12.5             "twelve"         wrong type; type mismatch
   items         [3]              [3]
     [0] -> [1]  {2}              {2}              aligned, similarity 0.833
x      d         "Appl[-e-]s"     "App{+e+}ls"     wrong value; different
=      q         3                3
     [1] -> [0]  {2}              {2}              aligned, similarity 1.000
=      d         "Pears"          "Pears"
=      q         2                2
-    [2]         {2}                               missing item; nearest: predicted [2], all fields 0.000
-      d         "Plums"                           missing
-      q         1                                 missing
+    [2]                          {2}              extra item; nearest: expected [2], all fields 0.000
+      d                          "Soap"           extra
+      q                          9                extra
-  date          "2024-01-02"                      missing
.  note          null             null             both empty
+  extra                          "yes"            extra"""
    )


def test_only_mistakes_hides_matches(tmp_path):
    lines = text(saved_case(tmp_path), only_mistakes=True).splitlines()
    assert not [line for line in lines if line.startswith(("=", "."))]
    assert sum(line.startswith(("x", "-", "+")) for line in lines) == 11


def test_without_values_paths_and_outcomes_are_shown(tmp_path):
    shown = text(saved_case(tmp_path).without_values())
    assert "x  items[0].d  wrong value; different" in shown
    assert "Acme" not in shown
    assert "Expected" not in shown


def test_evaluator_results_are_shown_with_reasoning_and_details(tmp_path):
    case = saved_case(tmp_path)
    judge = EvaluatorResult(
        name=JUDGE["name"], type=JUDGE["type"], weight=2.0, score=from_json(Score, JUDGE)
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


@pytest.mark.parametrize(
    ("candidate", "options", "marked"),
    [
        pytest.param("not json", {}, "unparseable prediction", id="unparseable"),
        pytest.param("not json", {}, "the text contains no JSON object", id="note"),
        pytest.param(CANDIDATE, {"scope": "configured", "rules": {"vendor": "exact"}}, "not compared", id="not-selected"),
    ],
)  # fmt: skip
def test_what_was_not_compared_is_marked(tmp_path, candidate, options, marked):
    assert marked in text(saved_case(tmp_path, candidate=candidate, **options))


def test_with_color_differences_have_no_brackets(tmp_path):
    console = Console(force_terminal=True, color_system="standard", width=120, no_color=False)
    with console.capture() as capture:
        console.print(case_view(saved_case(tmp_path)))
    assert "[-" not in capture.get()
    assert "\x1b[1;4;31mH" in capture.get()


@pytest.mark.parametrize("value", ["\x1b[2J", "a\nb", "\u202e", "[bold]x[/bold]", "\ud800"])
def test_control_characters_are_escaped(tmp_path, value):
    case = saved_case(tmp_path)
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


def test_the_list_has_one_line_per_case_and_counts_the_rest():
    lines = [
        CaseLine("b", 0.0, "fail", "ok", "missing", (), ErrorCounts(omission=2)),
        CaseLine("a", None, None, "error", "ok", ("scan",), ErrorCounts(wrong_value=1)),
    ]
    shown = [line.split() for line in repr(CaseList(total=5, lines=lines)).splitlines()]
    assert shown == [
        ["Case", "Score", "Verdict", "Mistakes", "Tags"],
        ["b", "0.000", "fail", "no", "prediction,", "2", "missing"],
        ["a", "–", "error", "1", "wrong", "value", "scan"],
        ["…", "and", "3", "more", "cases;", "--top", "0", "shows", "all"],
    ]


@given(st.text(max_size=40), st.text(max_size=40))
def test_joined_pieces_are_the_original_strings(expected, candidate):
    expected_pieces, candidate_pieces = differing_pieces(expected, candidate)
    assert "".join(piece.text for piece in expected_pieces) == expected
    assert "".join(piece.text for piece in candidate_pieces) == candidate
    shared = [
        [piece.text for piece in side if piece.shared]
        for side in (expected_pieces, candidate_pieces)
    ]
    assert "".join(shared[0]) == "".join(shared[1])


@pytest.mark.parametrize(
    ("expected", "candidate", "only_expected", "only_candidate"),
    [
        pytest.param("Smith", "Smyth", ["i"], ["y"], id="replaced"),
        pytest.param("Smith", "Smiths", [], ["s"], id="added"),
        pytest.param("0012", "12", ["00"], [], id="removed"),
        pytest.param("abc", "xyz", ["abc"], ["xyz"], id="nothing-in-common"),
        pytest.param("abcdef", "xyczwv", ["abcdef"], ["xyczwv"], id="too-little-in-common"),
        pytest.param("same", "same", [], [], id="equal"),
    ],
)
def test_differing_pieces_are_marked(expected, candidate, only_expected, only_candidate):
    sides = differing_pieces(expected, candidate)
    assert [[p.text for p in side if not p.shared] for side in sides] == [
        only_expected,
        only_candidate,
    ]
