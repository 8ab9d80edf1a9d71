"""The HTML report: a view of a run as plain JSON, and one page that draws it."""
