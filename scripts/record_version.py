"""Record what one version of fieldmark does: run by `compare_versions.py` with each interpreter.

    PYTHON scripts/record_version.py PART

The working directory contains `inputs`, which are the same for both versions. What a call prints is
written to a file below `output`, and the files that calls write remain where they are.

Only the standard library is imported here, and of fieldmark nothing but what users have: the
command, the public functions, the server and the MCP server.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import http.client
import importlib
import io
import itertools
import json
import os
import pkgutil
import pty
import pydoc
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

RECORDED: Final = Path(__file__).with_name("recorded")
INPUTS: Final = Path("inputs")
OUTPUT: Final = Path("output")
SECONDS: Final = 120
"""After this time, a call is recorded as one that does not end."""
_BRACES: Final = re.compile(r"\{([^{}\s]*,[^{}\s]*)\}")
_COMMANDS: Final = re.compile(r"^  ([a-z][a-z-]+)  ", re.MULTILINE)
_SHELL_SYNTAX: Final = re.compile(r"[|&;<>$`*?~#!]")
_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
_PLACEHOLDER: Final = re.compile(r"\$(\w+)")
_CHANGED_BODIES: Final[tuple[object, ...]] = (None, True, -1, "x", [1], {})


def main() -> None:
    """Record one part."""
    part = sys.argv[1]
    OUTPUT.mkdir()
    PARTS[part]()
    for path in sorted(Path().rglob("*.parquet")):
        if not path.is_relative_to(INPUTS):
            path.with_name(path.name + ".txt").write_text(_parquet_text(path), "utf-8")


def _parquet_text(path: Path) -> str:
    """Return the schema and rows of a Parquet file, which the standard library cannot read."""
    table = importlib.import_module("pyarrow.parquet").read_table(path)
    return f"{table.schema}\n" + "".join(f"{row}\n" for row in table.to_pylist())


class Record:
    """The output of calls, one file each."""

    def __init__(self, directory: Path = OUTPUT) -> None:
        self._directory = directory.resolve()
        self._count = 0

    def write(self, call: str, output: str) -> None:
        """Write the output of a call to a file whose name starts with a number."""
        self._count += 1
        name = re.sub(r"[^\w.=-]+", "_", call.removeprefix("fieldmark "))[:80]
        path = self._directory / f"{self._count:04} {name}.txt"
        text = f"$ {call}\n{output}"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")


# --- commands ------------------------------------------------------------------------------------


def _import_everything() -> None:
    """Import all modules once, so that commands, which run in forked processes, start quickly."""
    fieldmark = importlib.import_module("fieldmark")
    names = [module.name for module in pkgutil.walk_packages(fieldmark.__path__, "fieldmark.")]
    for name in (*names, "rich.table", "scipy.optimize", "ruamel.yaml", "pyarrow.parquet"):
        if not name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def run(
    words: list[str], *, directory: Path | None = None, stdin: Path | None = None, tty: bool = False
) -> str:
    """Run `fieldmark` in a forked process and return its exit code and output."""
    stdout, stderr = Path("stdout").resolve(), Path("stderr").resolve()
    terminal, program = pty.openpty() if tty else (-1, -1)
    process = os.fork()
    if process == 0:
        signal.alarm(SECONDS)
        with (stdin or Path(os.devnull)).open("rb") as source:
            os.dup2(source.fileno(), 0)
        with stdout.open("wb") as out, stderr.open("wb") as err:
            os.dup2(program if tty else out.fileno(), 1)
            os.dup2(err.fileno(), 2)
        os.chdir(directory or Path())
        os._exit(_exit_code(words))
    printed = b""
    if tty:
        os.close(program)
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            while block := os.read(terminal, 1 << 16):
                printed += block
        os.close(terminal)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    texts = (
        raw.decode("utf-8", "surrogateescape")
        for raw in (printed or stdout.read_bytes(), stderr.read_bytes())
    )
    return "[exit code {}]\n{}\n[standard error]\n{}".format(code, *texts)


def _exit_code(words: list[str]) -> int:
    """Run the command in this process and return its exit code."""
    sys.argv = ["fieldmark", *words]
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    code: object = 0
    try:
        importlib.import_module("fieldmark.cli.main").main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - what is not caught is an output, too
        traceback.print_exc()
        code = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


def _expanded(line: str) -> Iterator[str]:
    """Yield a line with all combinations of its words in braces, as a shell does."""
    texts: list[str] = []
    choices: list[str] = []
    for index, part in enumerate(_BRACES.split(line)):
        (choices if index % 2 else texts).append(part)
    for words in itertools.product(*(choice.split(",") for choice in choices)):
        yield texts[0] + "".join(map("".join, zip(words, texts[1:], strict=True)))


def _lines(name: str) -> Iterator[str]:
    """Yield the lines of a recorded file without comments, joined after a backslash."""
    text = (RECORDED / name).read_text("utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            yield from _expanded(line)


def _run_line(line: str, record: Record) -> None:
    command, _, source = line.partition(" < ")
    words = shlex.split(command)
    tty = words[0] == "tty"
    stdin = Path(source.strip()) if source else None
    record.write(line, run(words[1 + tty :], stdin=stdin, tty=tty))


def _copy_inputs() -> None:
    for name in ("sample", "starter", "examples", "data", "golden"):
        shutil.copytree(INPUTS / name, name)
    shutil.copytree(INPUTS / "files", Path(), dirs_exist_ok=True)


def record_commands() -> None:
    """Run the commands of `recorded/commands.txt`, and score the golden documents."""
    _import_everything()
    _copy_inputs()
    record = Record()
    for line in _lines("commands.txt"):
        _run_line(line, record)
    for file in sorted(Path("golden").glob("*/*case.json")):
        case = json.loads(file.read_text("utf-8"))
        inputs = case.get("inputs", ["truth.jsonl", "candidate.jsonl"])
        same = case["options"].values() if isinstance(case["options"], dict) else [case["options"]]
        for options in same:
            words = ["score", *inputs, *options, "--out", "run"]
            record.write(" ".join([*words, file.parent.name]), run(words, directory=file.parent))


def record_published() -> None:
    """Run the commands of `recorded/published.txt` on data sets that are not in the repository."""
    _import_everything()
    shutil.copytree(INPUTS / "published", "published")
    shutil.copytree(INPUTS / "examples", "examples")
    record = Record()
    for line in _lines("published.txt"):
        _run_line(line, record)


def record_help() -> None:
    """Run all commands with `--help`, each in a process that has imported nothing of fieldmark."""
    record = Record()

    def recorded(*words: str) -> str:
        output = run([*words, "--help"])
        record.write(" ".join([*words, "--help"]), output)
        return output

    for name in _COMMANDS.findall(recorded()):
        for subcommand in _COMMANDS.findall(recorded(name).partition("\nCommands:")[2]):
            recorded(name, subcommand)
    fieldmark = importlib.import_module("fieldmark")
    plain = pydoc.TextDoc()
    for name in sorted(fieldmark.__all__):
        value = getattr(fieldmark, name)
        record.write(f"help(fm.{name})", pydoc.plain(plain.document(value, name)))


def record_invalid() -> None:
    """Give every option of every command values that it may refuse, and check invalid rules."""
    _import_everything()
    _copy_inputs()
    record = Record()
    run(["score", "sample/truth.jsonl", "sample/candidate.jsonl", "--out", "runs/a"])
    run(["score", "sample/truth.jsonl", "sample/truth.jsonl", "--out", "runs/b"])
    for file in sorted((INPUTS / "options").glob("*.txt")):
        for line in file.read_text("utf-8").splitlines():
            _run_line(line, record)
    for directory in sorted((INPUTS / "invalid").iterdir()):
        files = [path.as_posix() for path in sorted(directory.iterdir())]
        record.write(f"validate {directory.name}", run(["validate", *files]))
    for settings in sorted((INPUTS / "settings").iterdir()):
        shutil.copy(settings, "fieldmark.toml")
        text = settings.read_text("utf-8").replace("\n", " ")
        command = text.split("]")[0].removeprefix("[")
        words = shlex.split((INPUTS / "valid" / f"{command}.txt").read_text("utf-8"))
        record.write(f"{command} with {text}", run(words))


# --- documentation -------------------------------------------------------------------------------


def record_docs() -> None:
    """Run the examples of the documentation, and record what they print."""
    _import_everything()
    sys.path.insert(0, str(INPUTS.resolve()))
    pages = importlib.import_module("pages")
    for file in sorted((INPUTS / "docs").rglob("*.md")):
        name = file.relative_to(INPUTS / "docs").with_suffix("").as_posix().replace("/", "-")
        directory = Path(name).resolve()
        directory.mkdir()
        for data in (INPUTS / "sample").glob("*.jsonl"):
            shutil.copy(data, directory)
        output = OUTPUT / name
        output.mkdir()
        _record_page(pages.blocks(file.read_text("utf-8")), directory, Record(output))


def _record_page(blocks: Iterable[object], directory: Path, record: Record) -> None:
    """Run the blocks of a page as its test does."""
    namespace: dict[str, object] = {}
    for block in blocks:
        body, file = str(block.body), block.option("file")  # type: ignore[attr-defined]
        language = block.language  # type: ignore[attr-defined]
        if file is not None:
            (directory / file).write_text(body, "utf-8")
        if language == "python" and ">>>" in body and "skip" not in block.words:  # type: ignore[attr-defined]
            with contextlib.chdir(directory):
                for example in doctest.DocTestParser().get_examples(body):
                    record.write(
                        example.source.partition("\n")[0], _printed(example.source, namespace)
                    )
        elif language == "console" and block.runs():  # type: ignore[attr-defined]
            for command, _ in block.commands():  # type: ignore[attr-defined]
                record.write(command, _run_in_directory(command, directory))


def _run_in_directory(command: str, directory: Path) -> str:
    words = shlex.split(command)
    if words[0] == "fieldmark" and not _SHELL_SYNTAX.search(command):
        return run(words[1:], directory=directory)
    done = subprocess.run(  # noqa: S603 - it is our own documentation
        ["bash", "-c", command],  # noqa: S607
        cwd=directory,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return f"[exit code {done.returncode}]\n{done.stdout}"


# --- Python --------------------------------------------------------------------------------------


def _printed(source: str, namespace: dict[str, object]) -> str:
    """Run statements; return what they print, the values of expressions, and an exception."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            for statement in ast.parse(source).body:
                if isinstance(statement, ast.Expr):
                    code = compile(ast.Expression(statement.value), "calls", "eval")
                    value = eval(code, namespace)  # noqa: S307 - it is our own source
                    if value is not None:
                        print(value if isinstance(value, str) else repr(value))
                else:
                    exec(compile(ast.Module([statement], []), "calls", "exec"), namespace)  # noqa: S102
        except Exception as error:  # noqa: BLE001 - errors are outputs, too
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")
    return output.getvalue()


