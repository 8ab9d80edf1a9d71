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
from fieldmark.cli.help import HelpGroup, option, shown_name
from fieldmark.cli.streams import output_error, print_message, write_stdout
from fieldmark.errors import FieldmarkError, RunLockedError, StorageError
from fieldmark.runs.gc_tuning import relaxed_gc

GROUPS: Final = {
    "Score": {
        "score": ("score", "Score predictions against ground truth."),
        "eval": ("eval", "Run eval files: evaluators, judges and gates."),
        "demo": ("score", "Score the bundled sample documents."),
    },
    "Understand": {
        "show": ("show", "List the worst cases of a run, or show a case or a field."),
        "improve": ("show", "Show what to fix first, and weak slices of the cases."),
        "lint": ("checks", "Find likely faults in ground truth."),
        "review": ("calibrate", "Show the decisions of people on a run, and their effect."),
    },
    "Compare": {
        "diff": ("compare", "Compare two runs, or compute how many cases a gate needs."),
        "rank": ("compare", "Rank several runs and test every pair for significance."),
        "consensus": ("compare", "Combine several predictions and show where they disagree."),
    },
    "Rules": {
        "infer": ("rules", "Propose a rules file from data."),
        "rescore": ("rules", "Apply other rules or another convention to a saved run."),
    },
    "Report": {
        "report": ("report", "Write an HTML report of a run, or export it."),
        "runs": ("runs", "List, show, tag and delete runs, or show a trend."),
        "serve": ("serve", "Start the web application and HTTP API."),
        "mcp": ("serve", "Serve tools to coding agents (Model Context Protocol)."),
    },
    "Confidence and labels": {
        "confidence": ("confidence", "Choose thresholds on confidences, and apply them."),
        "calibrate": ("calibrate", "Label pairs, and measure comparators and judges with them."),
    },
    "Large runs": {
        "parts": ("parts", "Divide a run into partitions for any scheduler."),
    },
    "Files and tools": {
        "init": ("files", "Create a starter project with an eval file and a workflow."),
        "validate": ("checks", "Check eval, rules and strategy files."),
        "schema": ("files", "Print the JSON Schemas of eval files, rules and results."),
        "import": ("files", "Convert eval files of other tools."),
        "judge": ("judge", "Run a built-in evaluator as a code judge."),
        "doctor": ("checks", "Check the installation, or list strategies."),
    },
}
"""The module and help of every command by purpose, so that the main help imports none of them."""
_COMMANDS: Final = {name: entry for group in GROUPS.values() for name, entry in group.items()}

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
    """Import a command, such as `score`, or `parts plan` of a group."""
    name, _, subcommand = name.partition(" ")
    if name not in _COMMANDS:
        return None
    module = importlib.import_module(f"fieldmark.cli.{_COMMANDS[name][0]}")
    command: click.Command = getattr(module, f"{name}_command")
    if not subcommand:
        return command
    return command.commands.get(subcommand) if isinstance(command, click.Group) else None


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
        name = shown_name(error.param)
        if isinstance(error, click.MissingParameter):
            return f"{name} is required; {see_help}"
        return f"{name}: {_lower(error.message)}"
    return _lower(error.format_message())


def _lower(message: str) -> str:
    """Return a sentence of click without its capital letter and period."""
    start = message[:1].lower() if message[1:2].islower() else message[:1]
    return (start + message[1:]).rstrip(".")
