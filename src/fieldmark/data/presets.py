"""Exports of other tools and responses of services as rows with an id and both sides.

The rows of evaluation tools keep the keys of the export, so that other keys can be named; rows of
services contain only the prediction and, in a document of its own, its confidences. A file in
another form, or in an unknown version of a format, is an error that describes the expected form.
Parts of an export that are not read are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, cast

from fieldmark import registry
from fieldmark.align.greedy import Greedy
from fieldmark.compare.exact import Ignore
from fieldmark.compare.iou import Iou
from fieldmark.data.export_parts import (
    NotExportedError,
    Rated,
    ReadExport,
    collect,
    count_other_lists,
    document_rows,
    export_reader,
    not_readable,
    objects,
    rated_list,
    rated_object,
    value_at,
)
from fieldmark.data.input_files import (
    STDIN,
    InputFile,
    buffer_stream,
    is_stream,
    open_file,
    open_stdin,
    read_whole,
)
from fieldmark.data.inputs import InputLike, Inputs, RowsAre
from fieldmark.data.json_parser import JsonDialect, Role, Row, UnreadableRow, parse_bytes
from fieldmark.data.json_rows import ValueSource, ensure_documents, is_record, to_json_value
from fieldmark.data.rows import DerivedSource, RowBlock, RowSource
from fieldmark.data.sources import DirectorySource
from fieldmark.errors import DataError, FieldmarkError, Location, OptionError, with_location
from fieldmark.metrics.detections import class_names
from fieldmark.model.case import CaseContext
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.reader import ExportReader, LeftOut
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.geometry import BoxFormat
from fieldmark.values.json_text import LIMITS, Limits

_LINE_ITEMS: Final = "line_items"


def reader_rules(options: Inputs) -> tuple[Rule, ...]:
    """Return the rules that the reader of the inputs declares for the fields that it makes."""
    if options.format_in is not None:
        return COCO_RULES
    if options.preset is None:
        return ()
    strategy = registry.load(Plugin.READERS, options.preset)
    return cast("tuple[Rule, ...]", getattr(strategy, "rules", ()))


def read_preset(source: RowSource, preset: str) -> RowSource:
    """Return the rows of an export; raise an error if the source is not such an export."""
    reader = registry.create(registry.load(Plugin.READERS, preset), {})
    if not hasattr(reader, "rows"):
        suffixes = ", ".join(getattr(reader, "suffixes", ()))
        message = f"reader {preset!r} reads files with the suffix {suffixes} without --from"
        raise OptionError("preset", message)

    def read(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
        try:
            rows = cast("ExportReader", reader).rows(value, left_out)
        except FieldmarkError:
            raise
        except Exception as error:  # of a plug-in
            raise not_readable(preset, f"{type(error).__name__}: {error}") from error
        # A truth of null is no truth: otherwise every value of the prediction would be extra.
        return [
            {key: value for key, value in row.items() if key != "expected" or value is not None}
            for row in rows
        ]

    if isinstance(source, DirectorySource):
        directory = _PresetDirectory(source.name, source, read)
        directory.tool = preset
        first = next(directory.blocks()).rows[0]
        if isinstance(first, UnreadableRow):
            raise DataError(first.reason, source.location(0))
        return directory
    rows = [row for block in source.blocks() for row in block.rows]
    if isinstance(source, ValueSource):
        value = source.value
    else:
        unreadable = next((row for row in rows if isinstance(row, UnreadableRow)), None)
        if unreadable is not None:
            raise DataError(unreadable.reason, Location(source.name))
        value = cast("list[JsonValue]", rows)
    left_out = LeftOut()
    try:
        exported = read(value, left_out)
        if not exported:
            raise not_readable(preset, "no rows in the export")
    except DataError as error:
        raise with_location(error, Location(source.name)) from None
    source.close()
    converted = ValueSource(source.name, cast("list[JsonValue]", exported))
    converted.bytes_total = converted.bytes_read = source.bytes_total
    converted.tool, converted.left_out[0] = preset, left_out
    return converted


@dataclass(slots=True)
class _PresetDirectory(DerivedSource):
    """A directory with one document of a service per file."""

    read: ReadExport

    def __post_init__(self) -> None:
        DerivedSource.__post_init__(self)
        self.in_memory = True

    def blocks(self) -> Iterator[RowBlock]:
        """Read the documents; a file with several is unreadable."""
        for block in self._source_blocks():
            rows = list(map(self._row, block.rows, block.positions))
            yield RowBlock(rows, block.positions, block.ids)

    def _row(self, row: Row, position: int) -> Row:
        if isinstance(row, UnreadableRow):
            return row
        # By position, because blocks can be read several times.
        left_out = self.left_out[position] = LeftOut()
        try:
            rows = self.read(row, left_out)
        except DataError as error:
            return UnreadableRow(error.message)
        if len(rows) != 1:
            return UnreadableRow(f"expected one document in the file, got {len(rows)}")
        return {key: value for key, value in rows[0].items() if key != "id"}


# --- services -------------------------------------------------------------------------------------


_PAGE_TEXT: Final = frozenset(("PAGE", "LINE", "WORD"))
_LAYOUT: Final = "LAYOUT_"
_WITH_PARTS: Final = frozenset(("KEY_VALUE_SET", "QUERY", "TABLE", "CELL", "MERGED_CELL"))
_SIGNATURE: Final = "SIGNATURE"
_BLOCK_NOUNS: Final = {
    "KEY_VALUE_SET": "form",
    "QUERY": "query",
    "QUERY_RESULT": "query answer",
    "SELECTION_ELEMENT": "check box",
    _SIGNATURE: "signature",
    "TABLE": "table",
}
_EXPENSE_KEYS: Final = frozenset(("SummaryFields", "LineItemGroups", "Blocks"))

_Blocks: TypeAlias = Mapping[str, JsonObject]


def _textract(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    blocks = {
        str(block.get("Id", f"#{index}")): block
        for index, block in enumerate(objects(value_at(value, "Blocks"), "block", left_out))
    }
    expenses = objects(value_at(value, "ExpenseDocuments"), "expense document", left_out)
    if expenses:
        _count_blocks(blocks, (), left_out)
        return document_rows([_expense(expense, left_out) for expense in expenses])
    fields = [*_textract_forms(blocks, left_out), *_textract_queries(blocks, left_out)]
    if not fields:
        reason = "no ExpenseDocuments, and no forms or queries in Blocks"
        raise NotExportedError(reason)
    _count_blocks(blocks, ("KEY_VALUE_SET", "QUERY"), left_out)
    return document_rows([collect(fields, left_out)])


def _count_blocks(blocks: _Blocks, read: Collection[str], left_out: LeftOut) -> None:
    """Count the blocks of types that are not read, except for the text and layout of pages.

    A part of a form, a query or a table is counted with it, but a signature always.
    """
    parts = {
        part
        for block in blocks.values()
        if block.get("BlockType") in _WITH_PARTS
        for part in _related(block)
    }
    for block_id, block in blocks.items():
        kind = str(block.get("BlockType"))
        part = block_id in parts and kind != _SIGNATURE
        text = kind in _PAGE_TEXT or kind.startswith(_LAYOUT)
        if not (part or text or (kind in read and (kind != "KEY_VALUE_SET" or _is_key(block)))):
            left_out.add(_BLOCK_NOUNS.get(kind, f"{kind} block"))


def _percentage(*values: JsonValue) -> JsonValue:
    """Return the first confidence as a percentage, as in all responses of Textract."""
    number = next((value for value in values if isinstance(value, int | float)), None)
    return None if number is None else f"{number}%"


def _expense(expense: JsonObject, left_out: LeftOut) -> Rated:
    count_other_lists(expense, _EXPENSE_KEYS, left_out)
    for block in objects(expense.get("Blocks"), "block", left_out):
        _count_blocks({"": block}, (), left_out)
    items: list[Rated] = []
    for group in objects(expense.get("LineItemGroups"), "line item group", left_out):
        for item in objects(group.get("LineItems"), "line item", left_out):
            cells = objects(item.get("LineItemExpenseFields"), "line item field", left_out)
            # The text of the whole row repeats its cells.
            named = [field for field in map(_expense_field, cells) if field[0] != "EXPENSE_ROW"]
            items.append(collect(named, left_out))
    summary = objects(expense.get("SummaryFields"), "summary field", left_out)
    return collect(map(_expense_field, summary), left_out, {_LINE_ITEMS: items})


def _expense_field(field: JsonObject) -> tuple[str, Rated]:
    """Return the type and the text of a field; one of another type has its printed label.

    The confidence belongs to the text, otherwise to the type.
    """
    name = str(value_at(field, "Type.Text"))
    label = value_at(field, "LabelDetection.Text")
    text = value_at(field, "ValueDetection.Text")
    rated = _percentage(
        value_at(field, "ValueDetection.Confidence"), value_at(field, "Type.Confidence")
    )
    named = label if name == "OTHER" and isinstance(label, str) and label else name
    return named, Rated(text, rated)


def _is_key(block: JsonObject) -> bool:
    kinds = block.get("EntityTypes")
    return block.get("BlockType") == "KEY_VALUE_SET" and isinstance(kinds, list) and "KEY" in kinds


def _related(block: JsonObject, kind: str = "") -> list[str]:
    """Return the ids of the blocks that a block has a relationship with, of a kind or of any."""
    relations = block.get("Relationships")
    return [
        str(block_id)
        for relation in (relations if isinstance(relations, list) else [])
        if isinstance(relation, dict) and kind in ("", relation.get("Type"))
        for block_id in cast("list[JsonValue]", relation.get("Ids") or [])
    ]


def _textract_forms(blocks: _Blocks, left_out: LeftOut) -> Iterator[tuple[str, Rated]]:
    for block in filter(_is_key, blocks.values()):
        values = [blocks[value] for value in _related(block, "VALUE") if value in blocks]
        texts = [_block_text(value, blocks, left_out) for value in values]
        name = str(_block_text(block, blocks, left_out) or "").rstrip(": ")
        text = texts[0] if len(texts) == 1 else " ".join(map(str, texts)) or None
        own = _percentage(*(value.get("Confidence") for value in values))
        of_words: list[JsonValue] = [
            confidence
            for value in values
            for word in _related(value, "CHILD")
            if (confidence := _percentage(blocks.get(word, {}).get("Confidence"))) is not None
        ]
        # Without a confidence of the value, the lowest of its words counts, otherwise the name.
        yield name, Rated(text, own or of_words or _percentage(block.get("Confidence")))


def _block_text(block: JsonObject, blocks: _Blocks, left_out: LeftOut) -> JsonValue:
    """Return the words of a block, or whether its first check box is selected."""
    children = [blocks[child] for child in _related(block, "CHILD") if child in blocks]
    boxes = [child for child in children if child.get("BlockType") == "SELECTION_ELEMENT"]
    words = [str(child["Text"]) for child in children if "Text" in child]
    left_out.add("check box", len(boxes) - (bool(boxes) and not words))
    if boxes and not words:
        return boxes[0].get("SelectionStatus") == "SELECTED"
    return " ".join(words) or None


def _textract_queries(blocks: _Blocks, left_out: LeftOut) -> Iterator[tuple[str, Rated]]:
    for block in blocks.values():
        if block.get("BlockType") == "QUERY":
            name = value_at(block, "Query.Alias") or value_at(block, "Query.Text")
            answers = [
                blocks[answer_id] for answer_id in _related(block, "ANSWER") if answer_id in blocks
            ]
            left_out.add("query answer", len(answers[1:]))
            answer = answers[0] if answers else {}
            yield str(name), Rated(answer.get("Text"), _percentage(answer.get("Confidence")))


_AZURE_LAYOUT: Final = frozenset(
    (
        *("pages", "paragraphs", "sections", "styles", "languages", "readResults", "pageResults"),
        *("boundingRegions", "spans"),
    )
)
_AZURE_DOCUMENTS: Final = ("documents", "documentResults")


def _azure(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    status = value_at(value, "status")
    if isinstance(status, str) and status.lower() != "succeeded":
        raise NotExportedError(f"the status of the analysis is {status!r}")
    result = value_at(value, "analyzeResult")
    result = value if result is None else result
    labels = value_at(value, "fieldLabels")
    if isinstance(labels, dict):
        count_other_lists(value, (), left_out)
        return document_rows([_azure_fields(labels, left_out)])
    lists = [value_at(result, name) for name in _AZURE_DOCUMENTS]
    lists.append(value_at(value, "result.contents"))
    read = next((items for items in lists if items), None)
    documents = objects(read, "document", left_out)
    if not documents:
        version = value_at(result, "apiVersion") or value_at(result, "version")
        shown = f" (version {version})" if version else ""
        raise NotExportedError(
            f"no documents or documentResults in analyzeResult{shown}",
        )
    count_other_lists(result, (*_AZURE_DOCUMENTS, *_AZURE_LAYOUT), left_out)
    for part in (*objects(value_at(result, "pageResults"), "page", left_out), *documents):
        count_other_lists(part, _AZURE_LAYOUT, left_out)
    return document_rows(_azure_fields(document.get("fields"), left_out) for document in documents)


def _azure_fields(fields: JsonValue, left_out: LeftOut) -> Rated:
    if not isinstance(fields, dict):
        raise NotExportedError("a document without fields")
    return rated_object({name: _azure_value(field, left_out) for name, field in fields.items()})


def _azure_value(field: JsonValue, left_out: LeftOut) -> Rated:
    """Return the typed value of a field, or its printed text if it has none."""
    if not isinstance(field, dict):
        left_out.add("field", field is not None)
        return Rated(None)
    key = next((key for key in field if key.startswith("value")), None)
    if key is None:
        return Rated(field.get("content", field.get("text")), field.get("confidence"))
    value, own = field[key], field.get("confidence")
    if key == "valueArray" and isinstance(value, list):
        return rated_list(_azure_value(item, left_out) for item in value).with_default(own)
    if key == "valueObject":
        return _azure_fields(value, left_out).with_default(own)
    return Rated(value, own)


_GOOGLE_TEXT: Final = frozenset(
    (
        *("entities", "pages", "textStyles", "text_styles", "textChanges", "text_changes"),
        *("blocks", "paragraphs", "lines", "tokens", "symbols", "transforms"),
        *("detectedLanguages", "detected_languages"),
    )
)
"""The lists of a document and of its pages that are read, or are the text of a page."""


def _google(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    document = value_at(value, "document")
    document = value if document is None else document
    if not isinstance(document, dict) or not isinstance(document.get("entities"), list):
        raise NotExportedError("no list of entities in the document")
    for part in (document, *objects(document.get("pages"), "page", left_out)):
        count_other_lists(part, _GOOGLE_TEXT, left_out)
    return document_rows([_entities(objects(document["entities"], "entity", left_out), left_out)])


def _entities(entities: Iterable[JsonObject], left_out: LeftOut) -> Rated:
    """Return entities by type; entities with properties are always lists of objects."""
    plain: list[tuple[str, Rated]] = []
    grouped: dict[str, list[Rated]] = {}
    for entity in entities:
        kind = entity.get("type", entity.get("type_"))
        if not isinstance(kind, str):
            raise NotExportedError("an entity without a type")
        name = kind.rpartition("/")[2]
        properties = objects(entity.get("properties"), "property", left_out)
        if properties:
            grouped.setdefault(name, []).append(_entities(properties, left_out))
            continue
        normalized = entity.get("normalizedValue", entity.get("normalized_value"))
        text = value_at(normalized, "text") or entity.get("mentionText", entity.get("mention_text"))
        content = text.strip() if isinstance(text, str) else text
        plain.append((name, Rated(content, entity.get("confidence"))))
    return collect(plain, left_out, grouped)


_MINDEE_DETAILS: Final = frozenset(
    ("confidence", "polygon", "bounding_box", "page_id", "raw", "reconstructed")
)


def _mindee(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    inference = value_at(value, "document.inference")
    prediction = value_at(inference, "prediction")
    if not isinstance(prediction, dict):
        reason = "no document.inference.prediction, as in responses of API version 1"
        raise NotExportedError(reason)
    count_other_lists(inference, ("pages",), left_out)  # pages repeat the fields of the document
    fields = {name: _mindee_value(field, left_out) for name, field in prediction.items()}
    return document_rows([rated_object(fields)])


def _mindee_value(field: JsonValue, left_out: LeftOut) -> Rated:
    """Return a field; the confidence of an object applies to all its values."""
    if isinstance(field, list):
        return rated_list(_mindee_value(item, left_out) for item in field)
    if not isinstance(field, dict):
        return Rated(field)
    own = field.get("confidence")
    if "values" in field:
        contents = [
            Rated(part.get("content"), part.get("confidence", own))
            for part in objects(field["values"], "value", left_out)
        ]
        return rated_list(contents) if len(contents) > 1 else next(iter(contents), Rated(None))
    parts = {key: part for key, part in field.items() if key not in _MINDEE_DETAILS}
    return Rated(parts["value"] if parts.keys() == {"value"} else parts, own)


# --- evaluation tools -----------------------------------------------------------------------------


def _langsmith(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    count_other_lists(value, ("examples",), left_out)
    rows_of_export = value.get("examples") if isinstance(value, dict) else value
    all_examples = objects(rows_of_export, "row", left_out)
    examples = [example for example in all_examples if "inputs" in example]
    if not examples:
        raise NotExportedError("no list of examples with inputs")
    left_out.add("incomplete row", len(all_examples) - len(examples))
    # The outputs of a data set are its ground truth, but outputs of an experiment are predictions.
    references = {"reference_outputs", "reference_example"}
    is_experiment = any(references & example.keys() for example in examples)
    rows: list[JsonObject] = []
    for example in examples:
        row = dict(example)
        if is_experiment:
            nested = value_at(example, "reference_example.outputs")
            reference = example.get("reference_outputs", nested)
            row |= {"expected": reference, "candidate": example.get("outputs")}
        elif "outputs" in example:
            row["expected"] = example["outputs"]
        rows.append(row)
    return rows


def _braintrust(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for row in objects(value, "row", left_out):
        if row.get("span_parents") or row.get("span_id") != row.get("root_span_id"):
            left_out.add("task step")
        elif "output" in row or "expected" in row:
            rows.append(_renamed(row, {"output": "candidate"}))
        else:
            left_out.add("incomplete row")
    if not rows:
        raise NotExportedError("no rows with output or expected")
    return rows


def _renamed(row: JsonObject, names: Mapping[str, str]) -> JsonObject:
    return {**row, **{new: row[old] for old, new in names.items() if old in row}}


def _openai_evals(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    rows = objects(value, "row", left_out)
    if any("spec" in row for row in rows):
        events: list[JsonObject] = []
        for row in rows:
            if row.get("type") == "match":
                expected, sampled = value_at(row, "data.expected"), value_at(row, "data.sampled")
                events.append(
                    {"id": row.get("sample_id"), "expected": expected, "candidate": sampled}
                )
            elif "spec" not in row and "final_report" not in row:
                left_out.add(f"{row.get('type', 'other')} event")
        if not events:
            raise NotExportedError("the log has no events of the type match")
        return events
    if rows and all("ideal" in row and "input" in row for row in rows):
        return [_renamed(row, {"ideal": "expected"}) for row in rows]
    if rows and all("item" in row and "data_source_idx" in row for row in rows):
        several = len({str(row.get("run_id")) for row in rows}) > 1
        return [_hosted_item(row, left_out, several=several) for row in rows]
    raise NotExportedError("neither a log of oaieval, nor samples, nor output items")


def _hosted_item(row: JsonObject, left_out: LeftOut, *, several: bool) -> JsonObject:
    number = str(row["data_source_idx"])
    converted = {**row, "id": f"{row.get('run_id')}/{number}" if several else number}
    outputs = objects(value_at(row, "sample.outputs"), "output", left_out)
    left_out.add("earlier output", len(outputs[:-1]))
    if outputs and not value_at(row, "sample.error"):
        converted["candidate"] = outputs[-1].get("content")
    return converted


_PROMPTFOO_VERSIONS: Final = (1, 2, 3, 4)


def _promptfoo(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    outer = value_at(value, "results")
    inner = value_at(outer, "results") if isinstance(outer, dict) else outer
    results = objects(inner, "result", left_out)
    version = value_at(value, "version") or value_at(outer, "version")
    if not results:
        raise NotExportedError("no list of results")
    if version not in _PROMPTFOO_VERSIONS:
        raise NotExportedError(f"unknown version {version!r}")
    count_other_lists(outer, ("results", "prompts"), left_out)
    prompts = {
        (str(entry.get("promptIdx")), str(value_at(entry, "provider.id"))) for entry in results
    }
    rows: list[JsonObject] = []
    for index, result in enumerate(results):
        number = str(result.get("testIdx", index))
        several = len(prompts) > 1
        row: JsonObject = {
            **result,
            "id": f"{number}/{result.get('promptIdx')}" if several else number,
        }
        output = value_at(result, "response.output")
        if output is not None:
            row["candidate"] = output
        for check in objects(value_at(result, "testCase.assert"), "assertion", left_out):
            if check.get("type") == "equals" and "expected" not in row:
                row["expected"] = check.get("value")
            else:
                left_out.add(f"{check.get('type')} assertion")
        rows.append(row)
    return rows


_INSPECT_VERSION: Final = 2
_ATTACHMENTS: Final = ("attachment://", "tc://")


def _inspect(value: JsonValue, left_out: LeftOut) -> list[JsonObject]:
    if not isinstance(value, dict) or "eval" not in value:
        raise NotExportedError("no log of an evaluation")
    if value.get("version") != _INSPECT_VERSION:
        raise NotExportedError(f"unknown version {value.get('version')!r}")
    samples = objects(value.get("samples"), "sample", left_out)
    if not samples:
        raise NotExportedError(f"no samples (status {value.get('status')!r})")
    epochs = {sample.get("epoch") for sample in samples if isinstance(sample.get("epoch"), int)}
    rows: list[JsonObject] = []
    for sample in samples:
        name = str(sample.get("id"))
        row: JsonObject = {**sample, "id": name}
        if len(epochs) > 1:
            row["id"] = f"{name}/{sample.get('epoch')}"
        target = _inspect_text(sample.get("target"), sample)
        # A sample without a target has an empty one; a list may contain several.
        if target not in ("", []):
            row["expected"] = target
        choices = objects(value_at(sample, "output.choices"), "choice", left_out)
        left_out.add("further choice", len(choices[1:]))
        content = value_at(choices[0], "message.content") if choices else None
        if isinstance(content, list):
            parts = objects(content, "message part", left_out)
            texts = [part for part in parts if part.get("type") == "text"]
            for part in parts:
                left_out.add(f"{part.get('type')} part", part not in texts)
            content = "".join(str(part.get("text")) for part in texts)
        if content is not None:
            row["candidate"] = _inspect_text(content, sample)
        rows.append(row)
    return rows


def _inspect_text(value: JsonValue, sample: JsonObject) -> JsonValue:
    """Return a text; it can be a list of one text or refer to another part of the sample."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value.startswith(_ATTACHMENTS):
        return value
    digest = value.partition("://")[2]
    for stored in (sample.get("attachments"), value_at(sample, "transcript.content")):
        if isinstance(stored, dict) and digest in stored:
            return stored[digest]
    raise NotExportedError(f"sample {sample.get('id')!r} refers to a missing attachment")