def record_python() -> None:
    """Run the statements of `recorded/calls.txt`."""
    _copy_inputs()
    record = Record()
    namespace: dict[str, object] = {}
    for line in _lines("calls.txt"):
        record.write(line, _printed(line, namespace))


def record_random() -> None:
    """Compare random pairs with random rules, one by one and in batches."""
    fm = importlib.import_module("fieldmark")

    def outcome(call: Callable[[], object]) -> str:
        try:
            return json.dumps(call())
        except fm.FieldmarkError as error:
            return f"{type(error).__name__}: {error}"

    def all_of(result: object) -> object:
        return [result.to_dict(), *(case.to_dict() for case in result.cases)]  # type: ignore[attr-defined]

    with (
        (INPUTS / "pairs.jsonl").open(encoding="utf-8") as pairs,
        (OUTPUT / "pairs.jsonl").open("w", encoding="utf-8") as output,
    ):
        for number, line in enumerate(pairs, start=1):
            pair = json.loads(line)
            text = outcome(lambda pair=pair: fm.compare(**pair).to_dict())  # type: ignore[misc]
            output.write(f"{number} {text}\n")
    with (
        (INPUTS / "batches.jsonl").open(encoding="utf-8") as batches,
        (OUTPUT / "batches.jsonl").open("w", encoding="utf-8") as output,
    ):
        for number, line in enumerate(batches, start=1):
            text = outcome(lambda line=line: all_of(fm.score(**json.loads(line))))  # type: ignore[misc]
            output.write(f"{number} {text}\n")


