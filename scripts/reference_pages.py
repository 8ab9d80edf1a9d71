"""The generated parts of the reference, as Markdown.

Everything is read from the code that runs: click commands, the registry, JSON Schemas, conventions,
exit codes, exceptions and the OpenAPI document.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import click

import fieldmark
from fieldmark import errors, registry
from fieldmark.analyses.arguments import options_of
from fieldmark.cli.exit_codes import MEANINGS, ExitCode
from fieldmark.cli.help import HelpCommand
from fieldmark.cli.main import ERROR_CODES, GROUPS, load_command
from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION, CountingOptions
from fieldmark.registry import Plugin
from fieldmark.rules.option_types import option_schemas, required_options, summary_of
from fieldmark.rules.rules_file import FIELD_KEYS
from fieldmark.runs.schemas import schema_of
from fieldmark.values.declared_options import declared_options
from fieldmark.values.json_text import pretty_json
from fieldmark.web.api_errors import ErrorCode
from fieldmark.web.app import create_api
from fieldmark.web.server_options import ServerOptions

_Schema: TypeAlias = Mapping[str, Any]
_Row: TypeAlias = tuple[str, ...]

_REFERENCES: Final = {
    "match": "[comparator](comparators.md)",
    "align": "[aligner](aligners.md)",
    "provider": "[provider](providers.md)",
    "safety": "[safety judge](providers.md#safety-judges)",
    "convention": "[convention](conventions.md)",
    "evaluators": "list of [evaluators](evaluators.md)",
    "target": "[target](evaluators.md#targets)",
    "fields": "list of rules, or rules by path",
    "defaults": "object",
    "case": "case",
    "field": "rule",
    "by_path": "rules by path",
    "gates": "`min` and `max`: limits by metric",
}
"""What the definitions of the schemas are called in a table."""


_LIMITS: Final = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}


# --- Markdown -------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """Return prose as Markdown; parts in backquotes stay as they are."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_\[\]])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def _code(text: object) -> str:
    return f"`{text}`"


def _table(heads: _Row, rows: Iterable[_Row]) -> str:
    """Return a table, or nothing if it has no rows; columns without content are left out."""
    body = list(rows)
    used = [number for number in range(len(heads)) if any(row[number] for row in body)]
    lines = [
        "| " + " | ".join(row[number].replace("|", "\\|") for number in used) + " |"
        for row in (heads, tuple("---" for _ in heads), *body)
    ]
    return "\n".join(lines) if body else ""


def _page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


# --- JSON Schema ----------------------------------------------------------------------------------


