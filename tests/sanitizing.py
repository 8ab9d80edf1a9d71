"""Compiles a part of the package once more, so that every access is checked, and tries it.

A script tries it in a process of its own, which a byte that is touched beyond any bounds ends.
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

__all__ = ["CHECKED", "PROVING", "ROOT", "broken", "guarded", "load", "tried"]

ROOT = Path(__file__).parents[1]
PROVING = os.environ.get("FIELDMARK_PROVE") == "1"
CHECKED = sys.platform == "linux"
"""Whether there is a sanitizer: it is that of Linux."""
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")  # fmt: skip


def build_hook():
    """The module that compiles when the package is installed; it is no part of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sanitizer():
    """The library that has to be loaded before everything else."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()[0]
    asked = [compiler, "-print-file-name=libasan.so"]
    path = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    assert Path(path).is_absolute(), "the address sanitizer is needed: it comes with gcc"
    return path


def tried(script, source, folder, times):
    """How a process ends in which a script tries this source so many times."""
    module = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert build_hook().compile_module(source, module, *FLAGS) == ""
    return subprocess.run(
        [sys.executable, script, module, str(times), "1"],
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


def broken(source, folder, there, gone):
    """A copy of a source in which a guard is gone."""
    copy = Path(shutil.copy(source, folder))
    text = copy.read_text()
    assert text.count(there) == 1
    copy.write_text(text.replace(there, gone))
    return copy


def load(name: str, path: str) -> None:
    """Let the package find a module that was compiled for a trial."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def guarded(block: bytes) -> bytes:
    """A block whose end is watched: the zero that Python puts behind all bytes is out of bounds."""
    fresh = bytes(bytearray(block))
    if fresh:
        end = id(fresh) + bytes.__basicsize__ - 1 + len(fresh)
        ctypes.CDLL(None).__asan_poison_memory_region(ctypes.c_void_p(end), ctypes.c_size_t(1))
    return fresh
