// What came of a comparison: the figures, and a tab for each of them.

import { DASH, INVENTED, MATCH, MISSING, el, gauge, mark, openedParts, pathText, plural, rate, shown, sortableTable, verdictChip, whole } from "./report.js";
import { empty, tabs } from "./shell.js";

const OUTCOME = { match: 0, wrong_value: 1, format_error: 2, omission: 3, hallucination: 4, both_empty: 5, ignored: 6, error: 7 };

export function results(found, state, { changeTab, changeShown }) {
  const ranking = found.ranking || null;
  const all = ranking ? ranking.results : [found.result];
  if (state.shown >= all.length) state.shown = 0;
  const result = all[state.shown], view = found.views[state.shown];
  return [
    ranking && rankTable(ranking, state, changeShown),
    headline(result),
    figureTiles(tiles(result, ranking)),
    tabs("Views of the result", entries(result, view, ranking), state.tab || "documents", changeTab),
  ];
}

function headline(result) {
  return el("p", { class: "answer-head", id: "headline" },
    verdictChip(result.verdict, result.status), el("strong", null, result.reasoning), " ",
    el("span", { class: "quiet" }, `score ${rate(result.score, 4)} · TP ${result.counts.tp} TN ${result.counts.tn} FP ${result.counts.fp} FN ${result.counts.fn}`));
}

function tiles({ quality, f1, score }, ranking) {
  return [
    { label: "Completeness", value: quality.completeness, meaning: "of what was there, found", better: "high" },
    { label: "Hallucination", value: quality.hallucination, meaning: "of all keys, invented", better: "low" },
    { label: "Accuracy", value: quality.accuracy, meaning: "of what both have, right", better: "high" },
    { label: "RQS", value: quality.rqs, meaning: "response quality score", better: "high", most: Number(quality.rqs_max.toFixed(4)) },
    ranking ? { label: "Consistency", value: ranking.consistency, meaning: "candidates among themselves", better: "high" } : { label: "F1", value: f1, meaning: "precision and recall", better: "high" },
  ];
}

// Four digits: what is explained with .7375 must be seen as .7375.
function figureTiles(list) {
  return el("dl", { class: "tiles" }, list.map(({ label, value, meaning, most }) => el("div", { class: "tile" },
    el("dt", null, label),
    el("dd", null,
      el("span", { class: "figure", "data-figure": label.toLowerCase() }, rate(value, 4), most !== undefined && el("span", { class: "out-of" }, ` of ${most}`)),
      gauge(value === null ? null : value / (most || 1), null, { width: 120 }),
      el("span", { class: "meaning" }, meaning)))));
}

function entries(result, view, ranking) {
  const { buckets, fields, recommendations } = view;
  const invented = [...buckets.extra_keys, ...buckets.gt_null_aio_has_value];
  return [
    ["documents", "Documents", null, () => documents(view)],
    ["completeness", "Completeness", buckets.aio_missing_or_null.length, () => completeness(result, buckets)],
    ["hallucination", "Hallucination", invented.length, () => hallucination(result, buckets)],
    ["accuracy", "Accuracy", fields.filter((field) => field.outcome !== "match").length, () => accuracy(result, fields)],
    ["consistency", "Consistency", null, () => consistency(ranking)],
    ["safety", "Safety", null, () => safety(result)],
    ["recommendations", "Recommendations", recommendations.length, () => advice(recommendations)],
    ["json", "JSON", null, () => el("pre", { class: "json-out", tabindex: "0", "aria-label": "The answer as JSON" }, JSON.stringify(result, null, 2))],
  ];
}

function documents(view) {
  if (!view.documents) return el("p", { class: "notice" }, "These documents are too large to draw; the other tabs and JSON hold everything.");
  return el("div", { class: "case" }, openedParts({ ...view.documents, reasoning: "" }));
}

function figure(word, value, formula) {
  return el("p", { class: "formula" }, el("strong", null, word), " = ", formula, " = ", el("strong", { class: "formula-value" }, rate(value, 4)));
}

function keyList(paths, outcome, none) {
  if (!paths.length) return el("p", { class: "quiet" }, none);
  return el("ul", { class: "keys" }, paths.map((path) => el("li", null, mark(outcome), " ", pathText(path))));
}

function completeness({ quality }, buckets) {
  return [
    figure("Completeness", quality.completeness, `${whole(buckets.both_non_null.length)} found / ${whole(buckets.gt_non_null.length)} expected`),
    el("h3", null, "Missing keys"), keyList(buckets.aio_missing_or_null, MISSING, "Every expected value has a counterpart."),
    el("h3", null, "Found keys"), keyList(buckets.both_non_null, MATCH, "None."),
  ];
}

