"""Likely faults in ground truth: one table per check."""

from __future__ import annotations

import pytest
from hypothesis import given

from fieldmark.analyses import lint
from fieldmark.analyses.lint import LintCheck, TruthLinter
from json_strategies import any_json


def _report(documents):
    linter = TruthLinter()
    for number, document in enumerate(documents, 1):
        linter.add(document, str(number))
    return linter.result()


def _found(documents, check):
    findings = _report(documents).findings
    return [
        (finding.attribute, finding.count, finding.message)
        for finding in findings
        if finding.check is check
    ]


def _column(values):
    return [{"x": value} for value in values]


ISO = [f"2024-01-{day:02}" for day in range(1, 20)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param([1, 2.5], None, id="integers-and-decimals"),
        pytest.param([1, None, "", "N"], "number (1), string (1)", id="empty-values-have-no-type"),
        pytest.param([1, 2, "3"], "number (2), string (1)", id="number-in-a-string"),
        pytest.param([True, 1, 2], "number (2), boolean (1)", id="boolean-is-not-a-number"),
        pytest.param(["a", ["b"]], "string (1), list (1)", id="list-and-string"),
        pytest.param(["a", []], None, id="empty-list"),
        pytest.param([{"a": 1}, "b"], "object (1), string (1)", id="object-and-string"),
    ],
)
def test_types_of_an_attribute(values, message):
    findings = _found(_column(values), LintCheck.TYPES)
    assert [item[2] for item in findings] == (
        [] if message is None else [f"values of several types: {message}"]
    )


@pytest.mark.parametrize(
    ("values", "count"),
    [
        pytest.param([*ISO, "2025-01-2025"], 1, id="two-years"),
        pytest.param(["31/12/2024", "30/02/2024", "31/04/2024", "1/1/2024", "2/1/2024"], 2, id="day"),
        pytest.param(["99-99-3000", "A-7", "B-8"], 0, id="code-in-the-form-of-a-date"),
        pytest.param(ISO, 0, id="possible-dates"),
    ],
)  # fmt: skip
def test_impossible_dates(values, count):
    findings = _found(_column(values), LintCheck.IMPOSSIBLE_DATE)
    assert [item[1] for item in findings] == ([count] if count else [])


def test_an_impossible_date_is_found_by_the_name_of_the_attribute():
    assert _found([{"due_date": "31-FEB-2024"}], LintCheck.IMPOSSIBLE_DATE)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param([*ISO, "soon"], "1 of 20 values cannot be read as dates", id="dates"),
        pytest.param(["1.50"] * 19 + ["free"], "1 of 20 values cannot be read as numbers", id="sum"),
        pytest.param([f"a{n}@b.org" for n in range(19)] + ["nobody"], "1 of 20 values cannot be read as e-mail addresses", id="e-mails"),
        pytest.param(["2024-01-31", "soon"], None, id="too-few-values"),
        pytest.param([*ISO[:10], *["soon", "later"] * 3], None, id="too-many-others"),
    ],
)  # fmt: skip
def test_values_unlike_the_others(values, message):
    findings = [finding[2] for finding in _found(_column(values), LintCheck.UNLIKE_OTHERS)]
    assert findings == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        pytest.param(ISO, [], id="one-format"),
        pytest.param(["1/2/2024", "11/12/2024"], [], id="leading-zeros"),
        pytest.param(["2024-01-31", "2024-02-01", "1 Feb 2024"], ["dates in 2 formats: 2024-01-31 (2), 1 Feb 2024 (1)"], id="date-formats"),
        pytest.param(["31/12/2024", "1/2/24", "2/3/2024"], ["dates in 2 formats: 31/12/2024 (2), 1/2/24 (1)"], id="two-digit-years"),
        pytest.param(["31/12/2024", "30/12/2024", "12/31/2024", "01/02/2024"], ["day and month in both orders: dmy (2), mdy (1)"], id="date-orders"),
        pytest.param(["1,240.00", "2,240.00", "1.240,00"], ["amounts us format (2), eu format (1)"], id="number-formats"),
        pytest.param(["$5.00", "6.00", "7.00"], ["amounts without a currency (2), with a currency (1)"], id="currency-in-some"),
        pytest.param(["5.00", "6", "1,240.50"], [], id="numbers-of-one-format"),
        pytest.param(["2024-01-31", "1 Feb 2024", "Acme", "Bolt"], [], id="half-of-the-values-are-dates"),
        pytest.param(["$5.00", "6.00", "Acme", "Bolt"], [], id="half-of-the-values-are-amounts"),
    ],
)  # fmt: skip
def test_mixed_formats(values, messages):
    assert [finding[2] for finding in _found(_column(values), LintCheck.FORMATS)] == messages


INVOICE = {"number": "A-1", "total": 5, "vendor": "Acme"}


@pytest.mark.parametrize(
    ("documents", "count"),
    [
        pytest.param([INVOICE, dict(reversed(INVOICE.items()))], 1, id="keys-in-another-order"),
        pytest.param([INVOICE, INVOICE, INVOICE], 2, id="three-times"),
        pytest.param([INVOICE, {**INVOICE, "total": 6}], 0, id="another-value"),
        pytest.param([{"a": 1, "b": None}] * 2, 0, id="too-few-values-to-tell"),
    ],
)
def test_duplicate_documents(documents, count):
    findings = _found(documents, LintCheck.DUPLICATE_DOCUMENT)
    assert [item[1] for item in findings] == ([count] if count else [])


def test_duplicate_ids():
    linter = TruthLinter()
    for case in ("a", "b", "a"):
        linter.add({"x": 1}, case)
    (finding,) = linter.result().findings
    assert (finding.check, finding.examples) == (LintCheck.DUPLICATE_ID, (("a", "used before"),))


