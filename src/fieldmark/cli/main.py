"""The `fieldmark` command: loads subcommands lazily and converts errors to exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import click

from fieldmark.cli.exit_codes import MEANINGS, ExitCode
from fieldmark.cli.help import HelpGroup, option
from fieldmark.cli.streams import output_error, print_message, write_stdout
from fieldmark.errors import FieldmarkError, RunLockedError, StorageError
from fieldmark.runs.gc_tuning import relaxed_gc

GROUPS: Final = {
    "Score": {
        "score": ("score", "Score predictions against ground truth."),
        "eval": ("eval", "Run eval files: evaluators, judges and gates."),
        "demo": ("demo", "Score the bundled sample documents."),
    },
    "Understand": {
        "show": ("show", "List the worst cases of a run, or show one case."),
        "explain": ("explain", "Explain the outcome of one field of a case."),
        "improve": ("improve", "Show what to fix first in the extraction."),
        "slices": ("slices", "Find slices of a run that are weaker than the other cases."),
        "lint": ("lint", "Find likely faults in ground truth."),
        "review": ("review", "Show the decisions of people on a run, and their effect."),
    },
    "Compare": {
        "diff": ("diff", "Compare two runs and test the difference for significance."),
        "rank": ("rank", "Rank several runs and test every pair for significance."),
        "consensus": ("consensus", "Combine several predictions and show where they disagree."),
        "power": ("power", "Compute how many cases a gate needs to detect a drop."),
    },
    "Rules": {
        "infer": ("infer", "Propose a rules file from data."),
        "rescore": ("rescore", "Apply other rules or another convention to a saved run."),
        "preview": ("preview", "Show what other rules would change in a saved run."),
    },
    "Report": {
        "report": ("report", "Write an HTML report of a run, or export it."),
        "runs": ("runs", "List, show, tag and delete runs, or show a trend."),
        "serve": ("serve", "Start the web application and HTTP API."),
        "mcp": ("mcp", "Serve tools to coding agents (Model Context Protocol)."),
    },
    "Confidence and labels": {
        "thresholds": ("thresholds", "Choose thresholds on confidences for a precision."),
        "triage": ("triage", "Decide which values of new predictions need review."),
        "label": ("label", "Draw pairs of a run for labeling by people."),
        "calibrate": ("calibrate", "Measure a comparator or a judge against human verdicts."),
    },
    "Large runs": {
        "plan": ("plan", "Divide a run into partitions for any scheduler."),
        "work": ("work", "Process one partition of a plan."),
        "merge": ("merge", "Merge the results of all partitions into a run."),
    },
    "Files and tools": {
        "init": ("init", "Create a starter project with data, rules, an eval file and a workflow."),
        "validate": ("validate", "Check eval, rules and strategy files."),
        "schema": ("schema", "Print the JSON Schemas of eval files, rules and results."),
        "import": ("import_", "Convert eval files of other tools."),
        "judge": ("judge", "Run a built-in evaluator as a code judge."),
        "plugins": ("plugins", "List comparators, evaluators, readers and their plug-ins."),
        "doctor": ("doctor", "Check the installation and say how to fix it."),
    },
}
"""The module and help of every command by purpose, so that the main help imports none of them."""
_COMMANDS: Final = {name: each for group in GROUPS.values() for name, each in group.items()}

ERROR_CODES: Final[Mapping[type[FieldmarkError], ExitCode]] = {
    RunLockedError: ExitCode.LOCKED,
    StorageError: ExitCode.STORAGE,
}
"""The exit codes of exceptions; all other exceptions exit with `BAD_INPUT`."""
_DEBUG: Final = "FIELDMARK_DEBUG"
_EXAMPLES: Final = (
    "fieldmark demo",
    "fieldmark init invoices --yes",
    "fieldmark score truth.jsonl predictions.jsonl",
    "fieldmark score truth/ predictions/ --min macro_f1_by_attribute=0.9",
    "fieldmark improve latest",
    "fieldmark diff latest~1 latest",
)


def load_command(name: str) -> click.Command | None:
    """Import a command."""
    if name not in _COMMANDS:
        return None
    module = importlib.import_module(f"fieldmark.cli.{_COMMANDS[name][0]}")
    command: click.Command = module.command
    return command


class _LazyGroup(HelpGroup):
    """A group that imports a command only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return load_command(cmd_name)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        width = max(map(len, _COMMANDS))
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in group.items()])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from fieldmark.model.kernel import COMPILED
        from fieldmark.version import VERSION

        click.echo(f"fieldmark {VERSION} ({'compiled kernel' if COMPILED else 'pure Python'})")
        ctx.exit()


