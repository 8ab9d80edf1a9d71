"""Defaults of options from `fieldmark.toml`, or from `[tool.fieldmark]` in `pyproject.toml`.

The nearest file applies, from the current directory upward. Someone else may have made it, so it
cannot permit code, overwrite files outside of its directory or open a server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import click

if TYPE_CHECKING:
    from fieldmark.errors import ConfigError


_OWN: Final = "fieldmark.toml"
_SHARED: Final = "pyproject.toml"
_MAX_BYTES: Final = 1 << 20
_MAX_PARENTS: Final = 100
CONFIGURABLE: Final = (
    "score", "eval", "demo", "show", "improve", "lint", "diff", "rank", "consensus", "infer",
    "rescore", "report", "confidence thresholds", "confidence triage", "calibrate label",
    "calibrate measure", "parts plan",
)  # fmt: skip
"""The commands whose options can have defaults; they read data and compute results."""
_TABLES: Final = tuple(dict.fromkeys(name.partition(" ")[0] for name in CONFIGURABLE))
"""The tables of a file; a group of commands has a table with a table for each command."""
_FILES: Final = frozenset({"DIR", "FILE"})
"""The metavars of options that name a file."""


def _find_settings() -> tuple[str, Mapping[str, object]]:
    """Return the nearest file with settings and its content; an empty name if there is none."""
    try:
        directory = os.getcwd()  # noqa: PTH109 - pathlib takes long to load
    except OSError:  # it was deleted
        return "", {}
    for _ in range(_MAX_PARENTS):
        for name in (_OWN, _SHARED):
            path = os.path.join(directory, name)  # noqa: PTH118
            if os.path.isfile(path) and (content := _read_settings(path)) is not None:  # noqa: PTH113
                return path, content
        directory, below = os.path.dirname(directory), directory  # noqa: PTH120
        if directory == below:
            break
    return "", {}


def _read_settings(path: str) -> Mapping[str, object] | None:
    """Return the settings in a file; `None` if it is a `pyproject.toml` without any."""
    shared = path.endswith(_SHARED)
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        if shared:
            return None
        raise _error(path, f"cannot read file: {error.strerror}") from error
    if shared and b"fieldmark" not in raw:
        return None
    if len(raw) > _MAX_BYTES:
        if shared:
            return None
        raise _error(path, f"larger than {_MAX_BYTES:,} bytes")
    import tomllib

    try:
        document = tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise _error(path, f"invalid TOML: {error}") from error
    if not shared:
        return document
    tool = document.get("tool")
    settings = tool.get("fieldmark") if isinstance(tool, dict) else None
    if settings is None:
        return None
    if not isinstance(settings, dict):
        raise _error(path, "[tool.fieldmark] must be a table")
    return settings


class Defaults(Mapping[str, Mapping[str, object]]):
    """The settings that apply: options for all commands that have them, and a table per command.

    click asks for the defaults of a command, by parameter, and only then the file is read. `load`
    returns a command by its name.
    """

    def __init__(self, load: Callable[[str], click.Command | None]) -> None:
        self._load = load

    @cached_property
    def _file_and_settings(self) -> tuple[str, Mapping[str, object]]:
        return _find_settings()

    @property
    def file(self) -> str:
        """The file that applies, or an empty string."""
        return self._file_and_settings[0]

    @property
    def _settings(self) -> Mapping[str, object]:
        return self._file_and_settings[1]

    def __getitem__(self, name: str) -> Mapping[str, object]:
        if name not in _TABLES or not self._settings:
            raise KeyError(name)
        commands = [command for command in CONFIGURABLE if command.partition(" ")[0] == name]
        self._check_names(commands)
        defaults = {command: dict(self._of(command)) for command in commands}
        if name in defaults:
            return defaults[name]
        return {command.partition(" ")[2]: values for command, values in defaults.items()}

    def __contains__(self, name: object) -> bool:
        return name in _TABLES and bool(self._settings)

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLES if self._settings else ())

    def __len__(self) -> int:
        return len(_TABLES) if self._settings else 0

    def __bool__(self) -> bool:
        return True  # without reading the file

    def check(self) -> None:
        """Raise an error if any setting of the file is invalid."""
        for name in self:
            self[name]

    def _check_names(self, commands: Sequence[str]) -> None:
        """Raise an error for a table or an option that no command has."""
        own = {key for command in commands for key in self._options(command)}
        for key, value in self._settings.items():
            if isinstance(value, dict):
                if key not in _TABLES:
                    raise self._unknown_table(key, _TABLES)
                self._check_group(key, value)
            elif _spelled(key) not in own and _spelled(key) not in self._known:
                raise self._unknown(key, self._known)

    def _check_group(self, group: str, table: Mapping[str, object]) -> None:
        """Raise an error for anything but a table for each command in the table of a group."""
        names = [name.replace(" ", ".") for name in CONFIGURABLE if name.startswith(f"{group} ")]
        for key, value in table.items() if names else ():
            if not isinstance(value, dict):
                hint = f"options are in the tables: {', '.join(names)}"
                raise _error(self.file, f"unknown option '{group}.{key}'", hint)
            if f"{group}.{key}" not in names:
                raise self._unknown_table(f"{group}.{key}", names)

    def _unknown_table(self, name: str, known: Sequence[str]) -> ConfigError:
        from fieldmark.values.text import did_you_mean

        hint = did_you_mean(name, known) or f"tables are named after: {', '.join(known)}"
        return _error(self.file, f"unknown table [{name}]", hint)

    @cached_property
    def _known(self) -> dict[str, click.Option]:
        """The options of all commands."""
        return {key: option for name in CONFIGURABLE for key, option in self._options(name).items()}

    def _options(self, command: str) -> dict[str, click.Option]:
        """Return the options of a command by their long names, without the dashes."""
        loaded = self._load(command)
        params = [] if loaded is None else loaded.params
        return {
            name.removeprefix("--"): param
            for param in params
            if isinstance(param, click.Option)
            for name in param.opts
            if name.startswith("--")
        }

    def _of(self, command: str) -> Iterator[tuple[str, object]]:
        """Yield the parameters that have a default, and their values; its own table comes last."""
        options = self._options(command)
        group, _, name = command.partition(" ")
        table = self._settings.get(group, {})
        if name:
            table = cast("Mapping[str, object]", table).get(name, {})
        shared = {
            key: value for key, value in self._settings.items() if not isinstance(value, dict)
        }
        for settings, is_own in ((shared, False), (cast("dict[str, object]", table), True)):
            for key, value in settings.items():
                name = _spelled(key)
                if name == "help" or not _is_configurable(
                    options.get(name) or self._known.get(name)
                ):
                    message = f"{key} can only be given on the command line"
                    raise _error(self.file, message)
                if name not in options:
                    if is_own:
                        raise self._unknown(f"{command.replace(' ', '.')}.{key}", options, key)
                    continue
                yield options[name].name or "", self._value(key, options[name], value)

    def _value(self, key: str, option: click.Option, value: object) -> object:
        """Return the value of a setting as click expects it."""
        if option.is_flag:
            if not isinstance(value, bool):
                raise _error(self.file, f"{key} must be true or false")
            negated = option.flag_value is False
            return value != negated
        values = value if isinstance(value, list) else [value]
        if any(
            isinstance(item, bool) or not isinstance(item, str | int | float) for item in values
        ):
            raise _error(self.file, f"{key} must be a string or a number, or a list of them")
        if isinstance(value, list) and not option.multiple:
            raise _error(self.file, f"{key} accepts only one value")
        texts = [self._path(key, option, str(item)) for item in values]
        return texts if option.multiple else texts[0]

    def _path(self, key: str, option: click.Option, text: str) -> str:
        """Return a value; names of files are relative to the settings, and not outside of them."""
        if not (isinstance(option.type, click.Path) or option.metavar in _FILES):
            return text
        root = os.path.realpath(os.path.dirname(self.file))  # noqa: PTH120
        path = os.path.realpath(os.path.join(root, text))  # noqa: PTH118
        # On Windows, paths on two drives have no common path, so the names are compared.
        if not os.path.join(path, "").startswith(os.path.join(root, "")):  # noqa: PTH118
            raise _error(self.file, f"{key}: {text!r} is outside of the directory of the file")
        return os.path.relpath(path)

    def _unknown(self, shown: str, known: Mapping[str, click.Option], key: str = "") -> ConfigError:
        from fieldmark.values.text import did_you_mean

        names = [name for name, option in known.items() if _is_configurable(option)]
        hint = did_you_mean(_spelled(key or shown), [*names, *([] if key else _TABLES)])
        return _error(self.file, f"unknown option {shown!r}", hint)


def _is_configurable(option: click.Option | None) -> bool:
    """Whether an option can have a default, or is decided on the command line, each time."""
    return bool(getattr(option, "configurable", True))


def _spelled(key: str) -> str:
    return key.replace("_", "-")


def _error(file: str, message: str, hint: str = "") -> ConfigError:
    from fieldmark.errors import ConfigError, Location

    return ConfigError.of(message, Location(file), hint)