@pytest.mark.parametrize(
    ("values", "count"),
    [
        pytest.param([None, "", " "], 3, id="null-and-blank"),
        pytest.param([[], {}, None], 3, id="empty-containers"),
        pytest.param([None, None], 0, id="too-few"),
        pytest.param([None, None, 0], 0, id="zero-is-a-value"),
    ],
)
def test_fields_that_are_always_empty(values, count):
    findings = _found(_column(values), LintCheck.ALWAYS_EMPTY)
    assert [item[1] for item in findings] == ([count] if count else [])


def _lines(*amounts, **others):
    return {"lines": [{"amount": amount, "tax_rate": 0.2} for amount in amounts], **others}


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        pytest.param(_lines(1, 2, total=3), [], id="items-are-the-total"),
        pytest.param(_lines(1, 2, total=4), ["lines"], id="items-are-not-the-total"),
        pytest.param(_lines(1, 2, subtotal=3, tax=1, total=4), [], id="subtotal-and-tax"),
        pytest.param(_lines(1, 2, total=4, tax=1), [], id="items-without-tax"),
        pytest.param(_lines(1, 2, subtotal=3, tax=1, total=5), ["total"], id="tax-does-not-add-up"),
        pytest.param(_lines(1, 2, subtotal=3, tax=1, total=3), [], id="tax-included"),
        pytest.param(_lines(1, 2, total=2.5, discount=0.5), [], id="discount"),
        pytest.param(_lines(1, 2, total=3.5, shippingFee=0.5), [], id="shipping"),
        pytest.param(_lines("1.00", "$2.00", total="3.00"), [], id="amounts-in-strings"),
        pytest.param(_lines(0.333, 0.333, 0.333, total=1), [], id="rounded"),
        pytest.param(_lines(1, None, total=9), [], id="an-amount-is-missing"),
        pytest.param(_lines(1, 2, total=9, grand_total=8), [], id="several-totals"),
        pytest.param({**_lines(1, total=9), "more": [{"amount": 8}]}, [], id="several-lists"),
        pytest.param(_lines(1, 2, totals={"total": 4}), ["lines"], id="total-in-an-object"),
        pytest.param({"totals": {"net_total": 1, "vat": 1, "total": 9}}, ["totals.total"], id="deep"),
        pytest.param({"lines": [{"unit_price": 1}], "total": 9}, [], id="no-amounts"),
        pytest.param({"lines": [{"amount": 1}, "x"], "total": 9}, [], id="an-item-is-no-object"),
        pytest.param(_lines(1, 2, count=9), [], id="no-total"),
    ],
)  # fmt: skip
def test_totals(document, faults):
    assert [finding[0] for finding in _found([document], LintCheck.TOTALS)] == faults


@pytest.mark.parametrize(
    ("values", "count"),
    [
        pytest.param(["Acme Corp", "Acme Corp", "ACME Corp."], 1, id="case-and-punctuation"),
        pytest.param(["Bolt Brothers", "Bolt Brothers", "Bolt Brothrs"], 1, id="typo"),
        pytest.param(["Unit 12 North"] * 2 + ["Unit 13 North"], 0, id="other-numbers"),
        pytest.param(["Female", "Female", "Male"], 0, id="short-words"),
        pytest.param(["North side", "North side", "South side"], 0, id="other-words"),
        pytest.param(["one text", "One Text"], 0, id="nothing-repeats"),
        pytest.param(["AB-1x", "AB-1x", "AB-1y"], 0, id="codes"),
    ],
)
def test_nearly_equal_spellings(values, count):
    findings = _found(_column(values), LintCheck.SPELLING)
    assert [item[1] for item in findings] == ([count] if count else [])


def test_clean_documents_have_no_findings():
    documents = [_lines(1, n, total=n + 1, date=day) for n, day in enumerate(ISO)]
    report = _report(documents)
    assert (report.documents, report.findings, report.total) == (len(ISO), (), 0)


def test_findings_have_few_examples_and_all_counts():
    (finding,) = _report(_column([*range(50), *map(str, range(20))])).findings
    assert (finding.count, len(finding.examples)) == (20, 3)
    assert finding.to_dict() == {
        "check": "types",
        "attribute": "x",
        "count": 20,
        "message": "values of several types: number (50), string (20)",
        "examples": [{"case": str(51 + n), "text": str(n)} for n in range(3)],
    }


def test_the_list_of_findings_is_limited_and_the_total_is_not(monkeypatch):
    monkeypatch.setattr(lint, "MAX_FINDINGS", 2)
    rows = [{f"k{n}": value for n in range(5)} for value in (1, "a")]
    report = _report(rows)
    assert (len(report.findings), report.total) == (2, 5)


@pytest.mark.parametrize(
    ("limit", "note"),
    [
        ("_MAX_ATTRIBUTES", "only the first 1 attributes were checked"),
        ("_MAX_DOCUMENTS", "only the first 1 documents were searched for duplicates"),
        ("_MAX_ALL_TEXTS", "only the first 1 strings were compared for spelling"),
    ],
)
def test_memory_is_bounded_and_notes_say_what_was_not_checked(monkeypatch, limit, note):
    monkeypatch.setattr(lint, limit, 1)
    assert note in _report([{"a": "one", "b": "two"}, {"a": "three", "b": "four"}]).notes


def test_numbers_too_long_for_text_can_be_checked():
    report = _report([{"lines": [{"amount": 10**5000}], "total": 10**5001}, {"total": "x"}])
    assert {finding.check for finding in report.findings} == {LintCheck.TYPES, LintCheck.TOTALS}


@given(any_json)
def test_every_document_can_be_checked(document):
    report = _report([document, document])
    assert report.documents == 2
    assert all(finding.count > 0 for finding in report.findings)