# --- HTTP ----------------------------------------------------------------------------------------


class Server:
    """A running `fieldmark serve`."""

    def __init__(self, *options: str) -> None:
        log = Path("server.log")
        with log.open("w", encoding="utf-8") as stream:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "fieldmark", "serve", "--port=0", "--no-browser", *options],
                stdout=stream,
                stderr=stream,
            )
        deadline = time.monotonic() + SECONDS
        while (match := _ADDRESS.search(log.read_text("utf-8"))) is None:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the server does not start: {log.read_text('utf-8')}")
            time.sleep(0.1)
        log.write_text("", "utf-8")  # the address and the token differ
        self._port, self._token = int(match[1]), match[2]

    def send(self, method: str, path: str, body: str | None) -> tuple[str, str]:
        """Send a request; return status, headers and body as text, and the body alone."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body and body.encode(), headers)
        response = connection.getresponse()
        content = response.read()
        # The date is the time of the response, and the length follows from the body.
        shown = [
            f"{name}: {value}"
            for name, value in sorted(response.getheaders())
            if name.lower() not in {"date", "content-length"}
        ]
        connection.close()
        text = content.decode("utf-8", "backslashreplace")
        text = text.replace(f"127.0.0.1:{self._port}", "<address>").replace(self._token, "<token>")
        return "\n".join([f"{response.status} {response.reason}", *shown, "", text]), text

    def stop(self) -> None:
        """End the server as a terminal does, so that it deletes temporary files."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


