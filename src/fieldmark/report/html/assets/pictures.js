// Pictures of a run: how scores are distributed, precision and recall of attributes, and the trend.

const MAX_POINTS = 300;

// Panels of a run; `scores` may come later.
function chartSection(run, { scores = null, attributeHref }) {
  return section("charts", "Charts", null, el("div", { class: "columns" }, scores && scorePanel(scores), scatterPanel(run.attributes, attributeHref)),
    run.trends && reportTrend(run.trends));
}

function scorePanel({ bins, unscored }) {
  const cases = bins.reduce((all, [, , number]) => all + number, 0);
  const label = `Scores of ${plural(cases, "case")} in steps of 0.05. The table contains the same data.`;
  return chartPanel("Scores of cases", unscored > 0 && `${plural(unscored, "case")} not scored`,
    cases ? histogram(label, bins, { xTitle: "score", yTitle: "cases", href: binHref }) : el("p", { class: "quiet" }, "No case was scored."),
    behind(["Score", "Cases"], bins.map((bin) => [`${rate(bin[0], 2)} to ${rate(bin[1], 2)}`, bin[2] ? el("a", { href: binHref(bin) }, whole(bin[2])) : "0"]), { text: 1 }));
}

function binHref([from, to]) {
  return casesHref({ score: `${from}-${to}` });
}

// Rows are those of the table of attributes. Only attributes with mistakes are points.
function scatterPanel(rows, href) {
  const known = rows.filter(([, , [precision, recall]]) => precision !== null && recall !== null);
  const wrong = known.filter(([, , , , mistakes, errors]) => errors || mistakes.some(Boolean));
  const points = [...wrong].sort((one, two) => sumOf(two[4]) - sumOf(one[4])).slice(0, MAX_POINTS);
  const right = known.length - wrong.length, unknown = rows.length - known.length;
  const text = ([path, , [precision, recall], , mistakes]) => `${path}: precision ${rate(precision)}, recall ${rate(recall)}, ${plural(sumOf(mistakes), "mistake")}`;
  const label = `Precision and recall of ${plural(points.length, "attribute")} with mistakes. The table contains the same data.`;
  const unit = (title) => axis(title, [], { ticks: UNIT_TICKS });
  return chartPanel("Precision and recall of attributes",
    [right > 0 && `${plural(right, "attribute")} without mistakes ${right === 1 ? "is" : "are"} not shown. `, unknown > 0 && `${plural(unknown, "attribute")} with undefined precision or recall ${unknown === 1 ? "is" : "are"} not shown. `, points.length < wrong.length && `The ${whole(points.length)} of ${whole(wrong.length)} attributes with the most mistakes. `, points.length > 0 && "A point opens the cases of its attribute."],
    points.length ? plot(label, { x: unit("recall"), y: unit("precision"), links: true },
      (at) => points.map((row) => plotPoint(at, row[2][1], row[2][0], { title: text(row), href: href(row[0]) }))) : el("p", { class: "quiet" }, "No attribute has mistakes."),
    points.length > 0 && behind(["Attribute", "Precision", "Recall", "Mistakes"], points.map((row) => [el("a", { href: href(row[0]) }, pathText(row[0])), rate(row[2][0]), rate(row[2][1]), whole(sumOf(row[4]))]), { text: 1 }));
}

function sumOf(numbers) {
  return numbers.reduce((all, number) => all + number, 0);
}

// Macro F1 over earlier runs and this one, oldest first.
function reportTrend({ runs, macro }) {
  const points = runs.map((name, place) => ({ name: name || "this run", tick: name ? `−${runs.length - 1 - place}` : "this run", value: macro[place] }));
  const known = points.filter(({ value }) => value !== null);
  if (known.length < 2) return null;
  const label = `Macro F1 by attribute over ${plural(known.length, "run")}. The table contains the same data.`;
  return chartPanel("Trend", "Macro F1 by attribute of earlier comparable runs and this one.", trendPlot(label, "macro F1 by attribute", points),
    behind(["Run", "Macro F1"], known.map(({ name, value }) => [shown(name), rate(value)]), { text: 1 }));
}
