"""`fieldmark schema`: print or write the JSON Schemas of files."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import SuggestingChoice
from fieldmark.cli.output import write_file
from fieldmark.cli.streams import write_stdout
from fieldmark.errors import StorageError
from fieldmark.runs.schemas import SCHEMAS, file_name, schema_of
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json


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
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the schema, or all schemas, to a directory.",
)
def command(name: str | None, directory: Path | None) -> None:
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
    for each in SCHEMAS if name is None else (name,):
        file = directory / file_name(each)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {file}: {error.strerror or error}") from error
        write_file(file, pretty_json(schema_of(each)))
        write_stdout(f"{visible(str(file))}\n")
