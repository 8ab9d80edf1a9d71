"""Create a starter project: data, rules, an eval file with a gate, and a workflow for CI."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from fieldmark.analyses.arguments import checked
from fieldmark.errors import ConfigError, StorageError

_FILES: Final[Mapping[str, str]] = {
    "fieldmark.md": "fieldmark.md",
    "truth.jsonl": "truth.jsonl",
    "predictions.jsonl": "predictions.jsonl",
    "rules.yaml": "rules.yaml",
    "invoices.eval.yaml": "invoices.eval.yaml",
    "fieldmark.toml": "fieldmark.toml",
    ".github/workflows/fieldmark.yml": "github-workflow.yml",
}
"""The files of a project, and where their content is in the package."""


def starter_files(directory: Path | str) -> list[Path]:
    """Return the files of a new project; the error for files that exist lists all of them."""
    paths = [Path(directory) / name for name in _FILES]
    if taken := [str(path) for path in paths if path.exists() or path.is_symlink()]:
        hint = "choose another directory, or move them"
        raise ConfigError.of(f"would overwrite {', '.join(taken)}", hint=hint)
    return paths


@checked
def create_starter(directory: Path | str = "") -> list[Path]:
    """Write a project to a directory, and return its files; none is overwritten.

    >>> [path.name for path in create_starter("project")][:2]
    ['fieldmark.md', 'truth.jsonl']
    """
    created = starter_files(directory)
    source = files("fieldmark") / "starter"
    for path, name in zip(created, _FILES.values(), strict=True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A file that was created in the meantime is not overwritten either.
            with path.open("xb") as file:
                file.write((source / name).read_bytes())
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return created
