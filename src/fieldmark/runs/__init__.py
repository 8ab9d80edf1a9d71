"""Runs: options, execution, evaluation, and the records and files of a run."""
