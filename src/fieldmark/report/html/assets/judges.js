// What each evaluator said of a case.

function judgements(evaluators) {
  return el("div", { class: "judges" }, evaluators.map((judge) => el("article", { class: "judge" },
    el("header", null,
      el("h3", null, el("bdi", null, shown(judge.name || judge.type || "evaluator"))),
      judge.type && judge.type !== judge.name && el("span", { class: "quiet" }, shown(judge.type)),
      verdictChip(judge.verdict, judge.status),
      el("span", { class: "judge-score" }, rate(judge.score ?? null)),
      judge.weight !== undefined && judge.weight !== 1 && el("span", { class: "quiet" }, `weight ${judge.weight}`)),
    judge.reasoning && el("p", { class: "reasoning" }, el("bdi", { class: "literal" }, shown(judge.reasoning))),
    lineList("Hits", judge.hits, MATCH),
    lineList("Misses", judge.misses, WRONG, true),
    lineList("Skipped", judge.skipped, 8),
    judge.details && el("details", null, el("summary", null, "Details"), el("pre", null, shown(judge.details))))));
}

function lineList(title, lines, outcome, open = false) {
  if (!lines || !lines.length) return null;
  return el("details", { open: open || lines.length <= 3 },
    el("summary", null, `${title} (${whole(lines.length)})`),
    el("ul", { class: "lines" }, lines.map((line) => el("li", null, mark(outcome), el("bdi", { class: "literal" }, shown(line))))));
}
