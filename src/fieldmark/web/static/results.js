// The result of a comparison: metrics and tabs.

import { caseMetrics, el, gauge, metricTabs, openedCase, openedParts, plural, rate, scoreText, shown, tableNode, tileGrid, verdictChip, whole } from "./report.js";
import { empty } from "./page.js";

export function results(found, state, { changeTab, changeShown }) {
  const ranking = found.ranking || null;
  const all = ranking ? ranking.results : [found.result];
  if (state.shown >= all.length) state.shown = 0;
  const result = all[state.shown], view = found.views[state.shown];
  return [
    ranking && rankTable(ranking, state, changeShown),
    headline(result),
    metricTiles(view, ranking),
    metricTabs(caseMetrics(view.metrics), {
      documents: () => documents(view), tab: state.tab, changeTab, ranking,
      others: [
        ["recommendations", "Recommendations", view.recommendations.length, () => advice(view.recommendations)],
        ["json", "JSON", null, () => el("pre", { class: "json-out", tabindex: "0", "aria-label": "Result as JSON" }, JSON.stringify(result, null, 2))],
      ],
    }),
  ];
}

function headline(result) {
  return el("p", { class: "result-head", id: "headline" },
    verdictChip(result.verdict, result.status, result.vacuous), el("strong", null, result.reasoning), " ", result.vacuous && el("span", { class: "tile-note" }, "vacuous"), " ",
    el("span", { class: "quiet" }, `convention ${result.convention} · score ${rate(result.score, 4)} · ${Object.entries({ TP: "tp", TN: "tn", FP: "fp", FN: "fn" }).map(([word, name]) => `${word}\u00a0${result.counts[name]}`).join(" ")}`));
}

// Four digits, so that the documented example shows its RQS of 0.7375 without rounding.
function metricTiles({ tiles, formula }, ranking) {
  const consistency = ranking && { label: "Consistency", value: ranking.consistency, meaning: "agreement between predictions" };
  return tileGrid([...tiles, consistency].filter(Boolean), formula, 4);
}

function documents(view) {
  if (!view.documents) return el("p", { class: "notice" }, "These documents are too large to show. The other tabs contain all results.");
  return el("div", { class: "case" }, openedParts({ ...openedCase(view.documents), reasoning: "" }));
}

function advice(recommendations) {
  if (!recommendations.length) return empty("No recommendations", "All compared fields match.");
  return el("ol", { class: "advice" }, recommendations.map(({ title, hint, mistakes, fields }) => el("li", null,
    el("h3", null, title, " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))),
    el("p", null, hint),
    el("p", { class: "chips" }, fields.map((path) => el("span", { class: "tag" }, shown(path)))))));
}

function rankTable(ranking, state, changeShown) {
  const rows = ranking.order.map((index) => ({ index, rank: ranking.ranks[index], ...ranking.results[index] }));
  const table = tableNode({
    caption: "Predictions, best first", step: 50, rows,
    rowProps: ({ index }) => ({ "aria-current": index === state.shown ? "true" : null }),
    columns: [
      { key: "index", title: "Prediction", cell: ({ index }) => el("button", { type: "button", class: "as-link", "aria-pressed": String(index === state.shown), on: { click: () => { state.shown = index; changeShown(); } } }, `Prediction ${index + 1}`) },
      { key: "rank", title: "Rank", format: "count", cell: ({ rank }) => [whole(rank), rows.filter((row) => row.rank === rank).length > 1 && " (tie)"] },
      { title: "Verdict", cell: ({ verdict, status, vacuous }) => verdictChip(verdict, status, vacuous) },
      { key: "score", title: "Score", format: "number", cell: ({ score, vacuous }) => scoreText(score, vacuous) },
      { title: "", css: "bar-cell", cell: ({ score, vacuous }) => gauge(vacuous ? null : score, null) },
    ],
  });
  return el("section", { class: "ranking" }, el("h2", null, "Ranking"),
    el("p", { class: "quiet" }, `Best score ${rate(ranking.best)}, mean ${rate(ranking.mean)}, standard deviation ${rate(ranking.deviation)}.`), table);
}
