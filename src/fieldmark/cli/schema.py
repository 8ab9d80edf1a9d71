"""`fieldmark schema`: print or write the JSON Schemas of files."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.cli.options import SuggestingChoice
from fieldmark.cli.output import write_file, write_stdout
from fieldmark.config.schemas import SCHEMAS, file_name, schema_of
from fieldmark.errors import StorageError
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark schema eval > eval.schema.json
  fieldmark schema --write schemas

\b
For an editor, above an eval file:
  # yaml-language-server: $schema=schemas/eval.schema.json
"""


@click.command(epilog=_EPILOG)
@click.argument("name", required=False, type=SuggestingChoice(list(SCHEMAS)))
@click.option(
    "--write",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all schemas into a folder, or the one that is named.",
)
def command(name: str | None, folder: Path | None) -> None:
    """Print the JSON Schema of eval files, rules files or result rows.

    Installed plug-ins are part of it, so a schema says what this installation understands.
    """
    if folder is None:
        if name is None:
            raise click.UsageError(f"Name a schema ({', '.join(SCHEMAS)}) or a folder to --write.")
        write_stdout(pretty_json(schema_of(name)))
        return
    for each in SCHEMAS if name is None else (name,):
        file = folder / file_name(each)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {file}: {error.strerror or error}") from error
        write_file(file, pretty_json(schema_of(each)))
        write_stdout(f"{visible(str(file))}\n")
