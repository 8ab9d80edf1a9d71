"""Nested and composite keys, and rows of tables grouped into documents."""

from __future__ import annotations

import pytest

from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError, OptionError
from fieldmark.model.case import CaseInput
from row_files import cases_of


@pytest.mark.parametrize(
    ("row", "options", "case"),
    [
        pytest.param(
            {"id": "x", "item": {"ideal": {"a": 1}}, "sample": {"output_text": '{"a": 2}'}},
            {"expected_key": "item.ideal", "candidate_key": "sample.output_text"},
            ("x", {"a": 1}, {"a": 2}),
            id="both-nested",
        ),
        pytest.param(
            {"id": "x", "expected": {"a": 1}, "choices": [{"text": {"a": 2}}], "more": 1},
            {"expected_key": "expected", "candidate_key": "choices[0].text"},
            ("x", {"a": 1}, {"a": 2}),
            id="index",
        ),
        pytest.param(
            {"id": "x", "expected": {"a": 1}, "a.b": {"a": 2}},
            {"expected_key": "expected", "candidate_key": "a.b"},
            ("x", {"a": 1}, {"a": 2}),
            id="key-with-a-dot",
        ),
        pytest.param(
            {"meta": {"id": 7}, "expected": {"a": 1}, "output": {"a": 2}},
            {"id_key": "meta.id", "expected_key": "expected", "candidate_key": "output"},
            ("7", {"a": 1}, {"a": 2}),
            id="nested-id",
        ),
        pytest.param(
            {"doc": "a", "page": 2, "expected": {"a": 1}, "output": {"a": 2}},
            {"id_key": "doc,page"},
            ("a,2", {"a": 1}, {"a": 2}),
            id="composite-id-of-envelopes",
        ),
    ],
)
def test_keys_of_one_input(write, row, options, case):
    [found] = cases_of(open_pairs(write("t.jsonl", [row]), None, Inputs(**options)))
    assert (found.id, found.expected, found.candidate) == case


def test_a_nested_key_that_no_row_has_is_an_error(write):
    path = write("t.jsonl", [{"id": 1, "expected": {}, "sample": {}}])
    with pytest.raises(DataError, match=r"key 'sample\.text' not found"):
        open_pairs(path, path, Inputs(candidate_key="sample.text"))


def test_a_row_without_the_nested_key_has_no_prediction(write):
    rows = [{"id": 1, "expected": {}, "s": {"t": {}}}, {"id": 2, "expected": {}, "s": {}}]
    options = Inputs(expected_key="expected", candidate_key="s.t")
    _, second = cases_of(open_pairs(write("t.jsonl", rows), None, options))
    assert second.input is CaseInput.MISSING


@pytest.mark.parametrize("count", [3, 6000], ids=["few", "out-of-order"])
def test_parts_of_an_id_pair_rows_and_are_not_fields(write, count):
    truth = [{"doc": f"d{n}", "page": n % 7, "total": n} for n in range(count)]
    other = [{"doc": f"d{n}", "page": n % 7, "total": n} for n in reversed(range(count))]
    stream = open_pairs(
        write("t.jsonl", truth), write("c.jsonl", other), Inputs(id_key="doc, page")
    )
    cases = cases_of(stream)
    assert [case.expected for case in cases] == [{"total": n} for n in range(count)]
    assert all(case.expected == case.candidate for case in cases)
    assert cases[1].id == "d1,1"


def test_a_nested_id_is_not_a_field(write):
    rows = write("t.jsonl", [{"meta": {"id": 1, "b": 2}, "a": 1}])
    [case] = cases_of(open_pairs(rows, rows, Inputs(id_key="meta.id")))
    assert (case.id, case.expected) == ("1", {"meta": {"b": 2}, "a": 1})


def test_different_parts_never_give_the_same_id(write):
    rows = [{"a": "x,y", "b": "z"}, {"a": "x", "b": "y,z"}, {"a": 'x"', "b": "z"}]
    stream = open_truth(write("t.jsonl", rows), Inputs(id_key="a,b"))
    assert [case.id for case in cases_of(stream)] == ['"x,y",z', 'x,"y,z"', '"x\\"",z']


def test_a_part_that_is_missing_leaves_the_row_without_id(write):
    path = write("t.jsonl", [{"a": 1, "b": 2, "c": 0}, {"a": 1, "c": 0}])
    _, second = cases_of(open_pairs(path, path, Inputs(id_key="a,b")))
    assert second.input is CaseInput.INVALID_TRUTH
    with pytest.raises(DataError, match="id key 'a,x' not found"):
        open_pairs(path, path, Inputs(id_key="a,x"))


