// The metrics of a case as tabs, and the same sums for a whole run: completeness, hallucination,
// accuracy by strategy, consistency, safety, and the response quality score with its parts.

import { gauge } from "./charts.js";
import { el, fill, replace, section, spoken } from "./dom.js";
import { capitalized, DASH, EXTRA, mark, MATCH, MISSING, OUTCOMES, pathText, plural, rate, signed, whole } from "./labels.js";
import { sortable, tableNode } from "./table.js";
import { shown } from "./values.js";

const QUALITY_NAMES = ["completeness", "hallucination", "accuracy", "safety"];

// Tabs with keyboard navigation: arrow keys, Home and End. An entry is [name, text, count, make,
// words], where the words say the count to screen readers.
function tabs(label, entries, current, chosen) {
  const list = el("div", { class: "tabs", role: "tablist", "aria-label": label });
  const panel = el("div", { class: "tab-panel", role: "tabpanel", id: "tab-panel", tabindex: "0" });
  const heads = entries.map(([name, text, count, , words]) => el("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "tab-panel", "data-tab": name,
    on: { click: () => pick(name) },
  }, text, count !== undefined && count !== null && el("span", { class: "tab-count", "aria-hidden": words ? "true" : null }, String(count)), words && spoken(`, ${words}`)));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const index = heads.findIndex((head) => head.dataset.tab === current);
    const next = step ? (index + step + heads.length) % heads.length : event.key === "Home" ? 0 : event.key === "End" ? heads.length - 1 : null;
    if (next === null) return;
    event.preventDefault();
    pick(entries[next][0]);
    heads[next].focus();
  });
  function pick(name, { initial = false } = {}) {
    current = entries.some(([each]) => each === name) ? name : entries[0][0];
    for (const head of heads) {
      const own = head.dataset.tab === current;
      head.setAttribute("aria-selected", String(own));
      head.tabIndex = own ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${current}`);
    replace(panel, entries.find(([each]) => each === current)[3]());
    if (!initial) chosen(current);
    requestAnimationFrame(() => { list.scrollLeft = Math.max(0, heads.find((head) => head.dataset.tab === current).offsetLeft - list.offsetLeft - 48); });
  }
  fill(list, null, heads);
  pick(current, { initial: true });
  return el("div", { class: "tabbed" }, list, panel);
}

// The tabs of a case. `documents` makes the first tab, and `others` are further entries; `ranking` is
// the ranking of several predictions for the case, and `loadAgreement` returns it for the runs of a group.
// Without both there is no consistency to show.
export function metricTabs(metrics, { documents, tab, changeTab, ranking = null, loadAgreement = null, others = [] }) {
  return tabs("Details", [
    ["documents", "Documents", null, documents],
    ...(metrics ? metricEntries(metrics, ranking, loadAgreement) : []),
    ...others,
  ], tab || "documents", changeTab);
}

function metricEntries(view, ranking, loadAgreement) {
  const { keys, sizes, strategies } = view;
  const wrong = strategies.reduce((sum, { matched, compared }) => sum + compared - matched, 0);
  return [
    ["completeness", "Completeness", countOf(view, keys.aio_missing_or_null, "aio_missing_or_null"), () => completenessPanel(view)],
    ["hallucination", "Hallucination", sizes.extra, () => hallucinationPanel(view)],
    ["accuracy", "Accuracy", wrong || null, () => accuracyPanel(view), plural(wrong, "mistake")],
    ...(ranking || loadAgreement ? [["consistency", "Consistency", null, () => (loadAgreement ? loadedConsistency(loadAgreement) : consistencyPanel(ranking))]] : []),
    ["safety", "Safety", null, () => safetyPanel(view)],
    ["rqs", "RQS", null, () => [sumTable(view), rqsNote(view)]],
  ];
}

function countOf({ more }, paths = [], name) {
  return paths.length + ((more && more[name]) || 0);
}

function formulaLine(label, value, formula) {
  return el("p", { class: "formula" }, el("strong", null, label), " = ", formula, " = ", el("strong", { class: "formula-value" }, rate(value, 4)));
}

function keyList(view, name, outcome, emptyText) {
  const paths = view.keys[name] || [];
  const more = view.more && view.more[name];
  if (!paths.length) return el("p", { class: "quiet" }, emptyText);
  return [
    el("ul", { class: "keys" }, paths.map((path) => el("li", null, mark(outcome), " ", pathText(path)))),
    more > 0 && el("p", { class: "quiet" }, `… and ${plural(more, "more key")}.`),
  ];
}

function completenessPanel(view) {
  // Ignored fields are listed unless the convention excludes them from all metrics.
  const excluded = view.fields.length > view.sizes.present;
  const present = view.fields.filter(({ outcome }) => !excluded || OUTCOMES[outcome].name !== "ignored").map(({ path }) => path);
  return [
    formulaLine("Completeness", view.completeness, sumText("completeness", view)),
    el("h3", null, "Missing keys"), keyList(view, "aio_missing_or_null", MISSING, "No expected value is missing."),
    el("h3", null, "Present keys"), keyList({ keys: { present }, more: { present: view.more && view.more.fields } }, "present", MATCH, "None."),
  ];
}

function hallucinationPanel(view) {
  return [
    formulaLine("Hallucination", view.hallucination, sumText("hallucination", view)),
    el("h3", null, "Extra keys"), keyList(view, "extra_keys", EXTRA, "All keys of the prediction are in the ground truth."),
    el("h3", null, "Values for empty ground truth"), keyList(view, "gt_null_aio_has_value", EXTRA, "None."),
  ];
}

function accuracyPanel(view) {
  const { fields, strategies, more } = view;
  return [
    formulaLine("Accuracy", view.accuracy, sumText("accuracy", view)),
    fields.length ? null : el("p", { class: "quiet" }, "No field has a value on both sides."),
    more && more.fields > 0 && el("p", { class: "notice" }, `${plural(more.fields, "field")} not listed: this case has more fields than a list shows. Sums and mistakes include ${more.fields === 1 ? "it" : "them"}.`),
    strategies.map(({ strategy, matched, compared }, number) => {
      const own = fields.filter((field) => field.strategy === number);
      return el("section", { class: "strategy" },
        el("h3", null, el("span", { class: "strategy-name" }, shown(strategy)), " ", el("span", { class: "quiet" }, strategySummary(matched, compared, own))),
        strategyTable(strategy, own));
    }),
  ];
}

function strategySummary(matched, compared, fields) {
  const limits = [...new Set(fields.map(({ threshold }) => threshold).filter((limit) => limit !== null))];
  return `${plural(matched, "match", "matches")} in ${plural(compared, "compared field")}${limits.length ? `, threshold ${limits.join(", ")}` : ""}`;
}

function strategyTable(strategy, fields) {
  return tableNode({
    caption: `Fields compared with ${strategy}`, step: 50, empty: "None.", rows: fields,
    columns: [
      { key: "path", title: "Field", cell: ({ path, detected }) => [pathText(path), detected && el("span", { class: "detail" }, "detected from the value")] },
      { key: "outcome", title: "Outcome", value: ({ outcome }) => OUTCOMES[outcome].word, cell: ({ outcome }) => mark(outcome, { word: true }) },
      { key: "similarity", title: "Similarity", format: "number" },
      ...(fields.some(({ threshold }) => threshold !== null) ? [{ key: "threshold", title: "Threshold", format: "number", cell: ({ threshold }) => (threshold === null ? DASH : String(threshold)) }] : []),
      { title: "Note", cell: ({ note }) => note && shown(note) },
    ],
  });
}

// The agreement of the runs with the same ground truth and rules, which is computed on request.
function loadedConsistency(load) {
  const box = el("div", null, el("p", { class: "quiet", role: "status" }, "Comparing the predictions of comparable runs…"));
  load().then((found) => replace(box, found.runs.length > 1
    ? [el("p", { class: "quiet" }, `Predictions of ${plural(found.runs.length, "run")} with the same ground truth, rules and convention, compared with each other: `, found.runs.map((run, place) => [place > 0 && ", ", el("bdi", null, shown(run))]), "."), consistencyPanel(found)]
    : el("p", { class: "quiet" }, "Consistency is the agreement of several predictions for the same document. No other run has the same ground truth, rules and convention.")),
  (error) => replace(box, el("p", { class: "notice" }, error.message)));
  return box;
}

function consistencyPanel(ranking) {
  const unstable = Object.entries(ranking.agreement).map(([path, agreement]) => ({ path, agreement })).sort((one, two) => sortable(one.agreement) - sortable(two.agreement));
  return [
    formulaLine("Consistency", ranking.consistency, `mean agreement over ${plural(unstable.length, "field")}`),
    el("h3", null, "Least stable fields"), tableNode({
      caption: "Agreement between predictions by field, least stable first", step: 25, empty: "No fields were compared.", rows: unstable,
      columns: [
        { key: "path", title: "Field", format: "path" },
        { key: "agreement", title: "Agreement", format: "number" },
        { title: "", css: "bar-cell", cell: ({ agreement }) => gauge(agreement, null, { width: 120 }) },
      ],
    }),
  ];
}

function safetyPanel(view) {
  const found = view.safety_judge;
  if (found && found.status === "error") return el("p", { class: "notice" }, "Safety could not be judged: ", shown(found.reasoning));
  return [
    formulaLine("Safety", view.safety, sumText("safety", view)),
    found && found.reasoning && el("p", null, shown(found.reasoning)),
    found && found.warnings.map((text) => el("p", { class: "notice" }, shown(text))),
    !view.judged && el("p", { class: "notice" }, "Safety was not evaluated and counts as 1. To evaluate it, list unsafe words on the Rules page of the web application, or name a safety judge in a rules file."),
  ];
}

function sumText(name, { sizes, judged }) {
  if (name === "completeness") return `${whole(sizes.present)} present / ${whole(sizes.expected)} expected`;
  if (name === "hallucination") return `${whole(sizes.extra)} extra / ${whole(sizes.distinct)} distinct keys`;
  if (name === "accuracy") return sizes.compared === undefined ? "matches / compared" : `${plural(sizes.matched, "match", "matches")} / ${whole(sizes.compared)} compared`;
  return judged ? "score of the safety judge" : "default (not evaluated)";
}

// The response quality score as a sum: each metric, its weight, and what it adds.
function sumTable(view) {
  return tableNode({
    caption: "The response quality score and its parts", css: "rqs-sum", isSorted: false, rows: view.parts,
    columns: [
      { key: "name", title: "Metric", cell: ({ name }) => [capitalized(name), el("span", { class: "detail" }, sumText(QUALITY_NAMES.find((each) => name.endsWith(each)), view))],
        foot: ["RQS", el("span", { class: "detail" }, `sum, limited to 0 to 1; at most ${Number(view.rqs_max.toFixed(4))}`)] },
      { key: "value", title: "Value", format: "cost" },
      { key: "weight", title: "Weight", format: "number", cell: ({ weight }) => signed(weight, 4).replace(/0+$/, "").replace(/\.$/, "") },
      { key: "product", title: "Adds", format: "number", cell: ({ product }) => signed(product, 4), foot: el("strong", { "data-metric": "rqs-sum" }, rate(view.rqs, 4)) },
    ],
  });
}

function rqsNote(view) {
  const bounds = view.bounds && view.bounds.rqs;
  return [
    bounds && el("p", { class: "notice" }, `An error makes the score unknown: it is from ${rate(bounds[0])} to ${rate(bounds[1])}.`),
    !view.judged && el("p", { class: "quiet rqs-note" }, "Safety was not evaluated and counts as 1."),
  ];
}

// The same sums over all scored cases of a run.
export function qualitySection(run) {
  const view = run.quality;
  const accuracy = ({ matched, compared }) => matched / compared;
  const table = tableNode({
    caption: "Accuracy by strategy", step: 20, empty: "No field has a value on both sides.", rows: view.strategies,
    columns: [
      { key: "strategy", title: "Strategy" },
      { key: "matched", title: "Matches", format: "count" },
      { key: "compared", title: "Compared", format: "count" },
      { key: "accuracy", title: "Accuracy", format: "number", value: accuracy },
      { title: "", css: "bar-cell", cell: (row) => gauge(accuracy(row), null) },
    ],
  });
  return section("quality", "Quality", "Completeness, hallucination, accuracy and safety over all scored cases, and their weighted sum, the response quality score (RQS).",
    el("div", { class: "columns" },
      el("div", { class: "panel" }, el("h3", null, "Response quality score"), sumTable(view), view.rqs_failed && el("p", { class: "notice" }, `RQS ${view.rqs_failed}.`), rqsNote(view),
        view.averaged && el("p", { class: "quiet" }, "The metrics are means over the cases of an evaluator, and the counts are totals of the run.")),
      el("div", { class: "panel" }, el("h3", null, "Accuracy by strategy"), table)));
}
