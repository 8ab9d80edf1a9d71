"""Runs the shell steps of a composite action as GitHub does, without GitHub.

Steps that use other actions are recorded with their inputs, and do nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "bash"
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
TERM = re.compile(r"'[^']*'|[()]|&&|\|\||==|!=|[\w.-]+")
OPERATORS = {"&&": "and", "||": "or", "==": "==", "!=": "!=", "(": "(", ")": ")"}


def load(name):
    return YAML(typ="safe").load((ROOT / name).read_text("utf-8"))


@dataclass
class ActionRun:
    """What a run of an action did: its outputs, log, exit code and uses of other actions."""

    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    code: int = 0
    used: list[tuple[str, dict]] = field(default_factory=list)
    summary: str = ""


class CompositeAction:
    def __init__(self, directory: Path, temporary: Path, *, python: str, api: str = ""):
        """`python` replaces the interpreter that the first step installs."""
        self.action = load("action.yml")
        self.directory = directory
        self.temporary = temporary
        self.python = python
        self.api = api
        self.number = 0

    def run(self, event=None, **inputs):
        self.number += 1
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= self.action["inputs"].keys()
        defaults = {name: each["default"] for name, each in self.action["inputs"].items()}
        self.context = {
            "github.token": "secret-token",
            "github.run_id": str(self.number),
            "github.run_attempt": "1",
            "steps.install.outputs.python": self.python,
        }
        for name, value in {**defaults, **given}.items():
            self.context[f"inputs.{name}"] = self.fill(value)
        files = {name: self.temporary / f"{name}-{self.number}" for name in ("event", "summary")}
        files["event"].write_text(json.dumps(event or {}), "utf-8")
        done = ActionRun()
        for step in self.action["runs"]["steps"]:
            if step.get("id") == "install" or not self.holds(step.get("if", "'true'")):
                continue
            if "uses" in step:
                inputs = {name: self.fill(value) for name, value in step["with"].items()}
                done.used.append((step["uses"], inputs))
                continue
            code, log = self.step(step, files)
            done.log += log
            if code:
                done.code = code
                break
        for name, each in self.action["outputs"].items():
            done.outputs[name] = self.fill(each["value"])
        done.summary = files["summary"].read_text("utf-8") if files["summary"].exists() else ""
        return done

    def step(self, step, files):
        """Run a shell step; its outputs are added to the context."""
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input could contain shell commands"
        output = self.temporary / "output"
        output.write_text("", "utf-8")
        environment = {
            **os.environ,
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api,
            "GITHUB_EVENT_PATH": str(files["event"]),
            "GITHUB_GRAPHQL_URL": f"{self.api}/graphql",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_RUN_ATTEMPT": self.context["github.run_attempt"],
            "GITHUB_RUN_ID": self.context["github.run_id"],
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "RUNNER_TEMP": str(self.temporary),
            **{name: self.fill(value) for name, value in step.get("env", {}).items()},
        }
        script = self.temporary / "script.sh"
        script.write_text(step["run"], "utf-8")
        done = subprocess.run(
            [BASH, "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.directory / self.fill(step.get("working-directory", ".")),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        for line in output.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            self.context[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode, done.stdout

    def fill(self, text):
        """Replace the expressions in a text."""
        return EXPRESSION.sub(lambda found: self.value(found[1]), text)

    def value(self, name):
        known = name.startswith("steps.") or name in self.context
        assert known, f"unknown name {name}"
        return self.context.get(name, "")

    def holds(self, condition):
        """Evaluate a condition of comparisons."""
        words = [
            OPERATORS.get(word) or repr(word[1:-1] if word[0] == "'" else self.value(word))
            for word in TERM.findall(condition)
        ]
        return bool(eval(" ".join(words)))  # noqa: S307 - operators and strings only
