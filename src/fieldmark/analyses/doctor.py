"""List strategies and plug-ins, and check an installation."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Final

from fieldmark import registry
from fieldmark.analyses.arguments import checked
from fieldmark.analyses.evaluate import check_ready_eval
from fieldmark.errors import FieldmarkError, OptionError, with_hint
from fieldmark.judges.process_tree import unavailable_limits
from fieldmark.model.json import JsonObject
from fieldmark.model.kernel import COMPILED
from fieldmark.registry import Plugin
from fieldmark.report.document import Cell, Column, Data, Document, Line, Table, Tone
from fieldmark.report.render import ShownRecord
from fieldmark.rules.config_values import Code
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.eval_setup import one_per_target
from fieldmark.runs.run_index import ROOT
from fieldmark.runs.run_options import strings
from fieldmark.values.records import to_json
from fieldmark.values.text import did_you_mean, plural
from fieldmark.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPlugin:
    """A strategy that is registered by name: where it comes from, and why it cannot be used."""

    kind: str
    name: str
    summary: str
    package: str
    version: str
    target: str
    error: str = ""

    def to_dict(self) -> JsonObject:
        """Return the record as JSON."""
        return to_json(self)


class PluginList(ShownRecord, tuple[RegisteredPlugin, ...]):
    """The registered strategies, in the order of the list."""

    __slots__ = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {"plugins": [plugin.to_dict() for plugin in self]}

    def document(self, *, top: int | None = None) -> Document:
        """Return one row per name, and how many there are."""
        table = Table(
            columns=(
                Column("Kind", "kind"),
                Column("Name", "name"),
                Column("From", "source", folds=True),
                Column("Summary", "summary", folds=True),
            ),
            rows=[
                {
                    "kind": Cell(plugin.kind, tone=tone),
                    "name": Cell(plugin.name, tone=tone),
                    "source": Cell(
                        f"{plugin.package} {plugin.version}".strip() or plugin.target, tone=tone
                    ),
                    "summary": Cell(
                        f"error: {plugin.error}" if plugin.error else plugin.summary, tone=tone
                    ),
                }
                for plugin in self
                for tone in [Tone.BAD if plugin.error else Tone.PLAIN]
            ],
            top=top,
            noun="name",
        )
        built_in = sum(plugin.package == "fieldmark" for plugin in self)
        failed = sum(bool(plugin.error) for plugin in self)
        counts = [f"{built_in} built-in", plural(len(self) - built_in, "plug-in")]
        counts += [f"{failed} cannot be used"] if failed else []
        keys = [field.name for field in fields(RegisteredPlugin)]
        return Document(
            table,
            Line(", ".join(counts), Tone.STRONG),
            data=Data(keys, [plugin.to_dict() for plugin in self]),
        )


@checked
def plugins(kinds: Iterable[str] = (), *, built_in: bool = True) -> PluginList:
    """Return the registered comparators, evaluators, readers and other strategies.

    A plug-in that cannot be used has an `error`.

    Args:
        kinds: The kinds to list; all by default.
        built_in: Also list built-in strategies.

    >>> import fieldmark as fm
    >>> [each.name for each in fm.plugins("aligners")][:3]
    ['auto', 'index', 'sequence']
    """
    wanted = strings(kinds)
    for kind in wanted:
        if not isinstance(kind, str):
            raise TypeError(f"kinds must be strings, got {type(kind).__name__}")
        if kind not in list(Plugin):
            message = f"unknown kind {kind!r}; must be one of: {', '.join(Plugin)}"
            raise OptionError("kinds", with_hint(message, did_you_mean(kind, Plugin)))
    return PluginList(
        RegisteredPlugin(
            kind=plugin.kind.value,
            name=plugin.name,
            summary=""
            if isinstance(registration, str)
            else (registration.__doc__ or "").strip().partition("\n")[0],
            package=plugin.package,
            version=plugin.version,
            target=plugin.target,
            error=registration if isinstance(registration, str) else "",
        )
        for plugin, registration in registry.registrations()
        if (not wanted or plugin.kind in wanted) and (built_in or plugin.package != "fieldmark")
    )


_PACKAGE: Final = "fieldmark"
_OLDEST: Final = (3, 11)
_HIDDEN: Final = frozenset({"dev"})
"""Extras for developers only."""
_LOW_SPACE: Final = 100 << 20


class CheckStatus(StrEnum):
    """The result of a check: `off` is an optional feature that is not installed."""

    OK = "ok"
    OFF = "off"
    WARNING = "warning"
    ERROR = "error"


_TONES: Final = {
    CheckStatus.OFF: Tone.QUIET,
    CheckStatus.WARNING: Tone.WARNING,
    CheckStatus.ERROR: Tone.BAD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: its result, and how to fix a problem."""

    name: str
    status: CheckStatus
    found: str
    fix: str = ""

    def to_dict(self) -> JsonObject:
        """Return the check as JSON."""
        return to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Diagnosis(ShownRecord):
    """The checks of an installation."""

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks of what does not work."""
        return tuple(check for check in self.checks if check.status is CheckStatus.ERROR)

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:
        """Return one row per check, with what to do."""
        rows = [check.to_dict() for check in self.checks]
        table = Table(
            # Results are not folded, so that commands in them can be copied.
            columns=(
                Column("Status", "status", folds=True),
                Column("Check", "name"),
                Column("Result", "result"),
            ),
            rows=[
                {
                    "status": Cell(check.status, tone=_TONES.get(check.status, Tone.PLAIN)),
                    "name": check.name,
                    "result": "; ".join(filter(None, (check.found, check.fix))),
                }
                for check in self.checks
            ],
            top=top,
            noun="check",
        )
        return Document(table, data=Data(("name", "status", "found", "fix"), rows))


@checked
def doctor(directory: Path | str = ROOT, *, eval_file: Path | str | None = None) -> Diagnosis:
    """Check the installation, and that runs can be written to a directory.

    With `eval_file`, its judges, models and targets are checked as before a run, which may contact
    their endpoints. Nothing else uses the network.

    >>> [check.name for check in doctor().checks][:3]
    ['fieldmark', 'python', 'kernel']
    """
    checks = [
        *_versions(),
        *_extras(),
        _plugins(),
        _directory(Path(directory)),
        _program_limits(),
        _terminal(),
    ]
    if eval_file is not None:
        checks.append(_eval_file(eval_file))
    return Diagnosis(checks=tuple(checks))


def _versions() -> Iterator[Check]:
    ok, warning, error = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.ERROR
    yield Check(name="fieldmark", status=ok, found=VERSION)
    supported = sys.version_info >= _OLDEST
    yield Check(
        name="python",
        status=ok if supported else error,
        found=f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        fix="" if supported else "use Python 3.11 or newer",
    )
    yield Check(
        name="kernel",
        status=ok if COMPILED else warning,
        found="compiled" if COMPILED else "pure Python: same results, slower",
        fix="" if COMPILED else "unset FIELDMARK_PURE, or install a C compiler and reinstall",
    )
    requirements = [requirement for requirement in _requirements() if not requirement[1]]
    missing = [name for name, _ in requirements if _version(name) is None]
    yield Check(
        name="dependencies",
        status=error if missing else ok,
        found=f"not installed: {', '.join(missing)}"
        if missing
        else ", ".join(f"{name} {_version(name)}" for name, _ in requirements),
        fix="pip install --force-reinstall fieldmark" if missing else "",
    )


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield the packages that are required, each with the extra that it belongs to."""
    try:
        listed = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:  # run from a copy of the source
        return
    for line in listed:
        requirement, _, marker = line.partition(";")
        name = requirement.strip()
        for end in "[(<>=!~ ":
            name = name.partition(end)[0]
        _, named, extra = marker.partition("extra ==")
        yield name, extra.strip().strip("'\"") if named else ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extras() -> Iterator[Check]:
    """Yield a check for each extra; an extra that is not installed is no error."""
    extras: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra and extra not in _HIDDEN and name != _PACKAGE:
            extras.setdefault(extra, []).append(name)
    for extra, names in sorted(extras.items()):
        missing = [name for name in names if _version(name) is None]
        yield Check(
            name=f"extra {extra}",
            status=CheckStatus.OFF if missing else CheckStatus.OK,
            found=f"not installed: {', '.join(missing)}"
            if missing
            else ", ".join(f"{name} {_version(name)}" for name in names),
            fix=f'pip install "fieldmark[{extra}]"' if missing else "",
        )


