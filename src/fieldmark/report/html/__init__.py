"""The HTML report: a run as JSON, and one page that displays it."""
