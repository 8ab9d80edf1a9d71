// The result of a comparison: metrics and tabs.

import { DASH, el, gauge, mark, openedParts, pathText, plural, rate, shown, sortable, sortableTable, tileNode, verdictChip, whole } from "./report.js";
import { empty, tabs } from "./page.js";

const OUTCOME = { match: 0, wrong_value: 1, format_error: 2, omission: 3, hallucination: 4, both_empty: 5, ignored: 6, error: 7 };

export function results(found, state, { changeTab, changeShown }) {
  const ranking = found.ranking || null;
  const all = ranking ? ranking.results : [found.result];
  if (state.shown >= all.length) state.shown = 0;
  const result = all[state.shown], view = found.views[state.shown];
  return [
    ranking && rankTable(ranking, state, changeShown),
    headline(result),
    metricTiles(view, ranking),
    tabs("Result details", entries(result, view, ranking), state.tab || "documents", changeTab),
  ];
}

function headline(result) {
  return el("p", { class: "result-head", id: "headline" },
    verdictChip(result.verdict, result.status), el("strong", null, result.reasoning), " ", result.vacuous && el("span", { class: "tile-note" }, "vacuous"), " ",
    el("span", { class: "quiet" }, `convention ${result.convention.replaceAll("_", " ")} · score ${rate(result.score, 4)} · TP ${result.counts.tp} TN ${result.counts.tn} FP ${result.counts.fp} FN ${result.counts.fn}`));
}

// Four digits, so that the documented example shows its RQS of 0.7375 without rounding.
function metricTiles({ tiles, formula }, ranking) {
  const consistency = ranking && { label: "Consistency", value: ranking.consistency, meaning: "agreement between predictions" };
  return [
    el("dl", { class: "tiles" }, [...tiles, consistency].map((tile) => tile && tileNode(tile, 4))),
    formula && el("p", { class: "quiet rqs-formula" }, formula),
  ];
}

function entries(result, view, ranking) {
  const { buckets, fields, recommendations } = view;
  const extra = [...buckets.extra_keys, ...buckets.gt_null_aio_has_value];
  return [
    ["documents", "Documents", null, () => documents(view)],
    ["completeness", "Completeness", buckets.aio_missing_or_null.length, () => completeness(result, buckets)],
    ["hallucination", "Hallucination", extra.length, () => hallucination(result, buckets)],
    ["accuracy", "Accuracy", fields.filter((field) => field.outcome !== "match").length, () => accuracy(result, fields)],
    ["consistency", "Consistency", null, () => consistency(ranking)],
    ["safety", "Safety", null, () => safety(result)],
    ["recommendations", "Recommendations", recommendations.length, () => advice(recommendations)],
    ["json", "JSON", null, () => el("pre", { class: "json-out", tabindex: "0", "aria-label": "Result as JSON" }, JSON.stringify(result, null, 2))],
  ];
}

function documents(view) {
  if (!view.documents) return el("p", { class: "notice" }, "These documents are too large to show. The other tabs contain all results.");
  return el("div", { class: "case" }, openedParts({ ...view.documents, reasoning: "" }));
}

function formulaLine(label, value, formula) {
  return el("p", { class: "formula" }, el("strong", null, label), " = ", formula, " = ", el("strong", { class: "formula-value" }, rate(value, 4)));
}

function keyList(paths, outcome, emptyText) {
  if (!paths.length) return el("p", { class: "quiet" }, emptyText);
  return el("ul", { class: "keys" }, paths.map((path) => el("li", null, mark(outcome), " ", pathText(path))));
}

function completeness({ quality }, buckets) {
  return [
    formulaLine("Completeness", quality.completeness, `${whole(buckets.both_non_null.length)} present / ${whole(buckets.gt_non_null.length)} expected`),
    el("h3", null, "Missing keys"), keyList(buckets.aio_missing_or_null, OUTCOME.omission, "No expected value is missing."),
    el("h3", null, "Present keys"), keyList(buckets.both_non_null, OUTCOME.match, "None."),
  ];
}

function hallucination({ quality }, buckets) {
  const parts = ["extra_keys", "gt_null_aio_has_value", "aio_missing_or_null", "both_non_null", "both_null"];
  const distinct = parts.reduce((all, name) => all + buckets[name].length, 0);
  return [
    formulaLine("Hallucination", quality.hallucination, `${whole(buckets.extra_keys.length + buckets.gt_null_aio_has_value.length)} extra / ${whole(distinct)} distinct keys`),
    el("h3", null, "Extra keys"), keyList(buckets.extra_keys, OUTCOME.hallucination, "All keys of the prediction are in the ground truth."),
    el("h3", null, "Values for empty ground truth"), keyList(buckets.gt_null_aio_has_value, OUTCOME.hallucination, "None."),
  ];
}

