"""Compile the kernel of the package if a C compiler is available.

Without the kernel, the package works the same, only slower.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("src/fieldmark/model/kernel")
"""The directory of the C files, which make up one module."""
MODULE = "_kernel"
FLAGS = (
    "-std=c11",
    "-O3",
    "-ffp-contract=off",  # sums of similarities are those of Python, bit for bit
    "-DNDEBUG",
    "-Wall",
    "-Wextra",
    "-fPIC",
    "-fvisibility=hidden",
    "-shared",
)


MSVC_FLAGS = ("/nologo", "/std:c11", "/O2", "/fp:precise", "/DNDEBUG", "/W3", "/MD", "/LD")
"""With /fp:precise, sums of similarities are those of Python as well."""
SYSTEM = sys.platform


class KernelBuilder(BuildHookInterface[Any]):
    """Place the kernel next to its source, and add it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel before the files of a wheel are collected."""
        del version
        if self.target_name != "wheel":
            return
        sources = Path(self.root) / SOURCES
        compiled = sources / f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
        failure = compile_module(sources, compiled)
        if failure:
            compiled.unlink(missing_ok=True)  # built from older source
            self.app.display_warning(
                f"cannot compile the kernel; the package will be slower: {failure}"
            )
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append(str(compiled.relative_to(self.root)))


def compile_module(sources: Path, compiled: Path, *extra: str) -> str:
    """Compile the C files of a directory; return the reason if that fails, else an empty string."""
    with tempfile.TemporaryDirectory(dir=compiled.parent) as scratch:
        output = Path(scratch) / compiled.name
        try:
            command, environment = _command(sources.absolute(), output.absolute(), extra)
            subprocess.run(  # noqa: S603 - the configured compiler
                command,
                env=environment,
                cwd=scratch,
                check=True,
                capture_output=True,
                text=True,
                errors="replace",
            )
            output.replace(compiled)
        except OSError as error:
            return str(error)
        except subprocess.CalledProcessError as error:
            output_lines = (error.stderr.strip() or error.stdout.strip() or str(error)).splitlines()
            return str(output_lines[-1])
    return ""


def _command(
    sources: Path, output: Path, extra: Sequence[str]
) -> tuple[list[str], dict[str, str] | None]:
    """Return the command of the compiler of this system, and its environment."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    include = sysconfig.get_paths()["include"]
    files = [str(path) for path in sorted(sources.glob("*.c"))]
    if not compiler or Path(compiler[0]).stem.lower() in {"cl", "clang-cl"}:
        environment = None
        if SYSTEM == "win32" and shutil.which(compiler[0] if compiler else "cl") is None:
            environment = _visual_studio()
            compiler = [shutil.which("cl", path=environment.get("PATH")) or "cl"]
        command = [
            *(compiler or ["cl"]),
            *MSVC_FLAGS,
            *extra,
            f"/I{include}",
            *files,
            f"/Fe{output}",
            "/link",
            f"/LIBPATH:{Path(sys.base_prefix) / 'libs'}",
        ]
        return command, environment
    link: list[str] = []
    if SYSTEM == "darwin":
        link = ["-undefined", "dynamic_lookup", *shlex.split(os.environ.get("ARCHFLAGS", ""))]
    command = [*compiler, *FLAGS, *link, *extra, "-isystem", include, *files]
    return [*command, "-o", str(output)], None


def _visual_studio() -> dict[str, str]:
    """Return the environment in which the compiler of Visual Studio is found."""
    installer = Path(os.environ.get("PROGRAMFILES(X86)", ""), "Microsoft Visual Studio/Installer")
    tools = "Microsoft.VisualStudio.Component.VC.Tools.x86.x64"
    options = ("-latest", "-products", "*", "-requires", tools, "-property", "installationPath")
    found = subprocess.run(  # noqa: S603 - it is always there if Visual Studio is
        [str(installer / "vswhere.exe"), *options], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not found:
        raise FileNotFoundError("no C compiler found; install the Visual Studio Build Tools")
    script = Path(found, "VC/Auxiliary/Build/vcvarsall.bat")
    machine = {"win32": "x86", "win-arm64": "arm64"}.get(sysconfig.get_platform(), "amd64")
    with tempfile.TemporaryDirectory() as scratch:
        batch = Path(scratch, "environment.bat")
        batch.write_text(f'@call "{script}" {machine} >nul && set\n', "utf-8")
        printed = subprocess.run(  # noqa: S603
            ["cmd", "/u", "/c", str(batch)],  # noqa: S607 - part of Windows
            check=True,
            capture_output=True,
        ).stdout.decode("utf-16-le", "replace")
    lines = (line.partition("=") for line in printed.splitlines() if "=" in line)
    return {name.upper(): value for name, _, value in lines}
