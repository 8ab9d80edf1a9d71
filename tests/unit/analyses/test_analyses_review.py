"""Decisions of people on fields, the truth that follows from them, and its metrics."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.analyses.review import decide, rules_path
from fieldmark.errors import ConfigError, DataError
from fieldmark.runs.reviews import (
    REVIEWS,
    Change,
    Decision,
    UnfitChangeError,
    corrected_document,
    truth_fields,
)
from fieldmark.runs.stored_run import open_run
from json_strategies import document_pairs

TRUTH = [
    {
        "id": "a",
        "vendor": "Acme",
        "total": 5,
        "items": [{"text": "Bolts", "count": 1}, {"text": "Nuts", "count": 2}],
    },
    {"id": "b", "vendor": "Bolt", "total": 7, "items": []},
    {"id": "c", "vendor": None, "total": 1},
]
CANDIDATES = [
    {
        "id": "a",
        "vendor": "ACME Ltd",
        "total": 6,
        "items": [
            {"text": "Nuts", "count": 2},
            {"text": "Washers", "count": 9},
            {"text": "Bolts", "count": 3},
        ],
    },
    {"id": "b", "vendor": "Bolt", "items": []},
    {"id": "c", "vendor": "X", "total": 1},
]


def scored(path, truth=TRUTH, candidates=CANDIDATES, **options):
    path.mkdir(exist_ok=True)
    files = [path / "truth.jsonl", path / "candidates.jsonl"]
    for file, rows in zip(files, (truth, candidates), strict=True):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return fm.score(*files, out=path / "run", **options)


def corrected(run) -> dict[str, object]:
    return {row["id"]: row["expected"] for row in fm.review(run).corrected_truth()}


# --- what a decision means ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "path", "decision", "value", "field", "expected"),
    [
        pytest.param("a", "total", "accept_truth", None, "total", 5, id="truth"),
        pytest.param("a", "total", "accept_candidate", None, "total", 6, id="candidate"),
        pytest.param("a", "total", "correction", 8, "total", 8, id="correction"),
        pytest.param("a", "total", "correction", None, "total", None, id="correction-to-null"),
        pytest.param("a", "vendor", "ambiguous", None, "vendor", ["Acme", "ACME Ltd"], id="ambiguous"),
        pytest.param("b", "total", "accept_candidate", None, "total", fm.MISSING, id="nothing-there"),
        pytest.param("c", "vendor", "accept_candidate", None, "vendor", "X", id="extra-is-right"),
        pytest.param("c", "vendor", "ambiguous", None, "vendor", [None, "X"], id="may-be-empty"),
        pytest.param("a", "total", "comment", None, "total", 5, id="comment-decides-nothing"),
    ],
)  # fmt: skip
def test_decision_and_the_truth_that_follows(
    tmp_path, case, path, decision, value, field, expected
):
    run = scored(tmp_path)
    options = {"value": value} if decision == "correction" else {}
    made = fm.add_review(run, case, path, decision, comment="why", **options)
    assert (made.case_id, made.path, made.decision, made.comment) == (case, path, decision, "why")
    assert made.by
    assert made.at
    assert corrected(run)[case].get(field, fm.MISSING) == expected
    # Nothing but the review file is written, and never the truth.
    assert fm.open_run(run.path).cases[case].expected == run.cases[case].expected


def test_items_are_corrected_where_they_are_in_the_truth(tmp_path):
    run = scored(tmp_path)
    stored = open_run(run.path)
    case = stored.find("a")
    wrong = [field.field for field in truth_fields(case) if field.field.path.startswith("items")]
    for entry in wrong:
        if entry.outcome != "match":
            decide(stored, case, entry, Decision.ACCEPT_CANDIDATE)
    # An extra item is appended as one item; one at another index is changed in place.
    assert corrected(run)["a"]["items"] == [
        {"text": "Bolts", "count": 3},
        {"text": "Nuts", "count": 2},
        {"text": "Washers", "count": 9},
    ]


def test_missing_and_extra_items_with_the_same_index_are_different_fields(tmp_path):
    truth = [{"id": "a", "items": [{"text": "one two three"}]}]
    run = scored(tmp_path, truth, [{"id": "a", "items": [{"text": "completely other"}]}])
    stored = open_run(run.path)
    case = stored.find("a")
    missing, extra = sorted((field.field for field in truth_fields(case)), key=lambda f: f.outcome)[
        ::-1
    ]
    assert (missing.path, missing.outcome) == (extra.path, "omission")
    decide(stored, case, extra, Decision.ACCEPT_CANDIDATE)
    assert corrected(run)["a"]["items"] == [{"text": "one two three"}, {"text": "completely other"}]
    decide(stored, case, missing, Decision.ACCEPT_CANDIDATE)
    assert corrected(run)["a"]["items"] == [{"text": "completely other"}]
    with pytest.raises(ConfigError, match="a missing and an extra item"):
        fm.add_review(run, "a", "items[0].text", "accept_truth")


def test_decision_that_does_not_fit_into_the_truth_is_refused(tmp_path):
    truth, candidates = [{"id": "a", "x": {"k": 1}}], [{"id": "a", "x": ["new"]}]
    run = scored(tmp_path, truth, candidates)
    (extra,) = [
        field.field.path for field in fm.review_queue(run).fields if "k" not in field.field.path
    ]
    with pytest.raises(ConfigError, match="another structure there"):
        fm.add_review(run, "a", extra, "accept_candidate")
    assert len(fm.review(run).fields) == 0
    # What is removed makes place for it, and takes it back if it is restored.
    removed = fm.add_review(run, "a", "x.k", "accept_candidate")
    fm.add_review(run, "a", extra, "accept_candidate")
    assert corrected(run)["a"] == {"x": ["new"]}
    fm.undo_review(run, removed.id)
    (unfit,) = fm.review(run).unapplied
    assert unfit.problem == "the ground truth has another structure there"
    assert corrected(run)["a"] == {"x": {"k": 1}}


def test_last_decision_counts_and_undo_restores_the_one_before(tmp_path):
    run = scored(tmp_path)
    fm.add_review(run, "a", "total", "accept_truth")
    second = fm.add_review(run, "a", "total", "correction", value=9)
    assert corrected(run)["a"]["total"] == 9
    fm.undo_review(run, second.id)
    assert corrected(run)["a"]["total"] == 5
    assert fm.review(run).decisions["accept_truth"] == 1
    with pytest.raises(ConfigError, match="already withdrawn"):
        fm.undo_review(run, second.id)
    with pytest.raises(ConfigError, match="not found"):
        fm.undo_review(run, "unknown")
    # The file keeps the whole history.
    lines = (run.path / REVIEWS).read_text("utf-8").splitlines()
    assert [json.loads(line)["decision"] for line in lines] == [
        "accept_truth", "correction", "undo",
    ]  # fmt: skip


def test_comment_after_a_decision_keeps_it(tmp_path):
    run = scored(tmp_path)
    fm.add_review(run, "a", "total", "accept_candidate")
    fm.add_review(run, "a", "total", "comment", comment="seen on page 2")
    (field,) = fm.review(run).fields
    assert (field.review.decision, field.review.comment) == ("accept_candidate", "seen on page 2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("z", "total", "accept_truth"), "case 'z' not found", id="case"),
        pytest.param(("a", "tota", "accept_truth"), "no compared field 'tota'", id="path"),
        pytest.param(("a", "total", "maybe"), "decision must be one of", id="decision"),
        pytest.param(("a", "total", "correction"), "needs a value", id="no-value"),
        pytest.param(("a", "total", "comment"), "must not be empty", id="no-comment"),
    ],
)
def test_invalid_decision_is_an_error_and_is_not_saved(tmp_path, arguments, message):
    run = scored(tmp_path)
    with pytest.raises(ConfigError, match=message):
        fm.add_review(run, *arguments)
    assert not (run.path / REVIEWS).exists()


def test_field_with_lists_or_equal_values_cannot_be_ambiguous(tmp_path):
    truth, candidates = [{"id": "a", "x": [1], "y": 2}], [{"id": "a", "x": [2], "y": 2}]
    run = scored(tmp_path, truth, candidates, rules=[{"path": "x", "match": "exact"}])
    with pytest.raises(ConfigError, match="a value is a list"):
        fm.add_review(run, "a", "x", "ambiguous")
    with pytest.raises(ConfigError, match="only one value"):
        fm.add_review(run, "a", "y", "ambiguous")


def test_decision_on_a_field_that_was_reviewed_in_the_meantime_is_not_saved(tmp_path):
    run = scored(tmp_path)
    stored = open_run(run.path)
    case = stored.find("a")
    field = next(row.field for row in truth_fields(case) if row.field.path == "total")
    first = decide(stored, case, field, Decision.ACCEPT_TRUTH, replaces="")
    with pytest.raises(ConfigError, match="in the meantime; nothing was saved"):
        decide(stored, case, field, Decision.ACCEPT_CANDIDATE, replaces="")
    decide(stored, case, field, Decision.ACCEPT_CANDIDATE, replaces=first.id)
    assert fm.review(run).decisions["accept_candidate"] == 1


def test_decision_on_other_values_is_noticed_and_does_not_count(tmp_path):
    run = scored(tmp_path / "one")
    fm.add_review(run, "a", "total", "accept_candidate")
    fm.add_review(run, "b", "total", "accept_candidate")
    other = scored(tmp_path / "two", candidates=[{**CANDIDATES[0], "total": 66}])
    (other.path / REVIEWS).write_bytes((run.path / REVIEWS).read_bytes())
    review = fm.review(other)
    assert len(review) == 1  # the case b still has no candidate
    (stale,) = review.unapplied
    assert (stale.review.path, stale.problem) == (
        "total",
        "the values of the field have changed since it was reviewed",
    )
    assert corrected(other)["a"]["total"] == 5


# --- metrics with the reviewed truth --------------------------------------------------------------


def test_no_decisions_change_nothing(tmp_path):
    effect = fm.review(scored(tmp_path)).effect
    assert effect.after.metrics == effect.before.metrics
    assert effect.cases == 0
    assert effect.attributes == ()


RULES = {
    "total": {
        "rules": {
            "fields": [
                {"path": "total", "match": "numeric_tolerance", "tolerance": 0.5},
                {"path": "vendor", "weight": 3},
            ]
        },
        "convention": "field_accuracy",
    },
    "pattern": {"rules": [{"path": "**", "match": "normalized_text", "weight": 2}]},
    "none": {},
    "match": {"match": "fuzzy", "convention": "four_phase"},
}


@pytest.mark.parametrize("options", RULES.values(), ids=RULES)
def test_metrics_are_those_of_scoring_the_exported_truth(tmp_path, options):
    run = scored(tmp_path, **options)
    queue = fm.review_queue(run, "random")
    stored = open_run(run.path)
    choices = [Decision.ACCEPT_CANDIDATE, Decision.CORRECTION, Decision.ACCEPT_TRUTH]
    for number, field in enumerate(queue.fields):
        if field.field.outcome == "match":
            continue
        value = {"value": "Z"} if number % 3 == 1 else {}
        decide(stored, stored.find(field.field.case_id), field.field, choices[number % 3], **value)
    fm.add_review(run, "a", "vendor", "ambiguous")
    review = fm.review(run)
    assert review.note == ""
    beside = review.export(tmp_path / "reviewed.jsonl")
    assert beside == rules_path(tmp_path / "reviewed.jsonl")
    again = fm.score(tmp_path / "reviewed.jsonl", CANDIDATES, **{**options, "rules": beside})
    assert again.summary.metrics == review.effect.after.metrics
    assert again.summary.micro == review.effect.after.micro
    assert again.summary.attributes == review.effect.after.attributes
    assert again.summary.metrics != review.effect.before.metrics


def test_other_rules_are_not_applied(tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text('{"fields": [{"path": "vendor", "match": "fuzzy"}]}', "utf-8")
    run = scored(tmp_path, rules=rules)
    assert fm.review(run).effect is not None
    rules.unlink()  # they were saved with the run
    assert fm.review(run).effect is not None
    other = fm.review(run, rules={"total": "exact"})
    assert other.effect is None
    assert "the rules differ from the rules of the run" in other.note
    assert fm.review(run, rules={"vendor": {"match": "fuzzy"}}).effect is not None


def test_evaluations_are_not_computed_again_but_exported(tmp_path):
    (tmp_path / "a.eval.yaml").write_text(
        "cases: [{id: a, expected: {x: 1}, candidate: {x: 2}}]\n"
        "evaluators: [{type: field_accuracy, fields: [{path: x}]}]\n",
        "utf-8",
    )
    run = fm.evaluate(tmp_path / "a.eval.yaml", out=tmp_path / "run")
    fm.add_review(run, "a", "x", "accept_candidate")
    review = fm.review(run)
    assert review.effect is None
    assert "run the evaluation again" in review.note
    assert corrected(run) == {"a": {"x": 2}}


def test_run_without_values_cannot_be_reviewed(tmp_path):
    run = scored(tmp_path, values=False)
    with pytest.raises(DataError, match="without values"):
        fm.review_queue(run)
    with pytest.raises(DataError, match="without values"):
        fm.add_review(run, "a", "total", "accept_truth")


leaf = st.sampled_from(["blue", "Blue", 1, 2.5, True, "a.b"])
item = st.dictionaries(st.sampled_from(["text", "count", "x.y"]), leaf, min_size=1)
invoice = st.fixed_dictionaries(
    {},
    optional={
        "total": leaf,
        "a.b": leaf,
        "vendor": st.dictionaries(st.sampled_from(["name", "city"]), leaf, min_size=1),
        "items": st.lists(item, max_size=4),
        "tags": st.lists(leaf, max_size=3),
    },
)


@given(invoice, invoice)
def test_accepting_every_candidate_leaves_no_mistakes(expected, candidate):
    result = fm.compare(expected, candidate)
    changes = [
        Change(field, field.field.candidate)
        for field in truth_fields(result)
        if field.field.outcome != "match"
    ]
    again = fm.compare(corrected_document(expected, changes, candidate), candidate)
    assert again.stats.errors.total == 0


@given(document_pairs())
def test_every_change_fits_or_is_refused_and_others_keep_their_values(pair):
    expected, candidate = pair
    unfit = set()
    for row in truth_fields(fm.compare(expected, candidate)):
        field = row.field
        try:
            truth = corrected_document(expected, [Change(row, "reviewed")])
        except UnfitChangeError:
            unfit.add(field.outcome)
            continue
        if field.expected is not fm.MISSING:
            back = corrected_document(truth, [Change(row, field.expected)])
            assert back == expected
    assert unfit <= {"hallucination"}  # only what the truth does not have may not fit


# --- labels ---------------------------------------------------------------------------------------


def test_decisions_are_labels_for_calibration(tmp_path):
    run = scored(tmp_path, match="fuzzy")
    fm.add_review(run, "a", "vendor", "ambiguous")
    fm.add_review(run, "a", "total", "accept_truth")
    fm.add_review(run, "b", "total", "accept_truth")  # there is no pair
    fm.add_review(run, "c", "vendor", "correction", value="Y")  # says nothing about the pair
    labels = fm.review(run).labels
    assert [(label.path, label.verdict) for label in labels] == [("vendor", True), ("total", False)]
    measured = fm.calibrate([label.to_dict() for label in labels], match="fuzzy")
    assert measured.best.agreement.share == 1.0
    fm.add_review(run, "a", "vendor", "accept_candidate")  # the truth was wrong
    assert [label.path for label in fm.review(run).labels] == ["total"]


# --- queues ---------------------------------------------------------------------------------------


def paths(queue) -> list[tuple[str, str]]:
    return [(field.field.case_id, field.field.path) for field in queue.fields]


def test_most_costly_errors_come_first(tmp_path):
    run = scored(tmp_path)
    queue = fm.review_queue(run)
    assert paths(queue)[:2] == [("c", "vendor"), ("b", "total")]
    costs = [field.cost for field in queue.fields]
    assert costs == sorted(costs, reverse=True)
    # The cost of the only mistake of a case is what its score lacks.
    assert queue.fields[0].cost == pytest.approx(1 - run.cases["c"].score)
    assert queue.total == len(queue) == 7
    assert paths(fm.review_queue(run, attribute="total")) == [("b", "total"), ("a", "total")]
    assert len(fm.review_queue(run, number=2)) == 2


def test_queue_prints_its_fields_without_values(tmp_path):
    lines = repr(fm.review_queue(scored(tmp_path), number=2)).splitlines()
    assert lines[0] == "2 of 7 fields to review"
    assert [line.split()[:2] for line in lines[2:]] == [
        ["Case", "Field"], ["c", "vendor"], ["b", "total"],
    ]  # fmt: skip
    assert "Bolt" not in str(lines)


def test_text_whose_words_are_counted_is_one_field(tmp_path):
    truth, candidates = [{"id": "a", "text": "one two"}], [{"id": "a", "text": "one three four"}]
    rules = [{"path": "text", "match": "exact", "count": "tokens"}]
    run = scored(tmp_path, truth, candidates, rules=rules)
    (queued,) = fm.review_queue(run).fields
    assert (queued.field.expected, queued.field.candidate) == ("one two", "one three four")
    assert queued.cost == pytest.approx(1 - run.cases["a"].score)
    with pytest.raises(ConfigError, match="its words are counted"):
        fm.add_review(run, "a", "text", "ambiguous")
    fm.add_review(run, "a", "text", "accept_candidate")
    assert fm.review(run).effect.after.micro.f1 == 1.0


def test_lowest_confidence_comes_first(tmp_path):
    pairs = [({"total": n}, {"total": {"value": n, "confidence": 1 - n / 10}}) for n in range(1, 6)]
    run = fm.score(pairs, confidence=True, out=tmp_path / "run")
    queue = fm.review_queue(run, "confidence", number=2)
    assert [field.field.confidence for field in queue.fields] == [0.5, 0.6]
    with pytest.raises(ConfigError, match="no confidences"):
        fm.review_queue(scored(tmp_path / "other"), "confidence")


def test_fields_on_which_runs_differ_come_first(tmp_path):
    run = scored(tmp_path / "one")
    second = scored(tmp_path / "two", candidates=[{**CANDIDATES[0], "total": 5}, CANDIDATES[1]])
    third = scored(tmp_path / "three", candidates=[{**CANDIDATES[0], "total": 4}, CANDIDATES[1]])
    queue = fm.review_queue(run, "disagreement", others=[second, third])
    first = queue.fields[0]
    assert (first.field.path, first.agreement) == ("total", 0.0)
    assert [value for _, value in first.votes] == [6, 5, 4]
    assert all(field.agreement < 1 for field in queue.fields)
    with pytest.raises(ConfigError, match="at least two runs"):
        fm.review_queue(run, "disagreement")


def test_random_audit_is_the_same_for_the_same_seed(tmp_path):
    run = scored(tmp_path)
    assert fm.review_queue(run, "random").total > 9
    drawn = [paths(fm.review_queue(run, "random", number=4, seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    # A smaller audit is a part of a larger one, also in another order of the cases.
    turned = scored(tmp_path / "turned", TRUTH[::-1], CANDIDATES[::-1])
    assert paths(fm.review_queue(turned, "random", number=2, seed=1)) == drawn[0][:2]


def test_queue_says_which_fields_are_decided(tmp_path):
    run = scored(tmp_path)
    fm.add_review(run, "c", "vendor", "accept_truth")
    fm.add_review(run, "b", "total", "comment", comment="hm")
    queue = fm.review_queue(run)
    assert [field.decided for field in queue.fields[:2]] == [True, False]
    assert queue.fields[1].review.comment == "hm"
    assert (queue.decided, json.loads(json.dumps(queue.to_dict()))["decided"]) == (1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"queue": "worst"}, "queue must be one of", id="queue"),
        pytest.param({"number": 0}, "number must be from 1 to 1,000", id="number"),
    ],
)
def test_invalid_queue_is_an_error(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        fm.review_queue(scored(tmp_path), **options)