def _values(schema: _Schema) -> str:
    """Describe the values that a schema accepts; null means that the key may be left out."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return _REFERENCES.get(name, _code(name))
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        words = [word for word in schema["enum"] if word is not None]
        # Options accept dashes for underscores, which is not worth a mention.
        spelled = [
            word for word in words if "-" not in str(word) or word.replace("-", "_") not in words
        ]
        return ", ".join(map(_code, spelled))
    if "anyOf" in schema:
        arms = dict.fromkeys(_values(arm) for arm in schema["anyOf"] if arm.get("type") != "null")
        # A list of one value can be written as the value.
        listed = {f"list of {arm}{'s' * arm.isalpha()}": arm for arm in arms}
        single = {arm for text, arm in listed.items() if text in arms}
        return " or ".join(arm for arm in arms if arm not in single)
    kind = schema.get("type", "any value")
    names = [name for name in ([kind] if isinstance(kind, str) else kind) if name != "null"]
    if names == ["array"]:
        inner = _values(schema.get("items", {}))
        return "list" if inner == "any value" else f"list of {inner}{'s' * inner.isalpha()}"
    limits = [f"{word} {schema[limit]:g}" for limit, word in _LIMITS.items() if limit in schema]
    return " ".join([" or ".join(names), *limits])


def _default(schema: _Schema) -> str:
    default = schema.get("default")
    if default is None or default in ([], {}, ""):
        return ""
    return _code(str(default).lower() if isinstance(default, bool) else default)


def _key_rows(properties: _Schema, required: Iterable[str], prefix: str = "") -> Iterator[_Row]:
    """Yield a row for each key, and for the keys of objects inside it."""
    needed = set(required)
    for name, schema in properties.items():
        default = "required" if name in needed and not prefix else _default(schema)
        yield _code(prefix + name), _values(schema), default, _text(schema.get("description", ""))
        for arm in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
            inner = arm.get("properties", {})
            step = "[]" if arm is schema.get("items") else ""
            yield from _key_rows(inner, arm.get("required", ()), f"{prefix}{name}{step}.")


def _key_table(schema: _Schema) -> str:
    heads = ("key", "values", "default", "meaning")
    return _table(heads, _key_rows(schema.get("properties", {}), schema.get("required", ())))


def _keys_of(name: str, *steps: str | int) -> str:
    """Return the keys of a file, or of the part of its schema at these steps."""
    part: Any = schema_of(name)
    for step in steps:
        part = part[step]
    return _key_table(part)


# --- strategies -----------------------------------------------------------------------------------


def _strategies(kind: Plugin, level: int = 2) -> str:
    """Describe each built-in strategy: its documentation, and its options."""
    sections = []
    for name in registry.built_in(kind):
        strategy = registry.load(kind, name)
        prose, _, _ = inspect.cleandoc(strategy.__doc__ or "").partition("\n>>>")
        paragraphs = [_text(paragraph) for paragraph in prose.strip().split("\n\n")]
        rows = [
            # What the text above says is not repeated.
            (*row, "" if any(meaning in paragraph for paragraph in paragraphs) else meaning)
            for *row, meaning in _key_rows(
                option_schemas(strategy), map(str, required_options(strategy))
            )
        ]
        options = _table(("option", "values", "default", "meaning"), rows)
        sections.append(_page(f"{'#' * level} {name}", *paragraphs, options))
    return _page(*sections)


def _strategy_table(kind: Plugin, key: str, about: str = "description") -> str:
    """Return a table of the built-in strategies of a kind: name and summary."""
    strategies = [(name, registry.load(kind, name)) for name in registry.built_in(kind)]
    return _table((key, about), ((_code(name), summary_of(each)) for name, each in strategies))


def _conventions() -> str:
    default = DEFAULT_CONVENTION.options()
    sections = []
    for name, convention in CONVENTIONS.items():
        own = convention.options()
        rows = [
            (_code(option), _shown(value))
            for option, value in own.items()
            if convention is DEFAULT_CONVENTION or value != default[option]
        ]
        about = f"Version {convention.version}. The score of a case is `{own['primary']}`."
        sections.append(_page(f"## {name}", about, _table(("option", "value"), rows)))
    return _page(*sections, "## Values of counting options", _counting_options())


def _counting_options() -> str:
    rows = []
    for field in fields(CountingOptions):
        value = field.default
        if isinstance(value, Enum):
            words = ", ".join(_code(each.value) for each in type(value))
            rows.append((_code(field.name), words, _text(inspect.getdoc(type(value)) or "")))
    return _table(("option", "values", "meaning"), rows)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {weight}" for key, weight in value.items())
    return "–" if value is None else _code(str(value).lower())


# --- commands -------------------------------------------------------------------------------------


def _commands() -> str:
    sections = []
    for heading, group in GROUPS.items():
        sections.append(f"## {heading}")
        sections += [
            _command(name, cast("HelpCommand", load_command(name)))
            for name in _with_subcommands(group)
        ]
    return _page(*sections)


def _with_subcommands(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield name
        command = load_command(name)
        if isinstance(command, click.Group):
            yield from (f"{name} {subcommand}" for subcommand in command.commands)


def _command(name: str, command: HelpCommand) -> str:
    context = click.Context(command, info_name=f"fieldmark {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    prose = inspect.cleandoc(command.help or "").split("\n\n")
    groups: dict[str, list[_Row]] = {}
    for param in command.get_params(context):
        record = None if isinstance(param, click.Argument) else param.get_help_record(context)
        if record is not None and "--help" not in param.opts:
            row = (_code(record[0]), _text(record[1].replace("\N{NO-BREAK SPACE}", " ")))
            groups.setdefault(getattr(param, "group", ""), []).append(row)
    tables = [
        _table(((group or "Other") if len(groups) > 1 else "option", "effect"), rows)
        for group, rows in sorted(groups.items(), key=lambda each: not each[0])
    ]
    examples = "\n".join(f"$ {example}" for example in command.examples)
    codes = ", ".join(f"{code:d} ({_text(MEANINGS[code])})" for code in command.exit_codes)
    return _page(
        f"### fieldmark {name}",
        f"```text\n{usage}\n```",
        *map(_text, prose),
        *tables,
        f"```console\n{examples}\n```" if examples else "",
        f"Exit codes: {codes}." if codes else "",
    )


# --- errors ---------------------------------------------------------------------------------------


def _exit_codes() -> str:
    documented: dict[ExitCode, list[str]] = {}
    for name in _with_subcommands(name for group in GROUPS.values() for name in group):
        anchor = f"fieldmark-{name}".replace(" ", "-")
        for code in getattr(load_command(name), "exit_codes", ()):
            documented.setdefault(code, []).append(f"[{name}](commands.md#{anchor})")
    rows = [
        (str(int(code)), _text(meaning), ", ".join(documented.get(code, ())))
        for code, meaning in MEANINGS.items()
    ]
    order = ", ".join(str(int(code)) for code in ExitCode if code)
    return _page(
        _table(("code", "meaning", "documented by"), rows),
        f"If several apply, the first of {order} is used.",
    )


def _exceptions() -> str:
    found = [each for each in vars(errors).values() if inspect.isclass(each)]
    rows = []
    for each in found:
        if issubclass(each, errors.FieldmarkError):
            code = next(
                (code for kind, code in ERROR_CODES.items() if issubclass(each, kind)),
                ExitCode.BAD_INPUT,
            )
            bases = ", ".join(_code(base.__name__) for base in each.__bases__)
            summary = _text((each.__doc__ or "").partition("\n")[0])
            rows.append((_code(each.__name__), bases, str(int(code)), summary))
    return _table(("exception", "is a", "exit code", "raised for"), rows)


def _http_errors() -> str:
    by_status: dict[int, list[str]] = {}
    for code in ErrorCode:
        by_status.setdefault(code.status, []).append(_code(code.value))
    rows = [(str(status), ", ".join(codes)) for status, codes in by_status.items()]
    return _table(("status", "codes"), rows)


# --- HTTP API -------------------------------------------------------------------------------------


def _http() -> str:
    document = create_api(ServerOptions(workspace=Path())).openapi()
    schemas = document["components"]["schemas"]
    return _page(
        *(
            _operation(f"{method.upper()} {path}", operation, schemas)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        )
    )


def _operation(name: str, operation: _Schema, schemas: _Schema) -> str:
    parameters = [
        (
            _code(each["name"]),
            each["in"],
            _values(each["schema"]),
            "required" if each.get("required") else _default(each["schema"]),
            _text(each.get("description", "")),
        )
        for each in operation.get("parameters", ())
    ]
    media: Mapping[str, _Schema] = operation.get("requestBody", {}).get("content", {})
    schema: _Schema = next(iter(media.values()), {}).get("schema", {})
    schema = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    example = next(iter(schema.get("examples", ())), None)
    statuses = ", ".join(operation["responses"])
    return _page(
        f"## {name}",
        *map(_text, operation["description"].split("\n\n")),
        _table(("parameter", "in", "values", "default", "meaning"), parameters),
        _key_table(schema).replace("| key |", "| key of the body |", 1),
        f"```json\n{pretty_json(example).decode().strip()}\n```" if example else "",
        f"Statuses: {statuses}.",
    )


# --- Python ---------------------------------------------------------------------------------------


def _python(kind: Callable[[object], bool]) -> str:
    """List public names for mkdocstrings, which renders their documentation, and their options."""
    public = {name: getattr(fieldmark, name) for name in fieldmark.__all__ if name[0] != "_"}
    return _page(
        *(
            part
            for name, value in public.items()
            if kind(value)
            for part in (f"::: fieldmark.{name}", _option_table(value))
        )
    )


def _option_table(value: object) -> str:
    """Return a table of the options of a function, or of `Inputs`."""
    options = options_of(value) if inspect.isfunction(value) else {}
    if value is fieldmark.Inputs:
        options = declared_options(fieldmark.Inputs)
    rows = [
        (_code(name), _text(option.meaning), _text(option.shown_default))
        for name, option in options.items()
    ]
    return _table(("argument", "meaning", "default"), rows)


def _is_result(value: object) -> bool:
    return inspect.isclass(value) and not issubclass(value, Exception)


GENERATED: Final[Mapping[str, Callable[[], str]]] = {
    "commands": _commands,
    **{kind.value: partial(_strategies, kind) for kind in (Plugin.COMPARATORS, Plugin.ALIGNERS)},
    **{
        kind.value: partial(_strategies, kind, 3)
        for kind in (Plugin.EVALUATORS, Plugin.TARGETS, Plugin.PROVIDERS, Plugin.SAFETY)
    },
    "table_of_comparators": partial(_strategy_table, Plugin.COMPARATORS, "`match`"),
    "table_of_aligners": partial(_strategy_table, Plugin.ALIGNERS, "`align`"),
    "table_of_providers": partial(_strategy_table, Plugin.PROVIDERS, "`provider`"),
    "table_of_safety": partial(_strategy_table, Plugin.SAFETY, "`safety`"),
    "table_of_evaluators": partial(_strategy_table, Plugin.EVALUATORS, "type"),
    "table_of_targets": partial(_strategy_table, Plugin.TARGETS, "type"),
    "table_of_readers": partial(_strategy_table, Plugin.READERS, "name", "reads"),
    "table_of_exporters": partial(_strategy_table, Plugin.EXPORTERS, "name", "contains"),
    "conventions": _conventions,
    "rules": partial(_keys_of, "rules", "anyOf", 0),
    "fields": lambda: _key_table(FIELD_KEYS.to_schema("path")),
    "eval": partial(_keys_of, "eval"),
    "case": partial(_keys_of, "eval", "$defs", "case"),
    "result": partial(_keys_of, "result"),
    "exit_codes": _exit_codes,
    "exceptions": _exceptions,
    "http_errors": _http_errors,
    "http": _http,
    "functions": partial(_python, inspect.isfunction),
    "classes": partial(_python, _is_result),
}
"""The generated parts by the name that a page has in `<!-- generated: NAME -->`."""