function accuracy({ quality }, fields) {
  const groups = new Map();
  for (const field of fields) groups.set(field.strategy, [...(groups.get(field.strategy) || []), field]);
  const scored = fields.filter(({ outcome }) => outcome !== "ignored" && outcome !== "error");
  return [
    formulaLine("Accuracy", quality.accuracy, `${plural(scored.filter(({ outcome }) => outcome === "match").length, "match", "matches")} / ${whole(scored.length)} compared`),
    fields.length ? null : el("p", { class: "quiet" }, "No field has a value on both sides."),
    [...groups].map(([strategy, own]) => el("section", { class: "strategy" },
      el("h3", null, el("span", { class: "strategy-name" }, strategy), " ", el("span", { class: "quiet" }, summary(own))),
      strategyTable(strategy, own))),
  ];
}

function summary(fields) {
  const limits = [...new Set(fields.map(({ threshold }) => threshold).filter((limit) => limit !== null))];
  const matches = fields.filter(({ outcome }) => outcome === "match").length;
  return `${plural(matches, "match", "matches")} in ${plural(fields.length, "field")}${limits.length ? `, threshold ${limits.join(", ")}` : ""}`;
}

function strategyTable(strategy, fields) {
  const table = sortableTable({
    caption: `Fields compared with ${strategy}`, step: 50, empty: "None.",
    columns: [
      { name: "field", label: "Field", value: (row) => row.path, cell: (row) => [pathText(row.path), row.detected && el("span", { class: "detail" }, "detected from the value")] },
      { name: "outcome", label: "Outcome", value: (row) => row.outcome, cell: (row) => mark(OUTCOME[row.outcome], { word: true }) },
      { name: "similarity", label: "Similarity", numeric: true, value: (row) => row.similarity, cell: (row) => rate(row.similarity) },
      { name: "threshold", label: "Threshold", numeric: true, value: (row) => row.threshold, cell: (row) => (row.threshold === null ? DASH : String(row.threshold)) },
      { name: "note", label: "Note", cell: (row) => row.note && shown(row.note) },
    ],
  });
  table.show(fields);
  return table.node;
}

function consistency(ranking) {
  if (!ranking) return empty("Consistency requires several predictions", "Add another prediction for the same document to see on which fields they agree.");
  const unstable = Object.entries(ranking.agreement).sort((one, two) => sortable(one[1]) - sortable(two[1]));
  const table = sortableTable({
    caption: "Agreement between predictions by field, least stable first", step: 25, empty: "No fields were compared.",
    columns: [
      { name: "field", label: "Field", value: (row) => row[0], cell: (row) => pathText(row[0]) },
      { name: "agreement", label: "Agreement", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(row[1], null, { width: 120 }) },
    ],
  });
  table.show(unstable);
  return [
    formulaLine("Consistency", ranking.consistency, `mean agreement over ${plural(unstable.length, "field")}`),
    el("h3", null, "Least stable fields"), table.node,
  ];
}

function safety({ quality, evaluator_results: results = [] }) {
  const found = results.find(({ type }) => type === "safety");
  if (found && found.status === "error") return el("p", { class: "notice" }, "Safety could not be judged: ", shown(found.reasoning));
  const judged = !(quality.flags.safety || []).includes("not_evaluated");
  return [
    formulaLine("Safety", quality.safety, judged ? "score of the safety judge" : "default (not evaluated)"),
    found && found.reasoning && el("p", null, shown(found.reasoning)),
    found && found.warnings && found.warnings.map((text) => el("p", { class: "notice" }, text)),
    !judged && el("p", { class: "notice" }, "Safety was not evaluated and counts as 1. To evaluate it, list unsafe words on the Rules page, or start the server with a rules file that sets a safety judge."),
  ];
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
      { name: "verdict", label: "Verdict", cell: (index) => verdictChip(ranking.results[index].verdict, ranking.results[index].status) },
      { name: "score", label: "Score", numeric: true, value: (index) => ranking.results[index].score, cell: (index) => rate(ranking.results[index].score) },
      { name: "gauge", label: "", css: "bar-cell", cell: (index) => gauge(ranking.results[index].score, null) },
    ],
  });
  table.show(ranking.order);
  return el("section", { class: "ranking" }, el("h2", null, "Ranking"),
    el("p", { class: "quiet" }, `Best score ${rate(ranking.best)}, mean ${rate(ranking.mean)}, standard deviation ${rate(ranking.deviation)}.`), table.node);
}
