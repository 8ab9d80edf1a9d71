// The result of a comparison: metrics and tabs.

import { el, gauge, metricTabs, openedParts, plural, rate, scoreText, shown, sortableTable, tileGrid, verdictChip, whole } from "./report.js";
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
    metricTabs(view.metrics, {
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
  return el("div", { class: "case" }, openedParts({ ...view.documents, reasoning: "" }));
}

function advice(recommendations) {
  if (!recommendations.length) return empty("No recommendations", "All compared fields match.");
  return el("ol", { class: "advice" }, recommendations.map(({ title, hint, mistakes, fields }) => el("li", null,
    el("h3", null, title, " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))),
    el("p", null, hint),
    el("p", { class: "chips" }, fields.map((path) => el("span", { class: "tag" }, shown(path)))))));
}

function rankTable(ranking, state, changeShown) {
  const table = sortableTable({
    caption: "Predictions, best first", step: 50,
    rowProps: (index) => ({ "aria-current": index === state.shown ? "true" : null }),
    columns: [
      { name: "candidate", label: "Prediction", value: (index) => index, cell: (index) => el("button", { type: "button", class: "as-link", "aria-pressed": String(index === state.shown), on: { click: () => { state.shown = index; changeShown(); } } }, `Prediction ${index + 1}`) },
      { name: "rank", label: "Rank", numeric: true, value: (index) => ranking.ranks[index], cell: (index) => [whole(ranking.ranks[index]), ranking.ranks.filter((each) => each === ranking.ranks[index]).length > 1 && " (tie)"] },
      { name: "verdict", label: "Verdict", cell: (index) => verdictChip(ranking.results[index].verdict, ranking.results[index].status, ranking.results[index].vacuous) },
      { name: "score", label: "Score", numeric: true, value: (index) => ranking.results[index].score, cell: (index) => scoreText(ranking.results[index].score, ranking.results[index].vacuous) },
      { name: "gauge", label: "", css: "bar-cell", cell: (index) => gauge(ranking.results[index].vacuous ? null : ranking.results[index].score, null) },
    ],
  });
  table.show(ranking.order);
  return el("section", { class: "ranking" }, el("h2", null, "Ranking"),
    el("p", { class: "quiet" }, `Best score ${rate(ranking.best)}, mean ${rate(ranking.mean)}, standard deviation ${rate(ranking.deviation)}.`), table.node);
}