# --- readers --------------------------------------------------------------------------------------


LangSmith = export_reader("langsmith", "Data sets and experiments of LangSmith.", _langsmith)
Braintrust = export_reader("braintrust", "Experiments of Braintrust.", _braintrust)
OpenAiEvals = export_reader(
    "openai-evals", "Samples, logs and output items of OpenAI Evals.", _openai_evals
)
Promptfoo = export_reader("promptfoo", "Results of promptfoo.", _promptfoo)
Inspect = export_reader("inspect", "Logs of Inspect AI.", _inspect)
Textract = export_reader("textract", "Responses of Amazon Textract.", _textract)
AzureDocumentIntelligence = export_reader(
    "azure-di", "Responses of Azure AI Document Intelligence.", _azure
)
GoogleDocumentAi = export_reader("google-docai", "Documents of Google Document AI.", _google)
Mindee = export_reader("mindee", "Responses of Mindee.", _mindee)


# --- COCO -----------------------------------------------------------------------------------------

COCO_LIMITS: Final = Limits(document_bytes=1 << 30, nodes=100_000_000)
"""Larger limits, because one file contains a whole data set."""
COCO_RULES: Final = (
    Rule(
        path="regions",
        aligner=Greedy(match_fields=("bbox",), similarity={"type": "iou", "format": "xywh"}),
    ),
    Rule(path="regions[*].bbox", comparator=Iou(format=BoxFormat.XYWH)),
    Rule(path="regions[*].score", comparator=Ignore()),
    Rule(path="regions[*].area", comparator=Ignore()),
    Rule(path="crowd", comparator=Ignore()),
)
"""Regions are aligned by overlap. Scores, areas and crowd regions are ignored: only predictions
have scores, the area follows from the box or outline, and crowd regions need not be detected."""
_IMAGE_KEYS: Final = {"width": "width", "height": "height", "file_name": "pages"}
_ENTRY_NAMES: Final = {"images": "image", "annotations": "annotation", "categories": "category"}

