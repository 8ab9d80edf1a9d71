// The results of the evaluators of a case.

function evaluatorCards(evaluators) {
  return el("div", { class: "judges" }, evaluators.map((result) => el("article", { class: "judge" },
    el("header", null,
      el("h3", null, el("bdi", null, shown(result.name || result.type || "evaluator"))),
      result.type && result.type !== result.name && el("span", { class: "quiet" }, shown(result.type)),
      verdictChip(result.verdict, result.status),
      el("span", { class: "judge-score" }, rate(result.score ?? null)),
      result.weight !== undefined && result.weight !== 1 && el("span", { class: "quiet" }, `weight ${result.weight}`)),
    result.reasoning && el("p", { class: "reasoning" }, el("bdi", { class: "literal" }, shown(result.reasoning))),
    lineList("Hits", result.hits, MATCH),
    lineList("Misses", result.misses, WRONG, true),
    lineList("Skipped", result.skipped, NOT_COMPARED),
    result.details && el("details", null, el("summary", null, "Details"), el("pre", null, shown(result.details))))));
}

function lineList(title, lines, outcome, open = false) {
  if (!lines || !lines.length) return null;
  return el("details", { open: open || lines.length <= 3 },
    el("summary", null, `${title} (${whole(lines.length)})`),
    el("ul", { class: "lines" }, lines.map((line) => el("li", null, mark(outcome), el("bdi", { class: "literal" }, shown(line))))));
}
