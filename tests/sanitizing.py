"""Compiles an extension with the address sanitizer, and runs a script with it.

The script runs in its own process, which ends at the first access out of bounds.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

__all__ = ["CHECKED", "ROOT", "build_hook", "guarded", "load", "run_sanitized", "without_guard"]

ROOT = Path(__file__).parents[1]
CHECKED = sys.platform == "linux"
"""Whether the address sanitizer is available, which requires Linux."""
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")  # fmt: skip


def build_hook():
    """Return the build hook, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sanitizer():
    """Return the library that must be preloaded."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()[0]
    command = [compiler, "-print-file-name=libasan.so"]
    path = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert Path(path).is_absolute(), "the address sanitizer is required; it is part of gcc"
    return path


def run_sanitized(script, sources, directory, times, seed=1):
    """Run a script with the C files of a directory compiled, in its own process."""
    hook = build_hook()
    module = directory / f"{hook.MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert hook.compile_module(sources, module, *FLAGS) == ""
    return subprocess.run(
        [sys.executable, script, module, str(times), str(seed)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTHONMALLOC": "malloc",  # so that every object has its own bounds
            "LD_PRELOAD": sanitizer(),
            "ASAN_OPTIONS": "detect_leaks=0",
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,
    )


def without_guard(sources, directory, guard, replacement):
    """Return a copy of a directory of C files in which a bounds check is replaced."""
    copy = Path(shutil.copytree(sources, directory / "sources"))
    [file] = [path for path in copy.glob("*.[ch]") if guard in path.read_text()]
    text = file.read_text()
    assert text.count(guard) == 1
    file.write_text(text.replace(guard, replacement))
    return copy


def load(name: str, path: str) -> None:
    """Import a compiled extension under its name in the package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def guarded(block: bytes) -> bytes:
    """Return a block whose terminating zero byte is out of bounds."""
    fresh = bytes(bytearray(block))
    if fresh:
        end = id(fresh) + bytes.__basicsize__ - 1 + len(fresh)
        ctypes.CDLL(None).__asan_poison_memory_region(ctypes.c_void_p(end), ctypes.c_size_t(1))
    return fresh