_ClassNames: TypeAlias = Mapping[object, str]
_Regions: TypeAlias = dict[str, dict[str, list[JsonObject]]]
"""The regions of each image by image id, in `regions` or `crowd`."""


class CocoSource(ValueSource):
    """The documents of one side by image id, with the images and classes of the truth."""

    class_names: _ClassNames
    images: tuple[str, ...]


def coco_truth(file: InputLike, dialect: JsonDialect) -> CocoSource:
    """Read an instances file: the annotations of all images, sorted by image id."""
    name, value, size = _read_input(file, dialect, Role.TRUTH.label)
    where = Location(name)
    images = _read_entries(value, "images", where)
    annotations = _read_entries(value, "annotations", where)
    has_categories = isinstance(value, dict) and "categories" in value
    try:
        names = class_names(_read_entries(value, "categories", where) if has_categories else [])
    except DataError as error:
        raise with_location(error, where) from None
    ids = sorted(
        {_read_id(image, "id", "image", where) for image in images},
        key=lambda identifier: (
            isinstance(identifier, str),
            identifier if isinstance(identifier, int) else 0,
            str(identifier),
        ),
    )
    regions: _Regions = {str(image): {"regions": [], "crowd": []} for image in ids}
    for number, entry in enumerate(annotations, start=1):
        what = f"annotation {number}"
        image = str(_read_id(entry, "image_id", what, where))
        if image not in regions:
            raise DataError(f"{what}: unknown image {image}", where)
        region = _read_region(entry, names, what, where)
        if "area" in entry:
            region["area"] = entry["area"]
        regions[image]["crowd" if entry.get("iscrowd") else "regions"].append(region)
    source = _make_source(name, size, regions, names, regions)
    contexts: dict[str, CaseContext] = {}
    for entry in images:
        # The size and the file of an image frame its regions in a report.
        metadata = {name: entry[key] for key, name in _IMAGE_KEYS.items() if key in entry}
        contexts[str(entry["id"])] = CaseContext(metadata=metadata)
    source.contexts = contexts
    return source