def test_nested_keys_of_a_directory(write, tmp_path):
    write("found/a.json", '{"result": {"total": 1}, "usage": 3}')
    truth = write("t.jsonl", [{"id": "a", "total": 1}])
    options = Inputs(candidate_key="result.total")
    [case] = cases_of(open_pairs(truth, tmp_path / "found", options))
    assert case.candidate == 1


ITEMS = "invoice,sku,amount\na,x,1\na,y,2\nb,z,3\n"
LISTED = "invoice,vendor.name,lines[].sku,lines[].price.net\na,ACME,x,1\na,ACME,y,2\nb,Initech,,\n"


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        pytest.param(
            ITEMS,
            [
                {"items": [{"sku": "x", "amount": "1"}, {"sku": "y", "amount": "2"}]},
                {"items": [{"sku": "z", "amount": "3"}]},
            ],
            id="all-columns-are-items",
        ),
        pytest.param(
            LISTED,
            [
                {
                    "vendor": {"name": "ACME"},
                    "lines": [
                        {"sku": "x", "price": {"net": "1"}},
                        {"sku": "y", "price": {"net": "2"}},
                    ],
                },
                {"vendor": {"name": "Initech"}, "lines": []},
            ],
            id="columns-of-a-list",
        ),
    ],
)
def test_rows_of_a_table_are_grouped(write, text, documents):
    cases = cases_of(open_truth(write("t.csv", text), Inputs(group_by="invoice")))
    assert [(case.id, case.expected) for case in cases] == list(zip("ab", documents, strict=True))


def test_grouped_rows_pair_with_documents(write):
    documents = [
        {"id": "b", "vendor": {"name": "Initech"}, "lines": []},
        {"id": "a", "vendor": {"name": "ACME"}, "lines": [{"sku": "x", "price": {"net": 1}}]},
    ]
    stream = open_pairs(
        write("t.csv", LISTED), write("c.jsonl", documents), Inputs(group_by="invoice")
    )
    first, second = cases_of(stream)
    assert first.candidate == {
        "vendor": {"name": "ACME"},
        "lines": [{"sku": "x", "price": {"net": 1}}],
    }
    assert second.expected == second.candidate


def test_grouped_rows_pair_out_of_order(write):
    rows = [f"{n},{part},{n}\n" for n in range(3000) for part in "xy"]
    truth = write("t.csv", "invoice,part,n\n" + "".join(rows))
    backwards = write("c.csv", "invoice,part,n\n" + "".join(sorted(rows, reverse=True)))
    cases = cases_of(open_pairs(truth, backwards, Inputs(group_by="invoice")))
    assert len(cases) == 3000
    assert all(len(case.candidate["items"]) == 2 for case in cases)


def test_several_columns_group_rows(write):
    path = write("t.csv", "shop,day,sku\ns,1,x\ns,1,y\ns,2,z\n")
    cases = cases_of(open_truth(path, Inputs(group_by="shop,day")))
    assert [(case.id, len(case.expected["items"])) for case in cases] == [("s,1", 2), ("s,2", 1)]


def test_a_column_that_differs_within_a_document_makes_it_unreadable(write):
    path = write("t.csv", "invoice,vendor,l[].n\na,ACME,1\na,ACNE,2\nb,x,3\n")
    first, second = cases_of(open_truth(path, Inputs(group_by="invoice")))
    assert first.input is CaseInput.INVALID_TRUTH
    assert first.id == "a"
    assert "t.csv:3: column 'vendor' differs from the other rows of 'a'" in first.note
    assert second.expected == {"vendor": "x", "l": [{"n": "3"}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("k,n\na,1\nb,2\na,3\n", r"t\.csv:4: the rows of 'a' are not adj", id="order"),
        pytest.param("k,n\na,1\n,2\n", r"t\.csv:3: no value in 'k'", id="blank-key"),
        pytest.param("x,n\na,1\n", r"column 'k' not found; columns: x, n", id="no-column"),
        pytest.param("k,n\na,1\na,2,3\n", r"t\.csv:3: cannot group the row", id="unreadable"),
        pytest.param("k,id,l[].n\na,7,1\n", "column 'id' has the name of", id="id-column"),
    ],
)
def test_rows_that_cannot_be_grouped(write, text, message):
    with pytest.raises(DataError, match=message):
        cases_of(open_truth(write("t.csv", text), Inputs(group_by="k")))


def test_grouping_needs_a_table(write):
    path = write("t.jsonl", [{"k": 1}])
    with pytest.raises(OptionError, match="no input is a table"):
        open_truth(path, Inputs(group_by="k"))
    with pytest.raises(OptionError, match="must not be empty"):
        Inputs(group_by="")
