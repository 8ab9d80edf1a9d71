"""`fieldmark lint`, `validate` and `doctor`: check ground truth, files and the installation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from fieldmark.analyses.doctor import Check, CheckStatus, doctor, plugins
from fieldmark.analyses.lint import lint
from fieldmark.cli.defaults import Defaults
from fieldmark.cli.exit_codes import ExitCode, combine_exit_codes
from fieldmark.cli.help import make_command, option, reject_options
from fieldmark.cli.main import load_command
from fieldmark.cli.options import (
    SuggestingChoice,
    format_option,
    input_options,
    output_options,
    top_option,
)
from fieldmark.cli.output import OutputFormat, OutputOptions, print_document
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.data.inputs import Inputs
from fieldmark.errors import ConfigError, FieldmarkError
from fieldmark.registry import Plugin
from fieldmark.runs.eval_file import check_file
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.json_text import pretty_json


@make_command(
    examples=(
        "fieldmark lint truth.jsonl",
        "fieldmark lint truth/ --format json > findings.json",
        "fieldmark lint truth.csv --id invoice --top 0",
        "fieldmark lint invoices/truth.jsonl receipts/truth.jsonl",
        "zcat truth.jsonl.gz | fieldmark lint -",
    ),
    exit_codes=(ExitCode.GATE_FAILED,),
)
@click.argument("truth", metavar="TRUTH...", nargs=-1, required=True)
@input_options
@top_option("Findings to show; 0 shows all.")
@output_options
def lint_command(truth: tuple[str, ...], *, inputs: Inputs, output: OutputOptions) -> ExitCode:
    """Find likely faults in TRUTH before scoring against it.

    Reports documents that cannot be read or occur twice, attributes with several types or formats,
    dates that cannot exist, amounts that do not add up, nearly equal spellings, and fields that are
    always empty. Several files are checked one by one. Review the findings: some may be intended.
    """
    several = len(truth) > 1
    if several and output.format in {OutputFormat.JSON, OutputFormat.CSV}:
        raise click.UsageError(f"--format {output.format} accepts only one file")
    codes: list[ExitCode] = []
    for source in truth:
        if several and output.format is OutputFormat.MARKDOWN:
            write_stdout(f"### {for_markdown(source)}\n\n")
        elif several and output.shows_table:
            write_stdout(f"{visible(source)}\n")
        try:
            result = lint(source, inputs=inputs)
        except FieldmarkError as error:
            if not several:
                raise
            # The other files are checked, too.
            print_message(error, prefix="fieldmark: ")
            codes.append(ExitCode.BAD_INPUT)
        else:
            print_document(result, output)
            codes.append(ExitCode.GATE_FAILED if result.total else ExitCode.OK)
    return combine_exit_codes(codes)


_UNCHECKED: Final = "; paths not checked against documents"


@make_command(
    examples=(
        "fieldmark validate invoices.eval.yaml",
        "fieldmark validate rules/*.yaml strategies.json",
        "fieldmark validate --format json invoices.eval.yaml",
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@format_option(("text", "json"))
def validate_command(files: tuple[str, ...], format: str) -> int:  # noqa: A002 - the name of the option
    """Check eval, rules and strategy FILES without running anything.

    Lists every problem with its location and a suggestion. Nothing is run, imported or fetched, so
    it is safe to check untrusted files. No document is read: whether any has the configured paths
    is checked when the files are used.
    """
    reports = [check_file(file) for file in files]
    if format == "json":
        write_stdout(pretty_json([report.to_dict() for report in reports]))
    else:
        for report in reports:
            for problem in report.problems:
                print_message(problem)
            for warning in report.warnings:
                print_message(warning, prefix="warning: ")
            if report.valid:
                write_stdout(
                    f"{visible(report.file)}: valid {report.kind} file, {report.contents}"
                    f"{_UNCHECKED}\n"
                )
    return ExitCode.OK if all(report.valid for report in reports) else ExitCode.BAD_INPUT


@make_command(
    examples=(
        "fieldmark doctor",
        "fieldmark doctor --format json",
        "fieldmark doctor --eval invoices.eval.yaml",
        "fieldmark doctor --plugins comparators readers",
        "fieldmark doctor --plugins --installed --format json",
    ),
)
@click.argument(
    "kinds", metavar="[KINDS]...", nargs=-1, type=SuggestingChoice([kind.value for kind in Plugin])
)
@option(
    "--eval",
    "eval_file",
    metavar="FILE",
    help="Check the judges, models and targets of an eval file too; may contact their endpoints.",
)
@option(
    "--plugins",
    "listed",
    is_flag=True,
    help="List registered strategies instead, of these KINDS or of all kinds.",
)
@option("--installed", is_flag=True, help="List only strategies of plug-ins.")
@output_options
def doctor_command(
    kinds: tuple[str, ...],
    *,
    eval_file: Path | None,
    listed: bool,
    installed: bool,
    output: OutputOptions,
) -> ExitCode:
    """Check the installation, and say how to fix each problem.

    Shows versions, the compiled kernel, optional features with the command that installs them,
    plug-ins, the run directory, the terminal, and the file with defaults of options. The exit code
    is 2 if something does not work; optional features may be missing.

    With --plugins, lists the registered KINDS: comparators, aligners, providers, evaluators,
    targets, safety, readers or exporters. Shows the package that each comes from, and why a plug-in
    cannot be used.
    """
    if listed:
        reject_options({"eval_file"}, "cannot be used with --plugins")
        registered = plugins(kinds, built_in=not installed)
        print_document(registered, output)
        errors = [plugin.error for plugin in registered if plugin.error]
    else:
        reject_options({"kinds", "installed"}, "requires --plugins")
        diagnosis = doctor(eval_file=eval_file)
        diagnosis = replace(diagnosis, checks=(*diagnosis.checks, _check_defaults()))
        print_document(diagnosis, output)
        errors = [f"{check.name}: {check.found}" for check in diagnosis.failed]
    for error in errors if output.hides_failures else ():
        print_message(f"fieldmark: {error}")
    return ExitCode.BAD_INPUT if errors else ExitCode.OK


def _check_defaults() -> Check:
    """Check the file with defaults of options that applies here."""
    defaults = Defaults(load_command)
    try:
        defaults.check()
    except ConfigError as error:
        return Check(name="defaults", status=CheckStatus.ERROR, found=str(error), fix="edit it")
    file = defaults.file or "no fieldmark.toml, and no [tool.fieldmark] in pyproject.toml"
    return Check(name="defaults", status=CheckStatus.OK, found=file)