def coco_candidate(file: InputLike, dialect: JsonDialect, truth: CocoSource) -> CocoSource:
    """Read a results file: the detections of each image, or none."""
    name, value, size = _read_input(file, dialect, Role.CANDIDATE.label)
    where = Location(name)
    if isinstance(value, dict):
        value = value.get("annotations")
    if not isinstance(value, list):
        raise DataError("not a COCO results file: expected a list of detections", where)
    regions: _Regions = {image: {"regions": []} for image in truth.images}
    for number, entry in enumerate(value, start=1):
        what = f"detection {number}"
        if not isinstance(entry, dict):
            raise DataError(f"{what} is not an object", where)
        image = str(_read_id(entry, "image_id", what, where))
        region = _read_region(entry, truth.class_names, what, where)
        if "score" not in entry:
            raise DataError(f"{what} has no score", where)
        region["score"] = entry["score"]
        regions.setdefault(image, {"regions": []})["regions"].append(region)
    return _make_source(name, size, regions, truth.class_names, truth.images)


def _make_source(
    name: str, size: int, regions: _Regions, names: _ClassNames, images: Iterable[str]
) -> CocoSource:
    source = CocoSource(name, cast("JsonObject", regions))
    source.settle(RowsAre.KEYED)
    source.class_names, source.images = names, tuple(images)
    source.bytes_total = source.bytes_read = size
    return source


