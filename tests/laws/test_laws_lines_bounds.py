"""The compiled part touches no byte beyond its blocks and lines, whatever the bytes are.

It is compiled once more, so that every access is checked, and tried in a process of its own.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BLOCKS = 30_000 if os.environ.get("FIELDMARK_PROVE") == "1" else 1_500
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")  # fmt: skip
BROKEN = {
    "the-end-of-a-text": ("while (reader->at < reader->end) {", "while (reader->at <= reader->end) {"),
    "the-rest-of-a-letter": ("|| left < length)", "|| left < length - 1)"),
    "the-end-of-a-key": ("reader->at < reader->end && *reader->at != '\"'", "*reader->at != '\"'"),
    "the-end-of-a-number": ("while (reader->at < reader->end && *reader->at >= '0'", "while (*reader->at >= '0'"),
    "the-end-of-a-word": ("reader->end - reader->at < length ||", ""),
    "the-end-of-an-escape": ("reader->end - reader->at < 2 || strchr", "strchr"),
    "the-end-of-blanks": ("while (reader->at < reader->end\n           && (*reader", "while ((*reader"),
    "the-places-of-a-line": ("PyObject_NewVar(Line, &LineType, places)", "PyObject_NewVar(Line, &LineType, places - 1)"),
}  # fmt: skip
"""Guards, and what takes each of them away."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizer is that of Linux")


def build_hook():
    """The module that compiles when the package is installed; it is no part of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = build_hook()
SOURCE = ROOT / BUILD.SOURCE


def sanitizer():
    """The library that has to be loaded before everything else."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()[0]
    asked = [compiler, "-print-file-name=libasan.so"]
    path = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    assert Path(path).is_absolute(), "the address sanitizer is needed: it comes with gcc"
    return path


def tried(source, folder, blocks):
    """How a process ends that tries so many blocks on this source."""
    module = folder / f"_lines{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert BUILD.compile_module(source, module, *CHECKS) == ""
    return subprocess.run(
        [sys.executable, HERE / "sanitized_lines.py", module, str(blocks), "1"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTHONMALLOC": "malloc",  # so that every object has bounds of its own
            "LD_PRELOAD": sanitizer(),
            "ASAN_OPTIONS": "detect_leaks=0",
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,
    )


def test_no_byte_is_touched_beyond_the_end(tmp_path):
    done = tried(SOURCE, tmp_path, BLOCKS)
    assert done.returncode == 0, done.stderr[-3000:]
    accepted, refused = map(int, done.stdout.split())
    assert accepted + refused == 2 * BLOCKS


@pytest.mark.parametrize("guard", BROKEN if BLOCKS > 10_000 else ["the-rest-of-a-letter"])
def test_it_is_seen_when_a_guard_is_gone(tmp_path, guard):
    whole = shutil.copy(SOURCE, tmp_path)
    text, (there, gone) = Path(whole).read_text(), BROKEN[guard]
    assert text.count(there) == 1
    Path(whole).write_text(text.replace(there, gone))
    done = tried(Path(whole), tmp_path, 1_500)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr, done.stderr[-3000:]
