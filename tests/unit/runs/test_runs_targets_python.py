"""The Python target: return values and failures."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from fieldmark.judges import retry
from fieldmark.model.json import MISSING
from fieldmark.runs.targets import python
from fieldmark.runs.targets.python import PythonTarget
from fieldmark.runs.targets.target import TargetResponse
from waiting import TIMEOUT, eventually

REQUEST = {"case_id": "a", "input": {"pages": [1]}, "question": "", "metadata": {}}


@pytest.fixture
def call(tmp_path):
    """Call a function from a file."""

    def ask(source, timeout=TIMEOUT, request=REQUEST, name="run", **options):
        (tmp_path / "extract.py").write_text(source, "utf-8")
        target = PythonTarget(function=f"extract.py:{name}", cwd=tmp_path, **options)
        assert target.unready() is None
        with target.opened(timeout) as called:
            return called(request)

    return ask


@pytest.mark.parametrize(
    ("source", "text", "value"),
    [
        pytest.param("def run(case): return {'total': 1}", None, {"total": 1}, id="value"),
        pytest.param("def run(case): return 'Total: 1'", "Total: 1", MISSING, id="text"),
        pytest.param("def run(case): return None", None, None, id="nothing-is-null"),
        pytest.param("def run(case): return (1, 2)", None, [1, 2], id="tuple-is-a-list"),
        pytest.param("async def run(case): return [1]", None, [1], id="coroutine"),
        pytest.param("from pydantic import BaseModel\nclass Line(BaseModel):\n  n: int = 1\nrun = lambda case: [Line()]", None, [{"n": 1}], id="models"),
        pytest.param("import datetime\nrun = lambda case: {'at': datetime.date(2024, 5, 3)}", None, {"at": "2024-05-03"}, id="dates"),
        pytest.param("class run:\n  def __new__(cls, case): return 1", None, 1, id="anything-callable"),
        pytest.param("def run(case): return case['case_id']", "a", MISSING, id="what-it-was-given"),
        pytest.param("def run(case): return case['config']", None, {"model": "m"}, id="its-configuration"),
    ],
)  # fmt: skip
def test_return_value_is_the_response(call, source, text, value):
    assert call(source, config={"model": "m"}) == TargetResponse(text=text, value=value)


@pytest.mark.parametrize(
    ("source", "reason", "transient"),
    [
        pytest.param("def run(case): return case['nothing']", "raised: KeyError: 'nothing'", False, id="raises"),
        pytest.param("def run(case): raise ValueError", "the function raised: ValueError", False, id="exception-without-message"),
        pytest.param("def run(case): raise SystemExit(3)", "raised: SystemExit: 3", False, id="wants-to-end-the-program"),
        pytest.param("def run(case): raise KeyboardInterrupt", "raised: KeyboardInterrupt", False, id="interrupts"),
        pytest.param("def run(case): raise ConnectionResetError('cut')", "cut", True, id="failed-connection"),
        pytest.param("def run(case): raise TimeoutError('late')", "late", True, id="own-timeout-error"),
        pytest.param("async def run(case): raise OSError('no')", "OSError: no", False, id="coroutine-that-raises"),
        pytest.param("def run(case): return {1: 2}", "invalid return value: key 1 is not a string", False, id="key-that-is-not-a-text"),
        pytest.param("def run(case): return {'a': b'x'}", "invalid return value: a: bytes is not a JSON", False, id="value-without-json-equivalent"),
        pytest.param("def run(case):\n  a = []\n  a.append(a)\n  return a", "nesting exceeds the limit of 200 levels", False, id="recursive-value"),
        pytest.param("def run(): return 1", "TypeError", False, id="takes-no-case"),
    ],
)  # fmt: skip
def test_exceptions_are_failures(call, source, reason, transient):
    result = call(source)
    assert (result.text, result.value, result.transient) == (None, MISSING, transient)
    assert reason in result.failure


@pytest.mark.parametrize(
    ("function", "sleep"),
    [
        pytest.param("def run", "time.sleep", id="function"),
        pytest.param("async def run", "await asyncio.sleep", id="coroutine"),
    ],
)
def test_call_that_times_out_is_abandoned_and_not_retried(
    call, function, sleep, tmp_path, monkeypatch
):
    monkeypatch.setattr(python, "_CANCEL_DELAY", TIMEOUT)
    over = tmp_path / "over"
    result = call(
        "import asyncio, pathlib, time\n"
        f"{function}(case):\n"
        "    while not pathlib.Path(case['config']['over']).exists():\n"
        f"        {sleep}(0.01)\n",
        timeout=0.2,
        config={"over": str(over)},
    )
    over.touch()
    assert result == TargetResponse(failure="no response within 0.2 s")


def test_coroutine_that_times_out_is_cancelled(call, tmp_path):
    trace = tmp_path / "cancelled"
    call(
        "import asyncio, pathlib\n"
        "async def run(case):\n"
        "    try:\n"
        f"        await asyncio.sleep({10 * TIMEOUT})\n"
        "    finally:\n"
        "        pathlib.Path(case['config']['trace']).touch()\n",
        timeout=0.1,
        config={"trace": str(trace)},
    )
    assert eventually(trace.exists)


def test_number_of_abandoned_calls_is_limited(monkeypatch):
    monkeypatch.setattr(retry, "MAX_OVERDUE", 2)
    limit = retry.TimeLimit(0.05)
    over = threading.Event()
    for _ in range(2):
        with pytest.raises(retry.OverdueError, match="no response within"):
            limit.call(lambda: over.wait(TIMEOUT))
    with pytest.raises(retry.OverdueError, match="not called: 2 overdue calls are still running"):
        limit.call(lambda: 1)
    over.set()
    assert eventually(lambda: not limit._overdue)
    limit.seconds = TIMEOUT
    assert limit.call(lambda: 1) == 1


def test_function_cannot_modify_the_request_of_others(call):
    request = json.loads(json.dumps(REQUEST))
    call(
        "def run(case):\n    case['input']['pages'].append(2)\n    case['config']['x'].clear()",
        request=request,
        config={"x": [1]},
    )
    assert request == REQUEST


def test_return_value_is_copied(call):
    result = call("kept = {'a': [1]}\ndef run(case):\n    kept['a'].append(1)\n    return kept")
    assert result.value == {"a": [1, 1]}
    module = next(m for n, m in list(sys.modules.items()) if n.startswith("_fieldmark_target_") and hasattr(m, "kept") and m.kept["a"] == [1, 1])  # fmt: skip
    module.kept["a"].append(2)
    assert result.value == {"a": [1, 1]}


def test_secret_in_an_exception_is_hidden(call, monkeypatch):
    monkeypatch.setenv("FM_API_KEY", "sentinel-4711")
    result = call(
        "import os\ndef run(case): raise ValueError('refused: ' + os.environ['FM_API_KEY'])"
    )
    assert "ValueError: refused: " in result.failure
    assert "sentinel" not in result.failure


def test_function_may_be_in_a_class(call):
    source = "class Extractor:\n    @staticmethod\n    def run(case): return 7"
    assert call(source, name="Extractor.run").value == 7


def test_module_is_imported_from_the_working_directory(tmp_path):
    package = tmp_path / "fm_test_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "extract.py").write_text("import fm_test_beside\nrun = fm_test_beside.run", "utf-8")
    (tmp_path / "fm_test_beside.py").write_text("def run(case): return 7", "utf-8")
    before = list(sys.path)
    target = PythonTarget(function="fm_test_package.extract:run", cwd=tmp_path)
    assert target.unready() is None
    with target.opened(TIMEOUT) as ask:
        assert ask(REQUEST).value == 7
    assert sys.path == before


def test_file_can_import_from_its_directory(tmp_path):
    directory = tmp_path / "judges"
    directory.mkdir()
    (directory / "one.py").write_text(
        "def run(case):\n    import fm_test_lazily\n    return fm_test_lazily.answer", "utf-8"
    )
    (directory / "fm_test_lazily.py").write_text("answer = 8", "utf-8")
    with PythonTarget(function="judges/one.py:run", cwd=tmp_path).opened(TIMEOUT) as ask:
        assert ask(REQUEST).value == 8


def test_file_is_loaded_once_unless_it_changes(tmp_path):
    file = tmp_path / "extract.py"
    source = "import pathlib\nlog = pathlib.Path(__file__).with_name('log')\nlog.write_text(log.read_text() + 'x' if log.exists() else 'x')\ndef run(case): return {}"
    target = PythonTarget(function="extract.py:run", cwd=tmp_path)
    for number, loads in ((1, 1), (1, 1), (2, 2)):
        file.write_text(source.format(number), "utf-8")
        assert target.unready() is None
        with target.opened(TIMEOUT) as ask:
            assert ask(REQUEST).value == number
        assert (tmp_path / "log").read_text("utf-8") == "x" * loads


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        pytest.param("crash.py:run", "RuntimeError: at once", id="module-that-raises"),
        pytest.param("exits.py:run", "SystemExit", id="module-that-exits"),
        pytest.param("good.py:number", "TypeError: number is not callable", id="no-function"),
    ],
)
def test_function_that_cannot_be_loaded_is_found_before_the_run(tmp_path, function, reason):
    for name, source in {
        "crash.py": "raise RuntimeError('at once')",
        "exits.py": "raise SystemExit",
        "good.py": "number = 1",
    }.items():
        (tmp_path / name).write_text(source, "utf-8")
    target = PythonTarget(function=function, cwd=tmp_path)
    message = target.unready()
    assert message == target.unready()
    assert message.startswith(f"cannot load {function}: ")
    assert reason in message


def test_identity_changes_with_the_file_and_the_configuration(tmp_path):
    file = tmp_path / "extract.py"
    file.write_text("def run(case): return 1", "utf-8")
    target = PythonTarget(function="extract.py:run", cwd=tmp_path)
    first = target.identity()
    assert first == target.identity()
    configured = PythonTarget(function="extract.py:run", cwd=tmp_path, config={"a": 1})
    assert configured.identity() != first
    file.write_text("def run(case): return 2", "utf-8")
    assert target.identity() != first
