"""Compile the kernel of the package if a C compiler is available.

Without the kernel, the package works the same, only slower.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/fieldmark/model/_kernel.c")
FLAGS = (
    "-std=c11",
    "-O3",
    "-ffp-contract=off",  # sums of similarities are those of Python, bit for bit
    "-DNDEBUG",
    "-Wall",
    "-Wextra",
    "-fPIC",
    "-shared",
)


class KernelBuilder(BuildHookInterface[Any]):
    """Place the kernel next to its source, and add it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel before the files of a wheel are collected."""
        del version
        if self.target_name != "wheel":
            return
        source = Path(self.root) / SOURCE
        compiled = source.with_suffix(str(sysconfig.get_config_var("EXT_SUFFIX")))
        failure = compile_module(source, compiled)
        if failure:
            compiled.unlink(missing_ok=True)  # built from older source
            self.app.display_warning(
                f"cannot compile {source.name}; the package will be slower: {failure}"
            )
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append(str(compiled.relative_to(self.root)))


def compile_module(source: Path, compiled: Path, *extra: str) -> str:
    """Compile one module; return the reason if that fails, else an empty string."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC")
    if sys.platform == "win32" or not compiler:
        return "no C compiler found"
    link = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    include = ("-isystem", sysconfig.get_paths()["include"])
    scratch = compiled.with_suffix(f".{os.getpid()}.new")
    command = [*shlex.split(compiler), *FLAGS, *link, *extra, *include]
    try:
        subprocess.run(  # noqa: S603 - the configured compiler
            [*command, str(source), "-o", str(scratch)], check=True, capture_output=True, text=True
        )
    except OSError as error:
        return str(error)
    except subprocess.CalledProcessError as error:
        return (error.stderr.strip() or str(error)).splitlines()[-1]
    scratch.replace(compiled)
    return ""
