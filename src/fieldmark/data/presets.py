"""Exports of other tools and responses of services as rows with an id and both sides.

The rows of evaluation tools keep the keys of the export, so that other keys can be named; rows of
services contain only the prediction and, in a document of its own, its confidences. A file in
another form, or in an unknown version of a format, is an error that describes the expected form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark import registry
from fieldmark.data.input_files import (
    STDIN,
    InputFile,
    buffer_stream,
    is_stream,
    open_file,
    open_stdin,
    read_whole,
)
from fieldmark.data.inputs import InputLike, RowsAre
from fieldmark.data.json_parser import JsonDialect, Role, Row, UnreadableRow, parse_bytes
from fieldmark.data.json_rows import ValueSource, ensure_documents, is_record, to_json_value
from fieldmark.data.rows import DerivedSource, RowBlock, RowSource
from fieldmark.data.sources import DirectorySource
from fieldmark.errors import DataError, Location, OptionError, with_location
from fieldmark.metrics.detections import class_names
from fieldmark.model.case import CaseContext
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.reader import ExportReader
from fieldmark.registry import Plugin
from fieldmark.values.json_text import LIMITS, Limits
from fieldmark.values.paths import resolve
from fieldmark.values.value_confidences import CONFIDENCE_KEY

_ReadExport: TypeAlias = Callable[[JsonValue], list[JsonObject]]
_LINE_ITEMS: Final = "line_items"


def read_preset(source: RowSource, preset: str) -> RowSource:
    """Return the rows of an export; raise an error if the source is not such an export."""
    reader = registry.create(registry.load(Plugin.READERS, preset), {})
    if not hasattr(reader, "rows"):
        suffixes = ", ".join(getattr(reader, "suffixes", ()))
        message = f"reader {preset!r} reads files with the suffix {suffixes} without --from"
        raise OptionError("preset", message)

    def read(value: JsonValue) -> list[JsonObject]:
        try:
            return list(cast("ExportReader", reader).rows(value))
        except DataError:
            raise
        except Exception as error:  # of a plug-in
            raise _not_readable(preset, f"{type(error).__name__}: {error}") from error

    if isinstance(source, DirectorySource):
        directory = _PresetDirectory(source.name, source, read)
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
    try:
        exported = read(value)
        if not exported:
            raise _not_readable(preset, "no rows in the export")
    except DataError as error:
        raise with_location(error, Location(source.name)) from None
    source.close()
    converted = ValueSource(source.name, cast("list[JsonValue]", exported))
    converted.bytes_total = converted.bytes_read = source.bytes_total
    return converted


@dataclass(slots=True)
class _PresetDirectory(DerivedSource):
    """A directory with one document of a service per file."""

    read: _ReadExport

    def __post_init__(self) -> None:
        DerivedSource.__post_init__(self)
        self.in_memory = True

    def blocks(self) -> Iterator[RowBlock]:
        """Read the documents; a file with several is unreadable."""
        for block in self._source_blocks():
            yield RowBlock(list(map(self._row, block.rows)), block.positions, block.ids)

    def _row(self, row: Row) -> Row:
        if isinstance(row, UnreadableRow):
            return row
        try:
            rows = self.read(row)
        except DataError as error:
            return UnreadableRow(error.message)
        if len(rows) != 1:
            return UnreadableRow(f"expected one document in the file, got {len(rows)}")
        return {key: value for key, value in rows[0].items() if key != "id"}


class _NotExportedError(Exception):
    """A value is not an export of the tool; the message says why."""


def _not_readable(preset: str, reason: str) -> DataError:
    return DataError(f"not an export that --from {preset} can read: {reason}")


def _objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects of a list, or nothing if it is something else."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return []
    return cast("list[JsonObject]", value)


def _at(value: JsonValue, path: str) -> JsonValue:
    """Return the value at a path, or null."""
    resolved = resolve(value, path)
    return None if isinstance(resolved, Missing) else resolved


# --- services -------------------------------------------------------------------------------------


class _Rated(NamedTuple):
    """A value with its confidence, and for an object or a list the confidences of its parts."""

    value: JsonValue
    confidence: JsonValue = None

    def with_default(self, confidence: JsonValue) -> _Rated:
        """Return the same with a confidence for all parts that have none."""
        return (
            self if confidence is None else _Rated(self.value, _filled(self.confidence, confidence))
        )


def _filled(confidences: JsonValue, default: JsonValue) -> JsonValue:
    if isinstance(confidences, dict):
        return {key: _filled(inner, default) for key, inner in confidences.items()}
    if isinstance(confidences, list):
        return [_filled(inner, default) for inner in confidences]
    return default if confidences is None else confidences


def _rated_object(parts: Mapping[str, _Rated]) -> _Rated:
    return _Rated(
        {name: part.value for name, part in parts.items()},
        {name: part.confidence for name, part in parts.items()},
    )


def _rated_list(parts: Iterable[_Rated]) -> _Rated:
    items = list(parts)
    return _Rated([part.value for part in items], [part.confidence for part in items])


def _rows(documents: Iterable[_Rated]) -> list[JsonObject]:
    """Return the rows of the documents of one file, which are numbered if there are several."""
    rated = list(documents)
    several = len(rated) > 1
    return [
        {
            **({"id": str(number)} if several else {}),
            "candidate": document.value,
            CONFIDENCE_KEY: document.confidence,
        }
        for number, document in enumerate(rated, start=1)
    ]


def _collect(pairs: Iterable[tuple[str, _Rated]]) -> _Rated:
    """Return fields by name; a name with several different values has a list of them.

    A value that occurs several times has its first confidence.
    """
    fields: dict[str, list[_Rated]] = {}
    for name, rated in pairs:
        occurrences = fields.setdefault(name, [])
        if rated.value not in [occurrence.value for occurrence in occurrences]:
            occurrences.append(rated)
    return _rated_object(
        {
            name: occurrences[0] if len(occurrences) == 1 else _rated_list(occurrences)
            for name, occurrences in fields.items()
        }
    )


def _merged(*documents: _Rated) -> _Rated:
    """Return one document with the fields of several."""
    objects = [(document.value, document.confidence) for document in documents]
    values = {key: part for value, _ in objects for key, part in cast("JsonObject", value).items()}
    rated = {key: part for _, own in objects for key, part in cast("JsonObject", own).items()}
    return _Rated(values, rated)


def _textract(value: JsonValue) -> list[JsonObject]:
    expenses = _objects(_at(value, "ExpenseDocuments"))
    if expenses:
        return _rows(map(_expense, expenses))
    blocks = {str(block.get("Id")): block for block in _objects(_at(value, "Blocks"))}
    document = _merged(_textract_forms(blocks), _textract_queries(blocks))
    if not document.value:
        reason = "no ExpenseDocuments, and no forms or queries in Blocks"
        raise _NotExportedError(reason)
    return _rows([document])


def _percentage(*values: JsonValue) -> JsonValue:
    """Return the first confidence as a percentage, as in all responses of Textract."""
    number = next((value for value in values if isinstance(value, int | float)), None)
    return None if number is None else f"{number}%"


def _expense(expense: JsonObject) -> _Rated:
    document = _collect(map(_expense_field, _objects(expense.get("SummaryFields"))))
    items: list[_Rated] = []
    for group in _objects(expense.get("LineItemGroups")):
        for item in _objects(group.get("LineItems")):
            fields = map(_expense_field, _objects(item.get("LineItemExpenseFields")))
            # The text of the whole row repeats its cells.
            items.append(_collect(named for named in fields if named[0] != "EXPENSE_ROW"))
    return _merged(document, _rated_object({_LINE_ITEMS: _rated_list(items)}))


def _expense_field(field: JsonObject) -> tuple[str, _Rated]:
    """Return the type and the text of a field; one of another type has its printed label.

    The confidence belongs to the text, otherwise to the type.
    """
    name = str(_at(field, "Type.Text"))
    label = _at(field, "LabelDetection.Text")
    text = _at(field, "ValueDetection.Text")
    rated = _percentage(_at(field, "ValueDetection.Confidence"), _at(field, "Type.Confidence"))
    named = label if name == "OTHER" and isinstance(label, str) and label else name
    return named, _Rated(text, rated)


def _related(block: JsonObject, kind: str) -> list[str]:
    relations = _objects(block.get("Relationships"))
    return [
        str(block_id)
        for relation in relations
        if relation.get("Type") == kind
        for block_id in cast("list[JsonValue]", relation.get("Ids") or [])
    ]


def _textract_forms(blocks: Mapping[str, JsonObject]) -> _Rated:
    fields: list[tuple[str, _Rated]] = []
    for block in blocks.values():
        kinds = block.get("EntityTypes")
        if block.get("BlockType") == "KEY_VALUE_SET" and isinstance(kinds, list) and "KEY" in kinds:
            values = [blocks[value] for value in _related(block, "VALUE") if value in blocks]
            texts = [_block_text(value, blocks) for value in values]
            name = str(_block_text(block, blocks) or "").rstrip(": ")
            text = texts[0] if len(texts) == 1 else " ".join(map(str, texts)) or None
            own = _percentage(*(value.get("Confidence") for value in values))
            of_words: list[JsonValue] = [
                confidence
                for value in values
                for word in _related(value, "CHILD")
                if (confidence := _percentage(blocks.get(word, {}).get("Confidence"))) is not None
            ]
            # Without a confidence of the value, the lowest of its words counts, otherwise the name.
            rated = own or of_words or _percentage(block.get("Confidence"))
            fields.append((name, _Rated(text, rated)))
    return _collect(fields)


def _block_text(block: JsonObject, blocks: Mapping[str, JsonObject]) -> JsonValue:
    """Return the words of a block, or whether its check box is selected."""
    children = [blocks[child] for child in _related(block, "CHILD") if child in blocks]
    boxes = [child for child in children if child.get("BlockType") == "SELECTION_ELEMENT"]
    words = [str(child["Text"]) for child in children if "Text" in child]
    if boxes and not words:
        return boxes[0].get("SelectionStatus") == "SELECTED"
    return " ".join(words) or None


def _textract_queries(blocks: Mapping[str, JsonObject]) -> _Rated:
    fields: list[tuple[str, _Rated]] = []
    for block in blocks.values():
        if block.get("BlockType") == "QUERY":
            name = _at(block, "Query.Alias") or _at(block, "Query.Text")
            answers = [
                blocks[answer_id] for answer_id in _related(block, "ANSWER") if answer_id in blocks
            ]
            answer = answers[0] if answers else {}
            rated = _percentage(answer.get("Confidence"))
            fields.append((str(name), _Rated(answer.get("Text"), rated)))
    return _collect(fields)


def _azure(value: JsonValue) -> list[JsonObject]:
    status = _at(value, "status")
    if isinstance(status, str) and status.lower() != "succeeded":
        raise _NotExportedError(f"the status of the analysis is {status!r}")
    result = _at(value, "analyzeResult")
    result = value if result is None else result
    labels = _at(value, "fieldLabels")
    if isinstance(labels, dict):
        return _rows([_azure_fields(labels)])
    documents = (
        _objects(_at(result, "documents"))
        or _objects(_at(result, "documentResults"))
        or _objects(_at(value, "result.contents"))
    )
    if not documents:
        version = _at(result, "apiVersion") or _at(result, "version")
        shown = f" (version {version})" if version else ""
        raise _NotExportedError(
            f"no documents or documentResults in analyzeResult{shown}",
        )
    return _rows(_azure_fields(document.get("fields")) for document in documents)


def _azure_fields(fields: JsonValue) -> _Rated:
    if not isinstance(fields, dict):
        raise _NotExportedError("a document without fields")
    return _rated_object({name: _azure_value(field) for name, field in fields.items()})


def _azure_value(field: JsonValue) -> _Rated:
    """Return the typed value of a field, or its printed text if it has none."""
    if not isinstance(field, dict):
        return _Rated(None)
    key = next((key for key in field if key.startswith("value")), None)
    if key is None:
        return _Rated(field.get("content", field.get("text")), field.get("confidence"))
    value, own = field[key], field.get("confidence")
    if key == "valueArray" and isinstance(value, list):
        return _rated_list(map(_azure_value, value)).with_default(own)
    if key == "valueObject":
        return _azure_fields(value).with_default(own)
    return _Rated(value, own)


def _google(value: JsonValue) -> list[JsonObject]:
    document = _at(value, "document")
    document = value if document is None else document
    if not isinstance(document, dict) or not isinstance(document.get("entities"), list):
        raise _NotExportedError("no list of entities in the document")
    return _rows([_entities(_objects(document["entities"]))])


def _entities(entities: Iterable[JsonObject]) -> _Rated:
    """Return entities by type; entities with properties are always lists of objects."""
    plain: list[tuple[str, _Rated]] = []
    grouped: dict[str, list[_Rated]] = {}
    for entity in entities:
        kind = entity.get("type", entity.get("type_"))
        if not isinstance(kind, str):
            raise _NotExportedError("an entity without a type")
        name = kind.rpartition("/")[2]
        properties = _objects(entity.get("properties"))
        if properties:
            grouped.setdefault(name, []).append(_entities(properties))
            continue
        normalized = entity.get("normalizedValue", entity.get("normalized_value"))
        text = _at(normalized, "text") or entity.get("mentionText", entity.get("mention_text"))
        content = text.strip() if isinstance(text, str) else text
        plain.append((name, _Rated(content, entity.get("confidence"))))
    lists = {name: _rated_list(items) for name, items in grouped.items()}
    return _merged(_collect(plain), _rated_object(lists))


_MINDEE_DETAILS: Final = frozenset(
    ("confidence", "polygon", "bounding_box", "page_id", "raw", "reconstructed")
)


def _mindee(value: JsonValue) -> list[JsonObject]:
    prediction = _at(value, "document.inference.prediction")
    if not isinstance(prediction, dict):
        reason = "no document.inference.prediction, as in responses of API version 1"
        raise _NotExportedError(reason)
    return _rows(
        [_rated_object({name: _mindee_value(field) for name, field in prediction.items()})]
    )


def _mindee_value(field: JsonValue) -> _Rated:
    """Return a field; the confidence of an object applies to all its values."""
    if isinstance(field, list):
        return _rated_list(map(_mindee_value, field))
    if not isinstance(field, dict):
        return _Rated(field)
    own = field.get("confidence")
    if "values" in field:
        contents = [
            _Rated(part.get("content"), part.get("confidence", own))
            for part in _objects(field["values"])
        ]
        return _rated_list(contents) if len(contents) > 1 else next(iter(contents), _Rated(None))
    parts = {key: part for key, part in field.items() if key not in _MINDEE_DETAILS}
    return _Rated(parts["value"] if parts.keys() == {"value"} else parts, own)


# --- evaluation tools -----------------------------------------------------------------------------


def _langsmith(value: JsonValue) -> list[JsonObject]:
    examples = _objects(_at(value, "examples")) or _objects(value)
    if not examples or not all("inputs" in example for example in examples):
        raise _NotExportedError("no list of examples with inputs")
    rows: list[JsonObject] = []
    for example in examples:
        row = dict(example)
        reference = example.get("reference_outputs", _at(example, "reference_example.outputs"))
        if reference is not None:
            row |= {"expected": reference, "candidate": example.get("outputs")}
        elif "outputs" in example:
            row["expected"] = example["outputs"]
        rows.append(row)
    return rows


def _braintrust(value: JsonValue) -> list[JsonObject]:
    rows = [
        row
        for row in _objects(value)
        # Other spans are steps of a task.
        if not row.get("span_parents")
        and row.get("span_id") == row.get("root_span_id")
        and ("output" in row or "expected" in row)
    ]
    if not rows:
        raise _NotExportedError("no rows with output or expected")
    return [_renamed(row, {"output": "candidate"}) for row in rows]


def _renamed(row: JsonObject, names: Mapping[str, str]) -> JsonObject:
    return {**row, **{new: row[old] for old, new in names.items() if old in row}}


def _openai_evals(value: JsonValue) -> list[JsonObject]:
    rows = _objects(value)
    if any("spec" in row for row in rows):
        events = [
            {
                "id": row.get("sample_id"),
                "expected": _at(row, "data.expected"),
                "candidate": _at(row, "data.sampled"),
            }
            for row in rows
            if row.get("type") == "match"
        ]
        if not events:
            raise _NotExportedError("the log has no events of the type match")
        return events
    if rows and all("ideal" in row and "input" in row for row in rows):
        return [_renamed(row, {"ideal": "expected"}) for row in rows]
    if rows and all("item" in row and "data_source_idx" in row for row in rows):
        several = len({str(row.get("run_id")) for row in rows}) > 1
        return [_hosted_item(row, several=several) for row in rows]
    raise _NotExportedError("neither a log of oaieval, nor samples, nor output items")


def _hosted_item(row: JsonObject, *, several: bool) -> JsonObject:
    number = str(row["data_source_idx"])
    converted = {**row, "id": f"{row.get('run_id')}/{number}" if several else number}
    outputs = _objects(_at(row, "sample.outputs"))
    if outputs and not _at(row, "sample.error"):
        converted["candidate"] = outputs[-1].get("content")
    return converted


_PROMPTFOO_VERSIONS: Final = (1, 2, 3, 4)


def _promptfoo(value: JsonValue) -> list[JsonObject]:
    outer = _at(value, "results")
    results = _objects(outer) or _objects(_at(outer, "results"))
    version = _at(value, "version") or _at(outer, "version")
    if not results:
        raise _NotExportedError("no list of results")
    if version not in _PROMPTFOO_VERSIONS:
        raise _NotExportedError(f"unknown version {version!r}")
    prompts = {(str(entry.get("promptIdx")), str(_at(entry, "provider.id"))) for entry in results}
    rows: list[JsonObject] = []
    for index, result in enumerate(results):
        number = str(result.get("testIdx", index))
        several = len(prompts) > 1
        row: JsonObject = {
            **result,
            "id": f"{number}/{result.get('promptIdx')}" if several else number,
        }
        output = _at(result, "response.output")
        if output is not None:
            row["candidate"] = output
        checks = _objects(_at(result, "testCase.assert"))
        equals = [entry.get("value") for entry in checks if entry.get("type") == "equals"]
        if equals:
            row["expected"] = equals[0]
        rows.append(row)
    return rows


_INSPECT_VERSION: Final = 2
_ATTACHMENTS: Final = ("attachment://", "tc://")


def _inspect(value: JsonValue) -> list[JsonObject]:
    if not isinstance(value, dict) or "eval" not in value:
        raise _NotExportedError("no log of an evaluation")
    if value.get("version") != _INSPECT_VERSION:
        raise _NotExportedError(f"unknown version {value.get('version')!r}")
    samples = _objects(value.get("samples"))
    if not samples:
        raise _NotExportedError(f"no samples (status {value.get('status')!r})")
    epochs = {sample.get("epoch") for sample in samples if isinstance(sample.get("epoch"), int)}
    rows: list[JsonObject] = []
    for sample in samples:
        name = str(sample.get("id"))
        row: JsonObject = {**sample, "id": name}
        if len(epochs) > 1:
            row["id"] = f"{name}/{sample.get('epoch')}"
        row["expected"] = _inspect_text(sample.get("target"), sample)
        content = _at(sample, "output.choices[0].message.content")
        if isinstance(content, list):
            content = "".join(
                str(part.get("text")) for part in _objects(content) if part.get("type") == "text"
            )
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
    for stored in (sample.get("attachments"), _at(sample, "transcript.content")):
        if isinstance(stored, dict) and digest in stored:
            return stored[digest]
    raise _NotExportedError(f"sample {sample.get('id')!r} refers to a missing attachment")


_TASK_TYPES: Final = ("choices", "textarea", "number", "rating", "datetime", "taxonomy")
_WITHOUT_CONTENT: Final = ("relation", "rectangle")
"""Links between regions, and the boxes of regions whose labels follow."""
_CONTENT_KEYS: Final = {"textarea": "text"}


def _label_studio(value: JsonValue) -> list[JsonObject]:
    tasks = [value] if isinstance(value, dict) and "data" in value else _objects(value)
    if not tasks or not all("annotations" in task or "predictions" in task for task in tasks):
        reason = "no tasks with annotations or predictions; export them as JSON, not as JSON-MIN"
        raise _NotExportedError(reason)
    rows: list[JsonObject] = []
    for number, task in enumerate(tasks, start=1):
        row = {**task}
        if "id" in task:
            row["id"] = str(task["id"])
        annotations = [
            annotation
            for annotation in _objects(task.get("annotations"))
            if not annotation.get("was_cancelled")
        ]
        verified = [annotation for annotation in annotations if annotation.get("ground_truth")]
        where = f"task {row.get('id', number)}"
        for key, documents in (
            ("expected", verified or annotations),
            ("candidate", _objects(task.get("predictions"))),
        ):
            if len(documents) > 1:
                noun = "annotations" if key == "expected" else "predictions"
                hint = "mark one as ground truth" if key == "expected" else "export only one model"
                raise _NotExportedError(f"{where} has {len(documents)} {noun}; {hint}")
            if documents:
                document = _task_document(_objects(documents[0].get("result")))
                row[key] = document.value
                row |= {CONFIDENCE_KEY: document.confidence} if key == "candidate" else {}
        rows.append(row)
    return rows


def _task_document(results: Iterable[JsonObject]) -> _Rated:
    """Return the answers by control, the texts of regions by label, and regions without text.

    Their confidences are the scores of predictions.
    """
    regions: dict[str, dict[str, JsonValue]] = {}
    fields: list[tuple[str, _Rated]] = []
    results = list(results)
    placed = {str(result.get("id")) for result in results if _is_region(result)}
    for index, result in enumerate(results):
        kind, value = str(result.get("type")), result.get("value")
        if kind in _WITHOUT_CONTENT or not isinstance(value, dict):
            continue
        name = str(result.get("id", f"#{index}"))
        if kind in _TASK_TYPES:
            content = value.get(_CONTENT_KEYS.get(kind, kind))
            if name in placed:
                regions.setdefault(name, {})["text"] = _joined(content)
            else:
                if isinstance(content, list) and len(content) == 1:
                    content = content[0]
                fields.append((str(result.get("from_name")), _Rated(content, result.get("score"))))
        elif kind.endswith("labels"):
            region = regions.setdefault(name, {})
            region["class"] = _joined(value.get(kind))
            region |= {"text": value["text"]} if "text" in value else {}
            region |= {"score": result["score"]} if "score" in result else {}
            if "width" in value:
                region["bbox"] = [value.get(side) for side in ("x", "y", "width", "height")]
        else:
            raise _NotExportedError(f"results of the type {kind!r} are not supported")
    fields += [
        (str(region.get("class")), _Rated(region["text"], region.get("score")))
        for region in regions.values()
        if "text" in region
    ]
    boxes = [
        _Rated(region, region.get("score")) for region in regions.values() if "text" not in region
    ]
    return _merged(
        _collect(fields), _rated_object({"regions": _rated_list(boxes)} if boxes else {})
    )


def _is_region(result: JsonObject) -> bool:
    value = result.get("value")
    return isinstance(value, dict) and ("width" in value or "start" in value)


def _joined(value: JsonValue) -> JsonValue:
    """Return a list of texts as one text."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


