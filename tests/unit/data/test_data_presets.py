"""Exports of other tools and responses of services, read from real samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fieldmark import registry
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError, OptionError
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING
from fieldmark.model.reader import LeftOut
from fieldmark.runs.warnings import export_notes
from row_files import cases_of

SAMPLES = Path(__file__).parents[2] / "data/tool-exports"


def prediction_of(preset, given):
    stream = open_pairs([{"a": 1}], given, Inputs(preset=preset))
    assert any("read as an export of" in note for note in stream.notes)
    (case,) = cases_of(stream)
    return case.candidate


@pytest.mark.parametrize(
    ("preset", "name", "fields"),
    [
        pytest.param(
            "textract",
            "textract/analyze-expense-invoice.json",
            {
                "TOTAL": "$6231.09",
                "DUE_DATE": "01/31/2021",
                "VENDOR_PHONE": ["+1333-333-3333", "+1 333-333-3333"],
                "STATE": "XYZ,",
            },
            id="textract-expense",
        ),
        pytest.param(
            "textract",
            "textract/analyze-document-forms-tables.json",
            {
                "Full Name": "Jane Doe",
                "Phone Number": "555-0100",
                "Home Address": "123 Any Street, Any Town, USA",
                "Mailing Address": "same as home address",
            },
            id="textract-forms",
        ),
        pytest.param(
            "textract",
            "textract/analyze-document-queries.json",
            {
                "What is the name of the package?": "Textractor",
                "What is the title of the document?": "Textractor Test Document",
            },
            id="textract-queries",
        ),
        pytest.param(
            "azure-di",
            "azure-document-intelligence/invoice-v2.1.json",
            {"InvoiceId": "INV-100", "InvoiceTotal": 110, "DueDate": "2019-12-15"},
            id="azure-invoice",
        ),
        pytest.param(
            "azure-di",
            "azure-document-intelligence/receipt-v2.0.json",
            {
                "ReceiptType": "Itemized",
                "TransactionTime": "13:59:00",
                "Items": [
                    {"Quantity": 1, "Name": "Cappuccino", "TotalPrice": 2.2},
                    {"Quantity": 1, "Name": "BACON & EGGS", "TotalPrice": 9.5},
                ],
            },
            id="azure-receipt",
        ),
        pytest.param(
            "google-docai",
            "google-document-ai/invoice-processor.json",
            {
                "invoice_date": "2020-01-01",
                "total_amount": "2140",
                "vat": [{"tax_amount": "140 USD"}],
            },
            id="google-camel-case",
        ),
        pytest.param(
            "google-docai",
            "google-document-ai/expense-processor.json",
            {
                "receipt_date": "2022-12-11",
                "purchase_time": "12h42",
                "supplier_city": "Orléans",
                "line_item": [
                    {"description": "Entrée plein tarif", "amount": "6,00"},
                    {"description": "Entrée tarif réduit", "amount": "3,50"},
                ],
            },
            id="google-snake-case",
        ),
        pytest.param(
            "mindee",
            "mindee/receipt-v3.json",
            {
                "date": "2016-02-26",
                "total_incl": 10.2,
                "taxes": [{"code": "None", "rate": 20.0, "value": 1.7}],
            },
            id="mindee-receipt",
        ),
        pytest.param(
            "mindee",
            "mindee/custom-v1.json",
            {"email": "contact@mindee.com", "string_all": ["Mindee", "is", "awesome"]},
            id="mindee-custom",
        ),
    ],
)
def test_a_response_of_a_service_is_a_prediction(preset, name, fields):
    found = prediction_of(preset, SAMPLES / name)
    assert {key: found.get(key) for key in fields} == fields
    assert "confidence" not in json.dumps(found).lower()


def test_line_items_of_textract_leave_out_the_text_of_the_row():
    items = prediction_of("textract", SAMPLES / "textract/analyze-expense-invoice.json")[
        "line_items"
    ]
    assert items[0] == {
        "ITEM": "Product 1",
        "QUANTITY": "1",
        "UNIT_PRICE": "$1000",
        "PRICE": "$1000",
    }
    assert items[1] == {
        "ITEM": "Service 3",
        "Quantity": "",
        "UNIT_PRICE": "$2789",
        "PRICE": "$2789",
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param({"type": "number", "valueNumber": 5, "content": "5"}, 5, id="typed"),
        pytest.param({"type": "number", "content": "five"}, "five", id="only-printed-text"),
        pytest.param({"type": "date", "text": "12/1"}, "12/1", id="older-printed-text"),
        pytest.param(None, None, id="absent"),
        pytest.param(
            {"type": "currency", "valueCurrency": {"amount": 5, "currencyCode": "USD"}},
            {"amount": 5, "currencyCode": "USD"},
            id="currency",
        ),
    ],
)
def test_values_of_newer_azure_versions(field, value):
    response = {
        "analyzeResult": {"apiVersion": "2024-11-30", "documents": [{"fields": {"x": field}}]}
    }
    assert prediction_of("azure-di", response) == {"x": value}


def test_check_boxes_of_textract_are_booleans():
    blocks = [
        {
            "Id": "k",
            "BlockType": "KEY_VALUE_SET",
            "EntityTypes": ["KEY"],
            "Relationships": [{"Type": "VALUE", "Ids": ["v"]}, {"Type": "CHILD", "Ids": ["w"]}],
        },
        {"Id": "w", "BlockType": "WORD", "Text": "Paid:"},
        {
            "Id": "v",
            "BlockType": "KEY_VALUE_SET",
            "EntityTypes": ["VALUE"],
            "Relationships": [{"Type": "CHILD", "Ids": ["s"]}],
        },
        {"Id": "s", "BlockType": "SELECTION_ELEMENT", "SelectionStatus": "SELECTED"},
    ]
    assert prediction_of("textract", {"Blocks": blocks}) == {"Paid": True}


def test_a_directory_of_responses_pairs_by_file_name(tmp_path):
    for name in ("a", "b"):
        source = SAMPLES / "mindee/receipt-v3.json"
        (tmp_path / f"{name}.json").write_bytes(source.read_bytes())
    (tmp_path / "c.json").write_text('{"other": 1}')
    truth = [{"id": name, "total_incl": 10.2} for name in "cab"]
    stream = open_pairs(truth, tmp_path, Inputs(preset="mindee"))
    first, *others = cases_of(stream)
    assert first.input is CaseInput.PARSE_ERROR
    assert "no document.inference.prediction" in first.note
    assert [case.candidate["total_incl"] for case in others] == [10.2, 10.2]


@pytest.mark.parametrize(
    ("preset", "name", "keys", "cases"),
    [
        pytest.param(
            "openai-evals",
            "openai-evals/oaieval-log.jsonl",
            {},
            {"test-match.s1.1": ("George Washington", "George Washington")},
            id="openai-evals-log",
        ),
        pytest.param(
            "openai-evals",
            "openai-evals/hosted-multi-run-items.jsonl",
            {"expected_key": "item.correct_label"},
            {
                "evalrun_pass_fixture/0": ("Hardware", "Hardware"),
                "evalrun_error_fixture/0": ("Hardware", MISSING),
            },
            id="openai-evals-items",
        ),
        pytest.param(
            "promptfoo",
            "promptfoo/results-v3.json",
            {"expected_key": "testCase.vars.body"},
            {"1/0": ("I'm hungry", "J'ai faim."), "0/1": ("Hello world", "Salut tout le monde !")},
            id="promptfoo-3",
        ),
        pytest.param(
            "promptfoo",
            "promptfoo/results-v1.json",
            {"expected_key": "vars.year"},
            {},
            id="promptfoo-1",
        ),
        pytest.param(
            "inspect",
            "inspect-ai/popularity-2025-05.json",
            {},
            {"1": (" Yes", "Yes"), "2": (" No", "No"), "3": (" Yes", "No")},
            id="inspect",
        ),
        pytest.param(
            "inspect",
            "inspect-ai/popularity-2024-10.json",
            {},
            {"1": (" Yes", "No")},
            id="inspect-2024",
        ),
        pytest.param(
            "braintrust",
            "braintrust/vitest-eval.log-payloads.json",
            {},
            {"<span:4>": (10, {"phase": "configured-span", "result": 10})},
            id="braintrust",
        ),
    ],
)
def test_an_export_with_both_sides(preset, name, keys, cases):
    stream = open_pairs(SAMPLES / name, None, Inputs(preset=preset, **keys))
    found = {case.id: (case.expected, case.candidate) for case in cases_of(stream)}
    assert {name: found[name] for name in cases} == cases
    assert found


def test_keys_of_an_export_can_be_named():
    keys = {"expected_key": "inputs.input_answer", "candidate_key": "inputs.input_prediction"}
    path = SAMPLES / "langsmith/carb-IE-incorrect.json"
    first, *_ = cases_of(open_pairs(path, None, Inputs(preset="langsmith", **keys)))
    assert first.expected[0] == {
        "s": "Piffaro",
        "object": "a concert series",
        "relation": "generally performs",
    }
    assert len(first.candidate) > 1


@pytest.mark.parametrize(
    ("preset", "name", "expected"),
    [
        pytest.param(
            "langsmith",
            "langsmith/carb-IE-incorrect.json",
            {"output_correctness_score": 0},
            id="langsmith",
        ),
        pytest.param("braintrust", "braintrust/dataset-coqa-factuality.json", 1, id="braintrust"),
    ],
)
def test_a_data_set_is_ground_truth(preset, name, expected):
    options = Inputs(preset=preset)
    assert cases_of(open_truth(SAMPLES / name, options))[0].expected == expected
    with pytest.raises(
        DataError, match="the export has no predictions; give them as the second input"
    ):
        open_pairs(SAMPLES / name, None, options)


def test_samples_of_openai_evals_are_ground_truth():
    path = SAMPLES / "openai-evals/samples-spider-sql.jsonl"
    cases = cases_of(open_truth(path, Inputs(preset="openai-evals")))
    assert len(cases) == 5
    assert cases[0].expected.startswith("SELECT AVG(cars_data.Horsepower)")


def test_an_experiment_of_langsmith_has_both_sides():
    row = {"id": "x", "inputs": {}, "outputs": {"a": 2}, "reference_outputs": {"a": 1}}
    [case] = cases_of(open_pairs([row], None, Inputs(preset="langsmith")))
    assert (case.id, case.expected, case.candidate) == ("x", {"a": 1}, {"a": 2})


def test_spans_below_a_braintrust_task_are_not_rows():
    rows = [
        {"id": "a", "span_id": "1", "root_span_id": "1", "output": {"n": 1}, "expected": {"n": 1}},
        {"id": "b", "span_id": "2", "root_span_id": "1", "output": "step", "span_parents": ["1"]},
    ]
    [case] = cases_of(open_pairs(rows, None, Inputs(preset="braintrust")))
    assert case.id == "a"


def test_assertions_of_promptfoo_that_test_equality_are_ground_truth():
    result = {
        "testIdx": 0,
        "response": {"output": {"n": 2}},
        "testCase": {"assert": [{"type": "latency"}, {"type": "equals", "value": {"n": 1}}]},
    }
    export = {"results": {"version": 3, "results": [result]}}
    [case] = cases_of(open_pairs(export, None, Inputs(preset="promptfoo")))
    assert (case.id, case.expected, case.candidate) == ("0", {"n": 1}, {"n": 2})


def inspect_log(**sample):
    message = {"message": {"content": "attachment://x"}}
    full = {"id": 1, "target": ["{}"], "output": {"choices": [message]}, **sample}
    return {"version": 2, "eval": {}, "samples": [full]}


def test_attachments_of_inspect_are_read():
    log = inspect_log(attachments={"x": '{"a": 1}'})
    [case] = cases_of(open_pairs(log, None, Inputs(preset="inspect")))
    assert (case.expected, case.candidate) == ({}, {"a": 1})
    with pytest.raises(DataError, match="refers to a missing attachment"):
        open_pairs(inspect_log(), None, Inputs(preset="inspect"))


def test_thoughts_in_messages_of_inspect_are_left_out():
    parts = [{"type": "reasoning", "reasoning": "{}"}, {"type": "text", "text": '{"a": 1}'}]
    log = inspect_log(output={"choices": [{"message": {"content": parts}}]})
    [case] = cases_of(open_pairs(log, None, Inputs(preset="inspect")))
    assert case.candidate == {"a": 1}


def label_studio(name):
    path = SAMPLES / f"label-studio/{name}.json"
    return cases_of(open_truth(path, Inputs(preset="labelstudio")))


def test_boxes_of_label_studio_are_regions_with_scores():
    path = SAMPLES / "label-studio/tasks-with-ground-truth.json"
    first, *_ = cases_of(open_pairs(path, None, Inputs(preset="labelstudio")))
    assert first.expected == {"regions": [{"class": "Car", "bbox": [80.62, 24.26, 3.12, 3.6]}]}
    [region] = first.candidate["regions"]
    assert (region["class"], round(region["score"], 3)) == ("Car", 0.231)


def test_named_entities_of_label_studio_are_texts_by_label():
    [case] = label_studio("ner-annotation")
    assert (case.id, case.expected) == ("1", {"Date": "February 22"})


def test_answers_of_label_studio_are_fields():
    [case] = label_studio("export-full")
    assert list(case.expected) == ["uri_selection"]
    assert case.expected["uri_selection"].startswith("Yes ")


def test_regions_and_text_of_the_whole_task_of_label_studio():
    first, second, skipped = label_studio("export-document-regions-textarea")
    assert first.expected["doclang"].startswith("<doclang>")
    assert first.expected["regions"] == [
        {"class": "Section-header", "bbox": [5.0, 10.0, 40.0, 15.0]}
    ]
    assert second.expected == {"regions": [{"class": "Text", "bbox": [1, 2, 3, 4]}]}
    assert skipped.input is CaseInput.INVALID_TRUTH  # its only annotation was cancelled


def test_a_transcription_belongs_to_the_label_of_its_region():
    box = {"x": 1, "y": 1, "width": 2, "height": 2}
    result = [
        {"id": "r", "type": "rectangle", "from_name": "b", "value": box},
        {"id": "r", "type": "labels", "from_name": "l", "value": {**box, "labels": ["Total"]}},
        {"id": "r", "type": "textarea", "from_name": "t", "value": {**box, "text": ["12", "EUR"]}},
        {"type": "relation", "from_id": "r", "to_id": "r"},
        {"id": "c", "type": "choices", "from_name": "kind", "value": {"choices": ["a", "b"]}},
    ]
    task = {"id": 1, "data": {}, "annotations": [{"result": result}]}
    [case] = cases_of(open_truth([task], Inputs(preset="labelstudio")))
    assert case.expected == {"kind": ["a", "b"], "Total": "12\nEUR"}


UNKNOWN = [
    pytest.param(
        "labelstudio",
        [{"id": 1, "text": "x", "label": "y"}],
        "not as JSON-MIN",
        id="labelstudio-min",
    ),
    pytest.param(
        "labelstudio",
        {"data": {}, "id": 7, "annotations": [{}, {}]},
        "task 7 has 2 annotations; mark one",
        id="labelstudio-annotations",
    ),
    pytest.param(
        "labelstudio",
        {"data": {}, "annotations": [], "predictions": [{}, {}]},
        "task 1 has 2 predictions; export only one",
        id="labelstudio-predictions",
    ),
    pytest.param(
        "labelstudio",
        {"data": {}, "annotations": [{"result": [{"type": "brush", "value": {}}]}]},
        "nothing to compare, 1 brush mask not read",
        id="labelstudio-type",
    ),
    pytest.param(
        "inspect",
        {"version": 3, "eval": {}, "samples": [{}]},
        "unknown version 3",
        id="inspect-version",
    ),
    pytest.param(
        "inspect",
        {"version": 2, "eval": {}, "status": "error"},
        "no samples .status 'error'",
        id="inspect-without-samples",
    ),
    pytest.param(
        "promptfoo",
        {"results": {"version": 9, "results": [{}]}},
        "unknown version 9",
        id="promptfoo-version",
    ),
    pytest.param(
        "azure-di", {"status": "running"}, "status of the analysis is 'running'", id="azure-running"
    ),
    pytest.param(
        "azure-di", {"analyzeResult": {"apiVersion": "9"}}, "version 9", id="azure-version"
    ),
    pytest.param(
        "mindee", {"inference": {"result": {"fields": {}}}}, "API version 1", id="mindee-2"
    ),
    pytest.param(
        "textract",
        {"Blocks": [{"Id": "x", "BlockType": "LINE"}]},
        "no forms or queries",
        id="textract-text",
    ),
    pytest.param(
        "openai-evals",
        [{"spec": {}}, {"type": "sampling"}],
        "no events of the type match",
        id="openai-evals-log",
    ),
]


@pytest.mark.parametrize(("preset", "value", "message"), UNKNOWN)
def test_unknown_versions_are_named(tmp_path, preset, value, message):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DataError, match=message) as caught:
        open_pairs([{"a": 1}], path, Inputs(preset=preset))
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match=message):
        open_pairs(path, None, Inputs(preset=preset))


@pytest.mark.parametrize("preset", registry.built_in(registry.Plugin.READERS))
@pytest.mark.parametrize("value", [{}, [], [1], "text", {"a": 1}, [{"a": 1}]], ids=json.dumps)
def test_other_data_is_never_an_empty_result(tmp_path, preset, value):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DataError, match=r"--from|no rows"):
        open_pairs([{"a": 1}], path, Inputs(preset=preset))


def test_presets_exclude_other_formats():
    with pytest.raises(OptionError, match="cannot be combined"):
        Inputs(preset="mindee", rows="list")
    with pytest.raises(OptionError, match="must be one of"):
        Inputs(preset="nanonets")


def test_an_iterator_is_not_consumed_by_a_preset():
    truth = ({"id": name, "total_incl": 1} for name in "ab")
    stream = open_pairs(
        truth, SAMPLES / "mindee/receipt-v3.json", Inputs(preset="mindee", pair="position")
    )
    assert [case.expected for case in cases_of(stream)] == [{"total_incl": 1}] * 2
    with pytest.raises(DataError, match="no input is a file that --from mindee can read"):
        open_pairs(iter([{}]), iter([{}]), Inputs(preset="mindee"))


def blocks(*kinds, **more):
    return [{"Id": str(number), "BlockType": kind, **more} for number, kind in enumerate(kinds)]


def linked(block_id, kind, **relations):
    links = [{"Type": name, "Ids": ids} for name, ids in relations.items()]
    return {"Id": block_id, "BlockType": kind, "Relationships": links}


FORM = [
    {**linked("k", "KEY_VALUE_SET", VALUE=["v"], CHILD=["w"]), "EntityTypes": ["KEY"]},
    {**linked("v", "KEY_VALUE_SET", CHILD=["x", "s"]), "EntityTypes": ["VALUE"]},
    {"Id": "w", "BlockType": "WORD", "Text": "Total"},
    {"Id": "x", "BlockType": "WORD", "Text": "5"},
]
QUERY = [
    {**linked("q", "QUERY", ANSWER=["a", "b"]), "Query": {"Text": "?", "Alias": "Total"}},
    {"Id": "a", "BlockType": "QUERY_RESULT", "Text": "6"},
    {"Id": "b", "BlockType": "QUERY_RESULT", "Text": "7"},
]
EXPENSE = {"SummaryFields": [{"Type": {"Text": "TOTAL"}, "ValueDetection": {"Text": "5"}}]}
AZURE = {"documents": [{"fields": {"total": {"valueNumber": 5}}}]}
MINDEE = {"prediction": {"total": {"value": 5}}}
ENTITY = {"type": "total", "mentionText": "5"}
EXAMPLE = {"id": "1", "inputs": {}, "outputs": {"total": 5}}
SPAN = {"id": "1", "output": 5, "expected": 5}
MATCH = {"type": "match", "sample_id": "1", "data": {"expected": "5", "sampled": "5"}}
EQUAL = {"type": "equals", "value": 5}
TEXT = {"type": "text", "text": "5"}
ITEM = {"data_source_idx": 1, "item": {}, "expected": 5, "sample": {"outputs": [{}, {}]}}
NUMBER = {"type": "number", "from_name": "total", "value": {"number": 5}}


def promptfoo(*checks, **more):
    result = {"testCase": {"assert": list(checks)}, "response": {"output": 5}}
    return {"results": {"version": 3, "results": [result], **more}}


def inspect_message(*parts, choices=1):
    return inspect_log(output={"choices": [{"message": {"content": list(parts)}}] * choices})


LEFT_OUT = [
    pytest.param(
        "textract",
        {"Blocks": [*FORM, *QUERY, *blocks("SIGNATURE", "NEW", "TABLE", "LAYOUT_TEXT", "LINE")]},
        {"signature": 1, "NEW block": 1, "table": 1, "query answer": 1},
        id="textract",
    ),
    pytest.param(
        "textract",
        {
            "Blocks": [
                *FORM,
                linked("t", "TABLE", CHILD=["c"]),
                linked("c", "CELL", CHILD=["0", "s"]),
                *blocks("SELECTION_ELEMENT"),
            ]
        },
        {"table": 1},
        id="textract-check-box-of-a-table",
    ),
    pytest.param(
        "textract",
        {"Blocks": [*FORM, {"Id": "s", "BlockType": "SELECTION_ELEMENT"}]},
        {"check box": 1},
        id="textract-check-box-beside-text",
    ),
    pytest.param(
        "textract",
        {"Blocks": [*FORM, {"Id": "s", "BlockType": "SIGNATURE"}]},
        {"signature": 1},
        id="textract-signature-as-value",
    ),
    pytest.param(
        "textract",
        {"Blocks": [*FORM, {**FORM[1], "Id": "u"}, *blocks("QUERY_RESULT")]},
        {"form": 1, "query answer": 1},
        id="textract-without-a-key",
    ),
    pytest.param(
        "textract",
        {
            "ExpenseDocuments": [{**EXPENSE, "NewParts": [{}], "Blocks": blocks("NEW")}, 5],
            "Blocks": [*FORM, *QUERY],
        },
        {"new part": 1, "NEW block": 1, "expense document": 1, "form": 1, "query": 1},
        id="textract-expense",
    ),
    pytest.param(
        "azure-di",
        {"analyzeResult": {**AZURE, "keyValuePairs": [{}, {}], "pages": [{}], "new": [{}]}},
        {"key value pair": 2, "new": 1},
        id="azure",
    ),
    pytest.param(
        "azure-di",
        {
            "analyzeResult": {
                "documentResults": [{"fields": {"total": 5}, "boundingRegions": [{}]}],
                "pageResults": [{"tables": [{}]}],
            }
        },
        {"field": 1, "table": 1},
        id="azure-2",
    ),
    pytest.param(
        "azure-di",
        {"fieldLabels": {"total": {"valueNumber": 5}}, "newParts": [{}]},
        {"new part": 1},
        id="azure-labels",
    ),
    pytest.param(
        "google-docai",
        {"entities": [ENTITY, None], "pages": [{"formFields": [{}], "tokens": [{}], "new": [{}]}]},
        {"entity": 1, "form field": 1, "new": 1},
        id="google",
    ),
    pytest.param(
        "mindee",
        {"document": {"inference": {**MINDEE, "pages": [{}], "new_parts": [{}]}}},
        {"new part": 1},
        id="mindee",
    ),
    pytest.param(
        "mindee",
        {"document": {"inference": {"prediction": {"total": {"values": [5, {"content": "5"}]}}}}},
        {"value": 1},
        id="mindee-values",
    ),
    pytest.param(
        "langsmith",
        {"examples": [EXAMPLE, {"type": "new"}, 5], "runs": [{}]},
        {"incomplete row": 1, "row": 1, "run": 1},
        id="langsmith",
    ),
    pytest.param(
        "braintrust",
        [SPAN, {**SPAN, "span_parents": ["1"]}, {"type": "new"}, {**SPAN, "span_id": "2"}],
        {"task step": 2, "incomplete row": 1},
        id="braintrust",
    ),
    pytest.param(
        "openai-evals",
        [{"spec": {}}, {"final_report": {}}, MATCH, {"type": "new"}, {"type": "sampling"}],
        {"new event": 1, "sampling event": 1},
        id="openai-evals",
    ),
    pytest.param("openai-evals", [ITEM], {"earlier output": 1}, id="openai-evals-items"),
    pytest.param(
        "promptfoo",
        promptfoo({"type": "new"}, EQUAL, EQUAL, prompts=[{}], newParts=[{}]),
        {"new assertion": 1, "equals assertion": 1, "new part": 1},
        id="promptfoo",
    ),
    pytest.param(
        "inspect",
        inspect_message(TEXT, {"type": "new"}, {"type": "image"}, choices=3),
        {"new part": 1, "image part": 1, "further choice": 2},
        id="inspect",
    ),
    pytest.param(
        "labelstudio",
        [{"data": {}, "annotations": [{"result": [NUMBER, {"type": "new", "value": {}}]}]}],
        {"new result": 1},
        id="labelstudio",
    ),
]


@pytest.mark.parametrize(("preset", "value", "left_out"), LEFT_OUT)
def test_what_an_importer_does_not_read_is_counted(tmp_path, preset, value, left_out):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value))
    stream = open_truth(path, Inputs(preset=preset))
    cases_of(stream)
    [export] = stream.exports
    assert (export.tool, export.left_out) == (preset, left_out)
    notes = export_notes(stream.exports)
    assert len(notes) == bool(left_out)
    assert all(noun in note for note in notes for noun in left_out)


@pytest.mark.parametrize("preset", registry.built_in(registry.Plugin.READERS))
def test_each_importer_counts_parts_of_an_unknown_type(preset):
    nouns = {
        noun
        for name, _, left_out in (row.values for row in LEFT_OUT)
        if name == preset
        for noun in left_out
    }
    assert any("new" in noun.lower() for noun in nouns) or "incomplete row" in nouns


def test_parts_of_a_directory_are_counted_once(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"Blocks": [*FORM, *blocks("SIGNATURE")]})
        )
    stream = open_pairs([{"id": "a"}, {"id": "b"}], tmp_path, Inputs(preset="textract"))
    cases_of(stream)
    assert [export.left_out for export in stream.exports] == [{"signature": 2}]


def test_the_names_of_unknown_parts_are_limited():
    left_out = LeftOut()
    for number in range(100):
        left_out.add(f"{number:02}{'x' * 100}")
    left_out.add("nothing", 0)
    assert sum(left_out.counts.values()) == 100
    assert len(left_out.counts) == 51
    assert max(map(len, left_out.counts)) == 60


def test_a_form_and_a_query_of_one_name_are_both_read():
    found = prediction_of("textract", {"Blocks": [*FORM, *QUERY]})
    assert found == {"Total": ["5", "6"]}


def test_an_entity_with_properties_and_one_without_are_both_read():
    parts = {"type": "total", "properties": [{"type": "net", "mentionText": "4"}]}
    found = prediction_of("google-docai", {"entities": [ENTITY, parts]})
    assert found == {"total": [{"net": "4"}, "5"]}


def without_target(target):
    samples = [inspect_log(id=1, target="5", attachments={"x": "5"})["samples"][0]]
    samples += inspect_log(id=2, target=target, attachments={"x": "6"})["samples"]
    return {"version": 2, "eval": {}, "samples": samples}


NO_TRUTH = [
    *(
        pytest.param("inspect", without_target(target), id=f"inspect-{json.dumps(target)}")
        for target in (None, [], "", [""])
    ),
    pytest.param("braintrust", [SPAN, {"id": "2", "output": 6, "expected": None}], id="braintrust"),
    pytest.param(
        "langsmith",
        [
            {**EXAMPLE, "reference_outputs": {"total": 5}},
            {**EXAMPLE, "id": "2", "reference_outputs": None},
        ],
        id="langsmith",
    ),
    pytest.param(
        "openai-evals",
        [{"spec": {}}, MATCH, {**MATCH, "sample_id": "2", "data": {"sampled": "6"}}],
        id="openai-evals",
    ),
]


@pytest.mark.parametrize(("preset", "value"), NO_TRUTH)
def test_an_absent_target_is_no_ground_truth(preset, value):
    with_truth, without = cases_of(open_pairs(value, None, Inputs(preset=preset)))
    assert (with_truth.input, without.input) == (CaseInput.OK, CaseInput.INVALID_TRUTH)


def test_an_experiment_without_any_reference_has_no_ground_truth():
    row = {**EXAMPLE, "reference_outputs": None}
    with pytest.raises(DataError, match="the export has no ground truth"):
        open_pairs([row], None, Inputs(preset="langsmith"))
