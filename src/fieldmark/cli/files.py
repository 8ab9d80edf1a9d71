"""`fieldmark init`, `schema` and `import`: create and convert files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.starter import create_starter, starter_files
from fieldmark.cli.help import make_command, make_group, option
from fieldmark.cli.options import SuggestingChoice, force_option, out_option
from fieldmark.cli.output import check_overwrite, write_file, write_file_or_stdout
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.errors import StorageError
from fieldmark.rules.agentv import import_agentv
from fieldmark.runs.schemas import SCHEMAS, file_name, schema_of
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.text import plural

_IMPORTS: Final = (
    "fieldmark import agentv invoices.eval.yaml > invoices.yaml",
    "fieldmark import agentv evals/dataset.yaml --out invoices.yaml",
    "fieldmark eval invoices.yaml",
)


@make_command(
    examples=("fieldmark init", "fieldmark init invoices --yes"),
)
@click.argument("directory", metavar="[DIR]", default="", type=click.Path(path_type=Path))
@option("--yes", "-y", is_flag=True, help="Ask nothing.")
def init_command(directory: Path, *, yes: bool) -> None:
    """Create a starter project in DIR, by default the current directory.

    The project has ground truth, predictions, rules, an eval file whose gate passes, defaults of
    options and a workflow for continuous integration. No file is overwritten.
    """
    planned = starter_files(directory)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("standard input is not a terminal; use --yes")
        for path in planned:
            print_message(path)
        click.confirm(f"create these {len(planned)} files?", default=True, abort=True, err=True)
    for path in create_starter(directory):
        write_stdout(f"{visible(str(path))}\n")
    change = f"cd {directory} && " if str(directory) not in ("", ".") else ""
    print_message(f"next: {change}fieldmark eval invoices.eval.yaml")


@make_command(
    examples=(
        "fieldmark schema eval > eval.schema.json",
        "fieldmark schema --write schemas",
    ),
)
@click.argument("name", metavar="[NAME]", required=False, type=SuggestingChoice(list(SCHEMAS)))
@option(
    "--write",
    "directory",
    metavar="DIR",
    help="Write the schema, or all schemas, to a directory.",
)
def schema_command(name: str | None, directory: Path | None) -> None:
    """Print the JSON Schema of eval files, rules files or result rows.

    NAME is eval, rules or result. The schemas include installed plug-ins. To use a schema in an
    editor, start an eval file with `# yaml-language-server: $schema=schemas/eval.schema.json`.
    """
    if directory is None:
        if name is None:
            raise click.UsageError(
                f"NAME is required, unless --write is given; must be one of: {', '.join(SCHEMAS)}"
            )
        write_stdout(pretty_json(schema_of(name)))
        return
    for schema in SCHEMAS if name is None else (name,):
        file = directory / file_name(schema)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {file}: {error.strerror or error}") from error
        write_file(file, pretty_json(schema_of(schema)))
        write_stdout(f"{visible(str(file))}\n")


@make_group(examples=_IMPORTS)
def import_command() -> None:
    """Convert eval files of other tools to fieldmark eval files."""


@make_command("agentv", of=import_command, examples=_IMPORTS)
@click.argument("file", type=click.Path())
@out_option("Write the eval file to FILE instead of standard output.")
@force_option
def agentv_command(file: str, *, out: Path | None, force: bool) -> None:
    """Convert an AgentV eval FILE.

    The resulting eval file gives the same results. Documents that the cases refer to are
    included; comments are dropped. `fieldmark eval` also runs AgentV files without conversion.
    """
    check_overwrite(out, force=force)
    imported = import_agentv(file)
    for warning in imported.warnings:
        print_message(warning, prefix="warning: ")
    write_file_or_stdout(imported.text, out, plural(imported.cases, "case"))