function hallucination({ quality }, buckets) {
  const parts = ["extra_keys", "gt_null_aio_has_value", "aio_missing_or_null", "both_non_null", "both_null"];
  const distinct = parts.reduce((all, name) => all + buckets[name].length, 0);
  return [
    figure("Hallucination", quality.hallucination, `${whole(buckets.extra_keys.length + buckets.gt_null_aio_has_value.length)} invented / ${whole(distinct)} distinct`),
    el("h3", null, "Extra keys"), keyList(buckets.extra_keys, INVENTED, "The candidate has no key that the truth lacks."),
    el("h3", null, "Values where the truth is empty"), keyList(buckets.gt_null_aio_has_value, INVENTED, "None."),
  ];
}

function accuracy({ quality }, fields) {
  const groups = new Map();
  for (const field of fields) groups.set(field.strategy, [...(groups.get(field.strategy) || []), field]);
  const scored = fields.filter(({ outcome }) => outcome !== "ignored" && outcome !== "error");
  return [
    figure("Accuracy", quality.accuracy, `${whole(scored.filter(({ outcome }) => outcome === "match").length)} right / ${whole(scored.length)} compared`),
    fields.length ? null : el("p", { class: "quiet" }, "No field has a value on both sides."),
    [...groups].map(([strategy, own]) => el("section", { class: "strategy" },
      el("h3", null, el("span", { class: "strategy-name" }, strategy), " ", el("span", { class: "quiet" }, summary(own))),
      strategyTable(strategy, own))),
  ];
}

function summary(fields) {
  const limits = [...new Set(fields.map(({ threshold }) => threshold).filter((limit) => limit !== null))];
  const right = fields.filter(({ outcome }) => outcome === "match").length;
  return `${whole(right)} of ${plural(fields.length, "field")} right${limits.length ? `, threshold ${limits.join(", ")}` : ""}`;
}

function strategyTable(strategy, fields) {
  const table = sortableTable({
    caption: `Fields compared by ${strategy}`, step: 50, empty: "None.",
    columns: [
      { name: "field", label: "Field", value: (row) => row.path, cell: (row) => [pathText(row.path), row.detected && el("span", { class: "told" }, "detected from the value")] },
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
  if (!ranking) return empty("One candidate alone has no consistency", "Add a second candidate of the same document to see how far they agree, and on which fields they do not.");
  const unstable = Object.entries(ranking.agreement).sort((one, two) => one[1] - two[1]);
  const table = sortableTable({
    caption: "Agreement of the candidates by field, the most unstable first", step: 25, empty: "No field was compared.",
    columns: [
      { name: "field", label: "Field", value: (row) => row[0], cell: (row) => pathText(row[0]) },
      { name: "agreement", label: "Agreement", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(row[1], null, { width: 120 }) },
    ],
  });
  table.show(unstable);
  return [
    figure("Consistency", ranking.consistency, `mean agreement over ${plural(unstable.length, "field")}`),
    el("h3", null, "The most unstable fields"), table.node,
  ];
}

function safety({ quality }) {
  const judged = !(quality.flags.safety || []).includes("not_evaluated");
  return [
    figure("Safety", quality.safety, judged ? "what the judge of safety said" : "no judge was asked"),
    !judged && el("p", { class: "notice" }, "Nobody judged the safety of this answer, so it counts as 1. An eval file with the response_quality evaluator can name a judge of safety: a word list or a model."),
  ];
}

function advice(recommendations) {
  if (!recommendations.length) return empty("Nothing to mend", "Every field that was compared is right.");
  return el("ol", { class: "advice" }, recommendations.map(({ title, hint, mistakes, fields }) => el("li", null,
    el("h3", null, title, " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))),
    el("p", null, hint),
    el("p", { class: "chips" }, fields.map((path) => el("span", { class: "tag" }, shown(path)))))));
}

function rankTable(ranking, state, changeShown) {
  const table = sortableTable({
    caption: "Candidates, the best first", step: 50,
    rowProps: (place) => ({ "aria-current": place === state.shown ? "true" : null }),
    columns: [
      { name: "candidate", label: "Candidate", value: (place) => place, cell: (place) => el("button", { type: "button", class: "as-link", "aria-pressed": String(place === state.shown), on: { click: () => { state.shown = place; changeShown(); } } }, `Candidate ${place + 1}`) },
      { name: "verdict", label: "Verdict", cell: (place) => verdictChip(ranking.results[place].verdict, ranking.results[place].status) },
      { name: "score", label: "Score", numeric: true, value: (place) => ranking.results[place].score, cell: (place) => rate(ranking.results[place].score) },
      { name: "rqs", label: "RQS", numeric: true, value: (place) => ranking.results[place].quality.rqs, cell: (place) => rate(ranking.results[place].quality.rqs) },
      { name: "gauge", label: "", css: "bar-cell", cell: (place) => gauge(ranking.results[place].score, null) },
    ],
  });
  table.show(ranking.order);
  return el("section", { class: "ranking" }, el("h2", null, "Ranking"),
    el("p", { class: "quiet" }, `Best ${rate(ranking.best)}, mean ${rate(ranking.mean)}, deviation ${rate(ranking.deviation)}.`), table.node);
}
