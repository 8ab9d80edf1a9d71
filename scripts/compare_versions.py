"""Run two versions of fieldmark on the same inputs and list every difference: `make compare`.

    python scripts/compare_versions.py BEFORE [AFTER] [--only PART,PART] [--data DIR] [--keep DIR]
                                       [--pairs 5000] [--seed 1] [--lines 24] [--jobs N]

BEFORE and AFTER are checkouts with a `.venv`, or Python interpreters that can import fieldmark;
AFTER is this checkout by default. Both run `record_version.py` on the inputs of this checkout, in
a directory of their own: all commands with their help, examples of the documentation, public
functions, random pairs with random rules, requests to the server and tools of the MCP server.
Everything that is printed or written is compared as text, after what must differ is replaced (see
`_REPLACED`). Equal differences are shown once, with the outputs in which they occur.

With `--keep DIR`, the outputs of both versions remain in `DIR/1` and `DIR/2`. The exit code is 1 if
there is a difference.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from random_inputs import (
    invalid_evals,
    invalid_rules,
    orders,
    random_batches,
    random_pairs,
    rated,
)

ROOT: Final = Path(__file__).parents[1]
RECORDER: Final = Path(__file__).with_name("record_version.py")
PARTS: Final = ("cli", "docs", "help", "http", "invalid", "mcp", "published", "python", "random")
_COPIED: Final = {
    "sample": "src/fieldmark/sample",
    "starter": "src/fieldmark/starter",
    "examples": "examples",
    "data": "tests/data",
    "golden": "tests/golden",
}
_BATCH_ROWS: Final = 50
_INVALID_OPTIONS: Final = ("''", "x", "-1", "a=b")
_INVALID_SETTINGS: Final = ('"x"', "-1", "[true]")
_GROUPS: Final = ("calibrate ", "confidence ", "parts ")
_OPTION: Final = re.compile(r"^  (?:-\w, )?--([a-z-]+)( [A-Z\[])?", re.MULTILINE)
_LINE_WIDTH: Final = 200
_MANY_LINES: Final = 20_000
"""Above this, lines that occur often are not aligned, which would take long."""
_RUN: Final = re.compile(r"\d{8}T\d{12}-[0-9a-f]{4,}")
"""Runs without a name are named after the time at which they started, and a random suffix."""
_SKIPPED: Final = frozenset({"inputs", "stdout", "stderr", ".index.json", "lock"})
"""Inputs, the output of the last command, a cache with the times of files, and who writes a run."""
_REPLACED: Final = (
    # Secrets of pages and of sessions.
    (re.compile(r"(?<=nonce-)[\w-]{22}"), "<nonce>"),
    (re.compile(r'(?<=nonce=")[\w-]{22}'), "<nonce>"),
    (re.compile(r'(?<=name="csrf" content=")[\w-]{43}'), "<csrf>"),
    # Ids of jobs and decisions, and whether a job has begun when the response is sent.
    (re.compile(r'(?<="id":")(?:[0-9a-f]{16}|[0-9a-f]{32})(?=")'), "<id>"),
    (re.compile(r'(?<="state":")(?:waiting|running)(?=")'), "<begun>"),
    # Addresses of objects in a signature.
    (re.compile(r" at 0x[0-9a-f]+"), " at <address>"),
    # Durations.
    (re.compile(r"\b\d+(\.\d+)? ?m?s\b(?= *(\x1b|$))", re.MULTILINE), "<seconds>"),
)


class Version:
    """An interpreter with fieldmark, and the directory in which it is recorded."""

    def __init__(self, name: str, directory: Path) -> None:
        path = Path(name)
        # The path of an interpreter is not resolved, because it determines the environment.
        self.python = (path / ".venv" / "bin" / "python" if path.is_dir() else path).absolute()
        self.directory = directory
        if not self.python.exists():
            raise SystemExit(f"{self.python} not found")
        where = "import fieldmark; print(fieldmark.__file__); print(fieldmark.__version__)"
        self.package, self.number = self.call("-c", where).splitlines()

    def call(self, *words: str) -> str:
        """Run the interpreter and return what it prints."""
        done = subprocess.run(  # noqa: S603
            [self.python, *words], check=True, capture_output=True, text=True, env=_environment()
        )
        return done.stdout

    def record(self, part: str, inputs: Path) -> float:
        """Record one part; return how long it took."""
        directory = self.directory / part
        directory.mkdir(parents=True)
        (directory / "inputs").symlink_to(inputs)
        started = time.monotonic()
        with (directory / "recorder.log").open("w") as log:
            done = subprocess.run(  # noqa: S603
                [self.python, RECORDER, part],
                cwd=directory,
                env=_environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            print((directory / "recorder.log").read_text(), file=sys.stderr)
            raise SystemExit(f"{self.python}: part {part} was not recorded")
        return time.monotonic() - started


def _environment(directory: Path | None = None) -> dict[str, str]:
    """Return the variables of the recorder: the same for both versions, wherever it runs."""
    home = str(directory or "/nonexistent")
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": home,
        "XDG_CACHE_HOME": f"{home}/cache",
        "TMPDIR": os.environ.get("TMPDIR", tempfile.gettempdir()),
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",
        "COLUMNS": "100",
        "LINES": "40",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        # Processes are forked, which threads of libraries would not survive.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


# --- inputs --------------------------------------------------------------------------------------


def _write_inputs(inputs: Path, before: Version, arguments: argparse.Namespace) -> None:
    """Write the inputs of both versions, which are derived from this checkout and from `before`."""
    for name, source in _COPIED.items():
        shutil.copytree(ROOT / source, inputs / name, ignore=shutil.ignore_patterns("__pycache__"))
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        target = inputs / "docs" / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    shutil.copy(ROOT / "tests" / "docs" / "pages.py", inputs)
    if arguments.data:
        shutil.copytree(arguments.data, inputs / "published")
    rules, evaluation = (
        json.loads(before.call("-m", "fieldmark", "schema", n)) for n in ("rules", "eval")
    )
    _write_lines(inputs / "pairs.jsonl", random_pairs(rules, arguments.pairs, arguments.seed))
    batches = max(arguments.pairs // _BATCH_ROWS, 1)
    _write_lines(
        inputs / "batches.jsonl", random_batches(rules, batches, _BATCH_ROWS, arguments.seed)
    )
    for name, document in (*invalid_rules(rules), *invalid_evals(evaluation)):
        directory = inputs / "invalid" / name
        directory.mkdir(parents=True, exist_ok=True)
        number = len(list(directory.iterdir()))
        (directory / f"{number:03}.json").write_text(json.dumps(document), "utf-8")
    _write_options(inputs, before)
    _write_files(inputs / "files")


def _write_files(directory: Path) -> None:
    """Write files that commands read, which are copied to their directory."""
    (directory / "pages").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "report.png", directory / "pages" / "yTRFKVPx.png")
    truth, one, two = orders(400, 1)
    _write_lines(directory / "orders.jsonl", truth)
    _write_lines(directory / "orders-one.jsonl", one)
    _write_lines(directory / "orders-two.jsonl", two)
    truth, predictions = rated(300, 2)
    _write_lines(directory / "confidence-truth.jsonl", truth)
    _write_lines(directory / "confidence-predictions.jsonl", predictions)
    lines = (ROOT / "tests" / "data" / "meaning" / "tune.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    keys = ("id", "expected", "candidate")
    _write_lines(directory / "meaning.jsonl", ({key: pair[key] for key in keys} for pair in pairs))
    labels = ({**{key: pair[key] for key in keys[1:]}, "verdict": pair["label"]} for pair in pairs)
    _write_lines(directory / "labels-filled.jsonl", labels)
    naughty = json.loads((ROOT / "tests" / "data" / "naughty" / "strings.json").read_text("utf-8"))
    texts = naughty["naughty-strings"]
    rows = ({"id": str(number), "text": text} for number, text in enumerate(texts))
    _write_lines(directory / "naughty.jsonl", rows)
    request = {
        "expected": {"total": 5, "lines": [{"a": 1}, {"a": 2}]},
        "candidate": {"total": 6, "lines": [{"a": 2}]},
        "config": {
            "fields": [{"path": "total"}],
            "path": "lines",
            "rules": ["total > 5"],
            "schema": {"type": "object", "required": ["vendor"]},
        },
    }
    (directory / "judge-request.json").write_text(json.dumps(request), "utf-8")


def _write_lines(path: Path, values: Iterable[object]) -> None:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), "utf-8")


def _write_options(inputs: Path, before: Version) -> None:
    """Write commands and settings with options that may be invalid."""
    for name in ("options", "settings", "valid"):
        (inputs / name).mkdir()
    for line in (RECORDER.with_name("recorded") / "valid.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()[: 2 if line.startswith(_GROUPS) else 1]
        command = ".".join(words)
        options = dict(_OPTION.findall(before.call("-m", "fieldmark", *words, "--help")))
        lines = [
            f"fieldmark {line} --{name}{f'={value}' if metavar else ''}"
            for name, metavar in options.items()
            if name != "help"
            for value in (_INVALID_OPTIONS if metavar else ("",))
        ]
        (inputs / "options" / f"{command}.txt").write_text("\n".join(lines), "utf-8")
        (inputs / "valid" / f"{command}.txt").write_text(line, "utf-8")
        for number, value in enumerate(_INVALID_SETTINGS):
            settings = [f"[{command}]", *(f"{name} = {value}" for name in options), ""]
            (inputs / "settings" / f"{command}-{number}.toml").write_text(
                "\n".join(settings), "utf-8"
            )


# --- comparison ----------------------------------------------------------------------------------


class Normalizer:
    """Replaces what must differ between two recordings."""

    def __init__(self, version: Version, started: datetime) -> None:
        days = {(started + timedelta(days=day)).strftime("%Y-%m-%d") for day in (0, 1)}
        # Only times of this recording are replaced, so that dates of documents are compared.
        clock = r"[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z| UTC)?"
        self._replaced = [
            (re.compile(re.escape(str(version.directory))), "<directory>"),
            (re.compile(re.escape(str(Path(version.package).parent))), "<package>"),
            (re.compile(re.escape(str(version.python))), "<python>"),
            (re.compile(rf'(?<="fieldmark": "){re.escape(version.number)}(?=")'), "<version>"),
            (re.compile(rf"(?<=fieldmark ){re.escape(version.number)}\b"), "<version>"),
            (re.compile(rf"(?:{'|'.join(sorted(days))})(?:{clock})?"), "<time>"),
            *_REPLACED,
        ]
        names = (path.name for path in version.directory.rglob("*") if path.is_dir())
        runs = sorted({match[0] for match in map(_RUN.fullmatch, names) if match})
        self._runs = {run: f"<run {number}>" for number, run in enumerate(runs, start=1)}

    def text(self, text: str) -> str:
        """Return a text in which everything that must differ is replaced."""
        for pattern, replacement in self._replaced:
            text = pattern.sub(replacement, text)
        return _RUN.sub(lambda match: self._runs.get(match[0], "<run>"), text)


def _files(directory: Path, normalizer: Normalizer) -> dict[str, Path]:
    """Return all files below a directory, by their path without what must differ."""
    return {
        normalizer.text(path.relative_to(directory).as_posix()): path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and _SKIPPED.isdisjoint(path.relative_to(directory).parts)
    }


def _content(path: Path) -> str:
    """Return a file as text; archives and databases as the text of what they contain."""
    raw = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return "\n".join(f"{name}\n{archive.read(name).decode()}" for name in names)
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as database:
            return "\n".join(database.iterdump())
    if raw.startswith(b"\x1f\x8b"):
        raw = gzip.decompress(raw)
    return raw.decode("utf-8", "backslashreplace")


def _lines(text: str) -> list[str]:
    """Return the lines of a text, with long lines of JSON and HTML divided."""
    lines: list[str] = []
    for line in text.splitlines():
        if len(line) > _LINE_WIDTH:
            lines.extend(re.split(r"(?<=[,;}>\]])(?=[\s\"<{\[])", line))
        else:
            lines.append(line)
    return lines


def _hunks(before: str, after: str) -> Iterator[tuple[str, ...]]:
    """Yield the differences of two texts, as lines that start with - or +."""
    first, second = _lines(before), _lines(after)
    if first == second:
        yield ("-+ only line breaks or trailing line ends differ",)
        return
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=len(first) > _MANY_LINES)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            yield (*(f"- {line}" for line in first[i:j]), *(f"+ {line}" for line in second[k:m]))


def _differences(
    before: Version, after: Version, started: datetime
) -> dict[tuple[str, ...], list[str]]:
    """Return all differences, with the outputs in which they occur."""
    versions = (before, after)
    normalizers = [Normalizer(version, started) for version in versions]
    files = [
        _files(version.directory, normalizer)
        for version, normalizer in zip(versions, normalizers, strict=True)
    ]
    differences: dict[tuple[str, ...], list[str]] = {}
    for name in sorted({*files[0], *files[1]}):
        paths = [found.get(name) for found in files]
        if paths[0] is None or paths[1] is None:
            sign = "+" if paths[0] is None else "-"
            differences.setdefault((f"{sign} (the whole output)",), []).append(name)
            continue
        if paths[0].read_bytes() == paths[1].read_bytes():
            continue
        texts = [
            normalizer.text(_content(path))
            for normalizer, path in zip(normalizers, paths, strict=True)
            if path is not None
        ]
        if texts[0] != texts[1]:
            for hunk in _hunks(*texts):
                differences.setdefault(hunk, []).append(name)
    return differences


def _shown(hunk: tuple[str, ...], lines: int) -> Iterator[str]:
    """Yield the lines of a difference, shortened."""
    for line in hunk[:lines]:
        yield line if len(line) <= _LINE_WIDTH else f"{line[:_LINE_WIDTH]}…"
    if len(hunk) > lines:
        yield f"… {len(hunk) - lines} more lines"


def _print(differences: Mapping[tuple[str, ...], list[str]], lines: int) -> None:
    for hunk, names in differences.items():
        shown = ", ".join(dict.fromkeys(names[:3]))
        more = len(names) - 3
        print(f"\n== {shown}" + (f" and {more} more places" if more > 0 else ""))
        print("\n".join(_shown(hunk, lines)))


def main() -> int:
    """Compare two versions; return 1 if they differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", help="checkout with .venv, or interpreter")
    parser.add_argument("after", nargs="?", default=str(ROOT), help="the same; this checkout")
    parser.add_argument(
        "--only", default="", help=f"parts, separated by commas: {', '.join(PARTS)}"
    )
    parser.add_argument("--data", type=Path, help="directory with published data sets")
    parser.add_argument("--keep", type=Path, help="directory for the outputs of both versions")
    parser.add_argument("--pairs", type=int, default=5000, help="number of random pairs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random pairs")
    parser.add_argument("--lines", type=int, default=24, help="lines to show of a difference")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments = parser.parse_args()
    parts = arguments.only.split(",") if arguments.only else [*PARTS]
    if unknown := {*parts} - {*PARTS}:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    if not arguments.data:
        parts = [part for part in parts if part != "published"]
    started = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as temporary:
        directory = (arguments.keep or Path(temporary)).resolve()
        for name in ("1", "2", "inputs"):
            shutil.rmtree(directory / name, ignore_errors=True)
        before = Version(arguments.before, directory / "1")
        after = Version(arguments.after, directory / "2")
        (directory / "inputs").mkdir(parents=True)
        _write_inputs(directory / "inputs", before, arguments)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            recorded = {
                (part, version.directory.name): pool.submit(
                    version.record, part, directory / "inputs"
                )
                for part in parts
                for version in (before, after)
            }
            for (part, name), future in recorded.items():
                print(f"{part} {name}: {future.result():.0f} s", file=sys.stderr)
        differences = _differences(before, after, started)
        _print(differences, arguments.lines)
    count = len({name for names in differences.values() for name in names})
    print(
        f"\n{len(differences)} differences in {count} outputs" if differences else "no difference"
    )
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
