"""Documents that are given as text: JSON, or model output that contains JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fieldmark.data.json_parser import JsonDialect, parse_text
from fieldmark.errors import DataError, LimitError
from fieldmark.model.json import JsonValue
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from fieldmark.data.inputs import Inputs

_REPAIRED_OPENER: Final = re.compile(
    r"""\{\s*["'}]|\[\s*(?:[\[{"'\]0-9-]|(?:true|false|null|None|True|False)\b)"""
)
_TOKEN: Final = re.compile(
    r"""
      "(?:[^"\\]|\\.)*+"
    | '(?:[^'\\]|\\.)*+'
    | [\[\]{},:]
    | (?P<fence>```)
    | (?P<open>["'])
    | (?P<word>[^\s\[\]{},:"'`]+)
    | `
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSERS: Final = {"{": "}", "[": "]"}
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}
_SINGLE_QUOTED: Final = re.compile(r"""\\(.)|(")""", re.DOTALL)


class NoJsonError(DataError):
    """Text without a JSON object or array."""


class _Repaired(NamedTuple):
    text: str
    end: int


def repaired_texts(text: str) -> list[str]:
    """Return the text of each outermost object or array, as JSON if it can be repaired.

    >>> repaired_texts("Sure: {'a': [1, 2,], 'b': None")
    ['{"a":[1,2]}']
    """
    texts: list[str] = []
    opener = _REPAIRED_OPENER.search(text)
    while opener is not None:
        repaired = _repair(text, opener.start())
        texts.append(repaired.text)
        opener = _REPAIRED_OPENER.search(text, repaired.end)
    return texts


def _repair(text: str, start: int) -> _Repaired:
    """Return the value that starts at a bracket, up to its end or the end of the text."""
    stack: list[str] = []
    tokens: list[str] = []
    end = len(text)
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        if match["fence"] or match["open"]:
            end = match.end() if match["fence"] else end
            break
        if match["word"] and match.end() == len(text):
            break  # it may be cut off
        if token in _CLOSERS:
            stack.append(token)
        elif token in ("}", "]"):
            if _CLOSERS[stack.pop()] != token:
                raise DataError("the brackets in the text do not match")
            if tokens[-1] == ",":
                tokens.pop()
        elif token[0] == "'":
            token = _double_quoted(token)
        tokens.append(_CONSTANTS.get(token, token))
        if not stack:
            return _Repaired("".join(tokens), match.end())
    innermost = stack[-1]
    if tokens[-1] == ":":  # a key without its value
        del tokens[-2:]
    elif _CLOSERS[innermost] == "}" and tokens[-1][0] == '"' and tokens[-2] in (innermost, ","):
        tokens.pop()  # a key without its colon
    if tokens[-1] == ",":
        tokens.pop()
    closers = [_CLOSERS[bracket] for bracket in reversed(stack)]
    return _Repaired("".join([*tokens, *closers]), end)


def _double_quoted(token: str) -> str:
    """Return a string in single quotes as a JSON string."""

    def convert(match: re.Match[str]) -> str:
        if match[2]:
            return '\\"'
        return "'" if match[1] == "'" else match[0]

    return f'"{_SINGLE_QUOTED.sub(convert, token[1:-1])}"'


_OPENER: Final = re.compile(r'\{\s*["}]|\[\s*(?:[\[{"\]0-9-]|true\b|false\b|null\b|NaN|Infinity)')
"""A bracket that starts JSON rather than a remark in brackets."""
_NEXT_BRACKET: Final = re.compile(
    r'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}"]|\Z)', re.DOTALL
)
"""Everything up to the next bracket outside of strings, a quote without an end, or the end."""
_ANY_BRACKET: Final = re.compile(r"[^\[\]{}]*+([\[\]{}]|\Z)")
_FENCE_START: Final = re.compile(r"```[ \t]*[\w-]*\s*\Z")
_JSON_TEXT: Final = re.compile(rf"\s*(?:```[ \t]*[\w-]*\s*)?(?:{_OPENER.pattern})")
"""The start of text that is a JSON object or array, also in a code fence."""
_NUMBERS: Final = re.compile(r"\[[\s\[\]+.,eE-]*+\d[\s\[\]\d+.,eE-]*+")
"""A list of numbers, or a reference in brackets such as `[2]`."""
REPAIRED: Final = "repaired"
_THOUGHTS: Final = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL)
_UNFINISHED_THOUGHTS: Final = re.compile(r"\s*<(?:think|thinking|thought|reasoning)>")
_END_OF_THOUGHTS: Final = re.compile(r"</(?:think|thinking|thought|reasoning)>")
_MAX_INTERVALS: Final = 8
_FENCE_WIDTH: Final = 64
"""The number of characters before and after a value that are searched for a code fence."""


class Parse(StrEnum):
    """How model output is parsed: `strict` accepts only JSON."""

    LENIENT = "lenient"
    STRICT = "strict"


class CandidateJson(StrEnum):
    """Which JSON of model output is the prediction: there must be `only` one, or it is the last."""

    ONLY = "only"
    LAST = "last"


class ParsedText(NamedTuple):
    """A value and where it was found: in a `fence`, in the `text`, or empty for the whole text.

    It is `repaired` if the text was not JSON.
    """

    value: JsonValue
    parsed_from: str = ""


def read_expected(value: JsonValue, dialect: JsonDialect) -> JsonValue:
    """Return an expected document; text that starts like a JSON object or array must be JSON."""
    if isinstance(value, str) and _JSON_TEXT.match(value):
        with suppress(NoJsonError):  # text after a number in brackets
            return parse_model_text(value, dialect).value
    return value


def read_candidate(
    expected: JsonValue,
    text: str,
    dialect: JsonDialect,
    parse: Parse | str = Parse.LENIENT,
    *,
    last: bool = False,
    repair: bool = False,
) -> ParsedText:
    """Return a candidate that was given as text; if the expected value is a string, so is it.

    Text that cannot be parsed is an error if an object or a list is expected, else a string.
    """
    if isinstance(expected, str):
        return ParsedText(text)
    try:
        return parse_model_text(text, dialect, parse, last=last, repair=repair)
    except DataError:
        if isinstance(expected, dict | list):
            raise
        return ParsedText(text)


def candidate_reader(
    options: Inputs, dialect: JsonDialect
) -> Callable[[JsonValue, str], ParsedText]:
    """Return a function that reads a candidate that was given as text, with these options."""
    last = options.candidate_json == CandidateJson.LAST
    return partial(
        read_candidate, dialect=dialect, parse=options.parse, last=last, repair=options.repair
    )


def warn_repaired(count: int) -> str:
    """Return the warning about candidates that were repaired."""
    was = "was" if count == 1 else "were"
    return f"{plural(count, 'prediction')} {was} not valid JSON and {was} repaired"


def parse_model_text(
    text: str,
    dialect: JsonDialect,
    parse: Parse | str = Parse.LENIENT,
    *,
    last: bool = False,
    repair: bool = False,
) -> ParsedText:
    """Parse strict JSON, or the only JSON object or array in the text.

    With `last`, the text may contain several values, and the last is parsed. The reasoning of a
    model before its answer is skipped. With `repair`, text that is almost JSON is repaired.
    """
    try:
        return ParsedText(parse_text(text, dialect))
    except DataError:
        if parse == Parse.STRICT:
            raise
    answer = _without_thoughts(text)
    try:
        return _find_json(answer, dialect, last=last)
    except LimitError:
        raise
    except DataError as error:
        if not repair:
            raise
        try:
            texts = repaired_texts(answer)
            texts = [text for text in texts if "{" in text] or texts
            if len(texts) == 1 or (last and texts):
                return ParsedText(parse_text(texts[-1], dialect), REPAIRED)
        except DataError:
            raise error from None
        raise


def _without_thoughts(text: str) -> str:
    """Return a text without the blocks of thoughts at its start; the first may lack its start."""
    start = 0
    while (thoughts := _THOUGHTS.match(text, start)) is not None:
        start = thoughts.end()
    text = text[start:]
    if _UNFINISHED_THOUGHTS.match(text):
        raise DataError("the text ends before the answer, within the thoughts of the model")
    end = _END_OF_THOUGHTS.search(text)
    if end is None:
        return text
    try:
        is_in_json = any(first < end.start() < last for first, last in _find_spans(text))
    except DataError:
        is_in_json = False
    return text if is_in_json else text[end.end() :]


def _find_json(text: str, dialect: JsonDialect, *, last: bool) -> ParsedText:
    """Parse the document in a text: the only one in a fence, otherwise the only object or list.

    Numbers in brackets are a remark, and so is any list without an object beside a document.
    """
    spans = [_Span.of(text, start, end) for start, end in _find_spans(text)]
    documents = [span for span in spans if span.is_fenced or span.has_object]
    documents = documents or [span for span in spans if not span.is_remark]
    if not documents:
        raise NoJsonError("the text contains no JSON object or array")
    if last:
        documents = documents[-1:]
    values = [parse_text(text[span.start : span.end], dialect) for span in documents]
    if len(values) > 1:
        raise DataError(f"the text contains {len(values)} JSON values, expected exactly one")
    return ParsedText(values[0], "fence" if documents[0].is_fenced else "text")


class _Span(NamedTuple):
    """An object or an array in a text; `is_remark` says that it is numbers amid prose."""

    start: int
    end: int
    is_fenced: bool
    has_object: bool
    is_remark: bool

    @classmethod
    def of(cls, text: str, start: int, end: int) -> _Span:
        """Return the span between two offsets."""
        before, after = text[max(0, start - _FENCE_WIDTH) : start], text[end : end + _FENCE_WIDTH]
        in_fence = _FENCE_START.search(before) is not None
        is_whole = not (before.strip() or after.strip())
        return cls(
            start,
            end,
            is_fenced=in_fence and after.lstrip().startswith("```"),
            has_object=text.find("{", start, end) >= 0,
            is_remark=not in_fence and not is_whole and _is_numbers(text, start, end),
        )


def _is_numbers(text: str, start: int, end: int) -> bool:
    return _NUMBERS.fullmatch(text, start, end) is not None


def _find_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each outermost object or array in a text, in one pass.

    Brackets in strings do not count. A few numbers may follow a bracket without an end, as in an
    interval `[0, 1)`.
    """
    spans: list[tuple[int, int]] = []
    intervals = 0
    next_bracket = _NEXT_BRACKET
    opener = _OPENER.search(text)
    while opener is not None:
        end, depth = opener.start(), 0
        while depth or end == opener.start():
            bracket = cast("re.Match[str]", next_bracket.match(text, end))
            end = bracket.end()
            if bracket[1] == '"':
                next_bracket = _ANY_BRACKET  # no string that starts after this quote has an end
            elif not bracket[1]:
                break
            else:
                depth += 1 if bracket[1] in "[{" else -1
        if not depth:
            spans.append((opener.start(), end))
        elif intervals < _MAX_INTERVALS and opener[0][-1] in "-0123456789":
            intervals += 1
            end = opener.end()
        else:
            raise DataError("the JSON in the text is incomplete")
        opener = _OPENER.search(text, end)
    return spans