def record_http() -> None:
    """Send the requests of `recorded/requests.txt` to a server, and invalid forms of them."""
    _copy_inputs()
    _import_everything()
    record = Record()
    for line in _lines("workspace.txt"):
        _run_line(line, record)
    server = Server("--workspace", "workspace", "--write", "--root", "sample", "--pages", "pages")
    try:
        _send_all(server, record)
    finally:
        server.stop()


def _send_all(server: Server, record: Record) -> None:
    names: dict[str, str] = {}
    repeated: set[tuple[str, str]] = set()

    def send(line: str) -> None:
        filled = _PLACEHOLDER.sub(lambda match: names.get(match[1], match[0]), line)
        method, path, *rest = filled.split(" ", 2)
        output, content = server.send(method, path, rest[0] if rest else None)
        _remember(content, names)
        record.write(line, output)
        if output.startswith("202"):  # a job, whose next states depend on time
            record.write(f"job of {line}", _finished(server, names["id"]))

    for line in (RECORDED / "requests.txt").read_text("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        send(line)
        method, path, *rest = line.split(" ", 2)
        route = (method, path.partition("?")[0])
        if rest and route not in repeated:
            repeated.add(route)
            for body in _changed(json.loads(_PLACEHOLDER.sub("1", rest[0]))):
                send(f"{method} {path} {json.dumps(body)}")


def _remember(content: str, names: dict[str, str]) -> None:
    """Keep the ids in a response, for the requests that follow."""
    for key in ("id", "case", "path", "values_hash"):
        if (match := re.search(rf'"{key}":\s*(?:"([^"]+)"|(\d+))', content)) is not None:
            names[key] = match[1] or match[2]


def _finished(server: Server, job: str) -> str:
    """Ask for a job until it has ended, and return the last response."""
    deadline = time.monotonic() + SECONDS
    while True:
        output, content = server.send("GET", f"/api/jobs/{job}", None)
        if not re.search(r'"state":\s*"(queued|running|waiting)"', content):
            return output
        if time.monotonic() > deadline:
            return "the job does not end"
        time.sleep(0.02)


def _changed(body: object) -> Iterator[object]:
    """Yield invalid forms of a body: with an unknown key, and with other values of each key."""
    if not isinstance(body, Mapping):
        return
    yield {**body, "unknown_key": 1}
    for key, value in body.items():
        yield {name: kept for name, kept in body.items() if name != key}
        for changed in _CHANGED_BODIES:
            if changed != value:
                yield {**body, key: changed}


# --- MCP -----------------------------------------------------------------------------------------


def record_mcp() -> None:
    """Call the tools of `fieldmark mcp`, one request after the other."""
    _copy_inputs()
    run(["score", "sample/truth.jsonl", "sample/candidate.jsonl", "--out", "runs/a"])
    run(["score", "sample/truth.jsonl", "sample/truth.jsonl", "--out", "runs/b"])
    record = Record()
    with (
        Path("mcp.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [sys.executable, "-m", "fieldmark", "mcp", "--root", "."],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None  # noqa: S101 - for mypy
        assert process.stdout is not None  # noqa: S101
        for line in (RECORDED / "mcp.jsonl").read_text("utf-8").splitlines():
            message = json.loads(line)
            print(line, file=process.stdin, flush=True)
            if "id" in message:
                record.write(line, _response(process.stdout))


def _response(stream: IO[str]) -> str:
    """Return the next response; notifications are skipped."""
    while line := stream.readline():
        if "id" in json.loads(line):
            return line
    return "[no response]"


PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "cli": record_commands,
    "docs": record_docs,
    "help": record_help,
    "http": record_http,
    "invalid": record_invalid,
    "mcp": record_mcp,
    "published": record_published,
    "python": record_python,
    "random": record_random,
}

if __name__ == "__main__":
    main()