def _read_input(file: InputLike, dialect: JsonDialect, side: str) -> tuple[str, JsonValue, int]:
    """Return the name, content and size of an input."""
    if dialect.limits == LIMITS:
        dialect.limits = COCO_LIMITS
    opened: InputFile | None = None
    if isinstance(file, str | Path):
        opened = open_stdin() if str(file) == STDIN else open_file(file)
    elif is_stream(file):
        opened = buffer_stream(file, side)
    name = side if opened is None else opened.name
    try:
        if opened is None:
            rows = file if is_record(file) else list(ensure_documents(file, side))
            return name, to_json_value(rows, dialect), 0
        raw = read_whole(opened, dialect.limits.document_bytes)
        return name, parse_bytes(raw, dialect), opened.size
    except DataError as error:
        raise with_location(error, Location(name)) from None
    finally:
        if opened is not None:
            opened.close()


def _read_entries(value: JsonValue, part: str, where: Location) -> list[JsonObject]:
    entries = value.get(part) if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise DataError(f"not a COCO file: no list of {part}", where)
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{_ENTRY_NAMES[part]} {number} is not an object", where)
    return cast("list[JsonObject]", entries)


def _read_id(entry: JsonObject, key: str, what: str, where: Location) -> str | int:
    identifier = entry.get(key)
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        raise DataError(
            f"{what} has no {key}" if identifier is None else f"{what} has an invalid {key}", where
        )
    return identifier


def _read_region(entry: JsonObject, names: _ClassNames, what: str, where: Location) -> JsonObject:
    category = _read_id(entry, "category_id", what, where)
    if "bbox" not in entry:
        raise DataError(f"{what} has no bbox", where)
    return {"bbox": entry["bbox"], "class": names.get(category, str(category))}