def _plugins() -> Check:
    installed = plugins(built_in=False)
    failed = [plugin for plugin in installed if plugin.error]
    return Check(
        name="plug-ins",
        status=CheckStatus.WARNING if failed else CheckStatus.OK,
        found="; ".join(plugin.error for plugin in failed) or plural(len(installed), "plug-in"),
        fix="fieldmark doctor --plugins --installed" if failed else "",
    )


def _directory(directory: Path) -> Check:
    """Check that a file can be created in the directory, or in its parent if it does not exist."""
    name = "run directory"
    existing = directory
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            free = shutil.disk_usage(existing).free
    except OSError as error:
        return Check(
            name=name,
            status=CheckStatus.ERROR,
            found=f"cannot write to {existing.resolve()}: {error.strerror or error}",
            fix="use --out DIR or --no-save",
        )
    low = free < _LOW_SPACE
    return Check(
        name=name,
        status=CheckStatus.WARNING if low else CheckStatus.OK,
        found=f"{directory.resolve()}, {free >> 20:,} MB free",
        fix="free some space" if low else "",
    )


def _program_limits() -> Check:
    """Report which limits of judges and targets that are programs this system cannot enforce."""
    missing = unavailable_limits()
    description = "limits on time and output" + (
        f", but not on {', '.join(missing)}" if missing else ""
    )
    return Check(
        name="program limits",
        status=CheckStatus.WARNING if missing else CheckStatus.OK,
        found=description
        if missing
        else f"{description}, memory, CPU time, file size and open files",
        fix="run judges and targets that you do not trust in a container" if missing else "",
    )


def _terminal() -> Check:
    encoding = getattr(sys.stdout, "encoding", None) or "none"
    unicode = encoding.lower().replace("-", "") == "utf8"
    terminal = sys.stdout is not None and sys.stdout.isatty()
    size = f", {shutil.get_terminal_size().columns} columns" if terminal else ""
    colors = "colors" if terminal and not os.environ.get("NO_COLOR") else "no colors"
    return Check(
        name="terminal",
        status=CheckStatus.OK if unicode else CheckStatus.WARNING,
        found=f"{'terminal' if terminal else 'no terminal'}, {encoding}{size}, {colors}",
        fix="" if unicode else "set PYTHONUTF8=1 to print all characters",
    )


def _eval_file(file: Path | str) -> Check:
    """Check that the judges, models and targets of an eval file can be used."""
    name = f"eval file {file}"
    try:
        specs = one_per_target(load_eval(file, code=Code.CHECK))
        for spec in specs:
            check_ready_eval(spec)
    except FieldmarkError as error:
        description = "; ".join(str(error).splitlines())
        return Check(name=name, status=CheckStatus.ERROR, found=description, fix="see the message")
    ready = ", ".join(spec.name for spec in specs)
    return Check(name=name, status=CheckStatus.OK, found=f"{ready}: ready")
