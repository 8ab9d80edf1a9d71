// Pictures of a run: how scores are distributed, precision and recall of attributes, and the trend.

import { mistakesOf } from "./attributes.js";
import { casesHref } from "./case_links.js";
import { axis, behind, chartPanel, histogram, intervalText, plot, plotPoint, trendPlot, UNIT_TICKS } from "./charts.js";
import { el, section } from "./dom.js";
import { mistakesIn, pathText, plural, rate, whole } from "./labels.js";

const MAX_POINTS = 300;

// Panels of a run; `scores` may come later.
export function chartSection(run, { scores = null, attributeHref }) {
  return section("charts", "Charts", null, el("div", { class: "columns" }, scores && scorePanel(scores), scatterPanel(run.attributes, attributeHref)),
    run.trends && reportTrend(run.trends));
}

export function scorePanel({ bins, unscored }) {
  const scored = bins.reduce((sum, { cases }) => sum + cases, 0);
  const label = `Scores of ${plural(scored, "case")} in steps of 0.05. The table contains the same data.`;
  return chartPanel("Scores of cases", unscored > 0 && `${plural(unscored, "case")} not scored`,
    scored ? histogram(label, bins, { xTitle: "score", yTitle: "cases", href: binHref }) : el("p", { class: "quiet" }, "No case was scored."),
    behind([
      { key: "low", title: "Score", cell: ({ low, high }) => intervalText([low, high], 2) },
      { key: "cases", title: "Cases", format: "count", cell: (bin) => (bin.cases ? el("a", { href: binHref(bin) }, whole(bin.cases)) : "0") },
    ], bins));
}

function binHref({ low, high }) {
  return casesHref({ score: `${low}-${high}` });
}

// Rows come from the table of attributes. Only attributes with mistakes are points.
export function scatterPanel(rows, href) {
  const mistakes = (row) => mistakesIn(row.errors_by_type);
  const known = rows.filter(({ precision, recall }) => precision !== null && recall !== null);
  const wrong = known.filter((row) => mistakesOf(row) > 0);
  const points = [...wrong].sort((one, two) => mistakes(two) - mistakes(one)).slice(0, MAX_POINTS);
  const right = known.length - wrong.length, unknown = rows.length - known.length;
  const text = (row) => `${row.attribute}: precision ${rate(row.precision)}, recall ${rate(row.recall)}, ${plural(mistakes(row), "mistake")}`;
  const label = `Precision and recall of ${plural(points.length, "attribute")} with mistakes. The table contains the same data.`;
  const unit = (title) => axis(title, [], { ticks: UNIT_TICKS });
  return chartPanel("Precision and recall of attributes",
    [right > 0 && `${plural(right, "attribute")} without mistakes ${right === 1 ? "is" : "are"} not shown. `, unknown > 0 && `${plural(unknown, "attribute")} with undefined precision or recall ${unknown === 1 ? "is" : "are"} not shown. `, points.length < wrong.length && `The ${whole(points.length)} of ${whole(wrong.length)} attributes with the most mistakes. `, points.length > 0 && "A point opens the cases of its attribute."],
    points.length ? plot(label, { x: unit("recall"), y: unit("precision"), links: true },
      (at) => points.map((row) => plotPoint(at, row.recall, row.precision, { title: text(row), href: href(row.attribute) }))) : el("p", { class: "quiet" }, "No attribute has mistakes."),
    points.length > 0 && behind([
      { key: "attribute", title: "Attribute", cell: ({ attribute }) => el("a", { href: href(attribute) }, pathText(attribute)) },
      { key: "precision", title: "Precision", format: "number" },
      { key: "recall", title: "Recall", format: "number" },
      { key: "mistakes", title: "Mistakes", format: "count", value: mistakes },
    ], points));
}

// Macro F1 over earlier runs and this one, oldest first.
function reportTrend({ runs, macro }) {
  const points = runs.map((name, place) => ({ name: name || "this run", tick: name ? `−${runs.length - 1 - place}` : "this run", value: macro[place] }));
  const known = points.filter(({ value }) => value !== null);
  if (known.length < 2) return null;
  const label = `Macro F1 by attribute over ${plural(known.length, "run")}. The table contains the same data.`;
  return chartPanel("Trend", "Macro F1 by attribute of earlier comparable runs and this one.", trendPlot(label, "macro F1 by attribute", points),
    behind([{ key: "name", title: "Run" }, { key: "value", title: "Macro F1", format: "number" }], known));
}