# --- readers --------------------------------------------------------------------------------------


def _export_reader(name: str, summary: str, read: _ReadExport) -> type[ExportReader]:
    """Return the class of a reader, as plug-ins define it."""

    def rows(_: ExportReader, value: JsonValue) -> list[JsonObject]:
        """Return the rows of an export."""
        try:
            return read(value)
        except _NotExportedError as error:
            raise _not_readable(name, str(error)) from None

    namespace = {"__doc__": summary, "name": name, "rows": rows}
    reader = dataclasses.make_dataclass(name, (), frozen=True, namespace=namespace)
    return cast("type[ExportReader]", reader)


LangSmith = _export_reader("langsmith", "Data sets and experiments of LangSmith.", _langsmith)
Braintrust = _export_reader("braintrust", "Experiments of Braintrust.", _braintrust)
OpenAiEvals = _export_reader(
    "openai-evals", "Samples, logs and output items of OpenAI Evals.", _openai_evals
)
Promptfoo = _export_reader("promptfoo", "Results of promptfoo.", _promptfoo)
Inspect = _export_reader("inspect", "Logs of Inspect AI.", _inspect)
LabelStudio = _export_reader("labelstudio", "Annotations of Label Studio.", _label_studio)
Textract = _export_reader("textract", "Responses of Amazon Textract.", _textract)
AzureDocumentIntelligence = _export_reader(
    "azure-di", "Responses of Azure AI Document Intelligence.", _azure
)
GoogleDocumentAi = _export_reader("google-docai", "Documents of Google Document AI.", _google)
Mindee = _export_reader("mindee", "Responses of Mindee.", _mindee)


# --- COCO -----------------------------------------------------------------------------------------

COCO_LIMITS: Final = Limits(document_bytes=1 << 30, nodes=100_000_000)
"""Larger limits, because one file contains a whole data set."""
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