@click.command(cls=_LazyGroup, examples=_EXAMPLES, exit_codes=tuple(MEANINGS))
@option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version, and whether the compiled kernel is used, and exit.",
)
def fieldmark() -> None:
    """Score extracted data against ground truth.

    Compares JSON that was extracted from documents with the correct JSON and reports, field by
    field, what matches, what is wrong, what is missing and what is hallucinated. Defaults of
    options are read from fieldmark.toml or [tool.fieldmark] in pyproject.toml.
    """


def main() -> None:
    """Run the command line; an error becomes a message and an exit code."""
    # The threads that numpy starts spin for 2**26 cycles each before they sleep. No command needs
    # them at once, and 2**4 is the least that OpenBLAS accepts.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # Loading modules creates many objects and no garbage.
    with relaxed_gc(), _sigterm_interrupts():
        code = _run_and_report()
        gc.freeze()  # so that they are not searched for garbage from here on
    sys.exit(code)


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Treat SIGTERM, which schedulers send, as an interrupt, so that a run can be resumed."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # only the main thread receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_and_report() -> int:
    try:
        code = _run()
        write_stdout("")
    except FieldmarkError as error:
        print_message(error, prefix="fieldmark: ")
        codes = (code for kind, code in ERROR_CODES.items() if isinstance(error, kind))
        return next(codes, ExitCode.BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        print_message("fieldmark: interrupted")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - any other exception is a bug
        if os.environ.get(_DEBUG):
            import traceback

            print_message("".join(traceback.format_exception(error)).rstrip("\n"))
        summary = f"{type(error).__name__}: {error}".partition("\n")[0]
        hint = f"set {_DEBUG}=1 to print the traceback, and please report it"
        print_message(
            f"internal error: {summary}; this is a bug in fieldmark; {hint}", prefix="fieldmark: "
        )
        return ExitCode.BUG
    return code


def _run() -> int:
    try:
        defaults = None
        if sys.argv[1:2] and sys.argv[1] in _COMMANDS:  # the main help needs none
            from fieldmark.cli.defaults import Defaults

            defaults = Defaults(load_command)
        code = fieldmark.main(prog_name="fieldmark", standalone_mode=False, default_map=defaults)
    except click.ClickException as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
            print_message(error.format_message())
        else:
            print_message(_usage_error(error), prefix="fieldmark: ")
        return ExitCode.BAD_INPUT
    except SystemExit:
        # Click exits with 1, the code of a failed gate, if its help is not read to the end.
        return ExitCode.OK
    except OSError as error:
        # Commands raise StorageError; only the help that click prints raises OSError.
        raise output_error(error) from error
    return code if isinstance(code, int) else ExitCode.OK


def _usage_error(error: click.ClickException) -> str:
    """Return the message of click's error in the style of all other messages."""
    path = "fieldmark"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        path = error.ctx.command_path
    see_help = f"see '{path} --help'"
    if isinstance(error, click.NoSuchOption):
        from fieldmark.values.text import nearest

        known = [name.removeprefix("--") for name in error.possibilities or ()]
        close = nearest(error.option_name.removeprefix("--"), known)
        hint = f"did you mean '--{close}'?" if close else see_help
        return f"unknown option {error.option_name!r}; {hint}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.opts[0]
        if isinstance(error.param, click.Argument):
            name = error.param.human_readable_name.strip("[].")
        if isinstance(error, click.MissingParameter):
            return f"{name} is required; {see_help}"
        return f"{name}: {_lower(error.message)}"
    return _lower(error.format_message())


def _lower(message: str) -> str:
    """Return a sentence of click without its capital letter and period."""
    start = message[:1].lower() if message[1:2].islower() else message[:1]
    return (start + message[1:]).rstrip(".")
