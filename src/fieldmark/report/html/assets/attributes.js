// The metrics of all attributes, and of slices of the cases.

import { casesHref, COUNT_WORDS, IN_REPORT, mistakeLinks, stateInUrl } from "./case_links.js";
import { sliceName } from "./cases.js";
import { confusionBar, gauge, trendLine } from "./charts.js";
import { choice, el, search, section, svg } from "./dom.js";
import { DASH, ERROR, ERROR_NAMES, mark, mistakesIn, outcomeOf, pathText, plural, rate, whole } from "./labels.js";
import { dataTable, sortable, tableNode } from "./table.js";
import { shown } from "./values.js";

// A value although there was nothing to count: some conventions report 0 then.
function isVacuous({ tp, fp, fn, f1 }) {
  return f1 !== null && !(tp || fp || fn);
}

// The confidence interval of a rate; its standard deviation is shown on hover.
function spreadNode(interval, deviation = null) {
  return interval && el("span", { class: "interval", title: `95% confidence interval${deviation === null ? "" : `; standard deviation ${rate(deviation)}`}` }, `${rate(interval[0], 2)}${DASH}${rate(interval[1], 2)}`);
}

export function mistakesOf(row) {
  return mistakesIn(row.errors_by_type) + row.errors;
}

// The F1 over all fields that the run would gain if the attribute had no mistakes: all of its
// expected values would be true positives.
function scoreLost(row, { tp, fp, fn }) {
  const wrong = mistakesIn(row.errors_by_type), extra = row.errors_by_type.hallucination;
  const f1 = (right, over, under) => (right || over || under ? 2 * right / (2 * right + over + under) : 0);
  return wrong ? f1(tp + wrong - extra, fp - row.fp, fn - row.fn) - f1(tp, fp, fn) : 0;
}

const RANKS = {
  errors: ["By mistakes", mistakesOf],
  lost: ["By score lost", scoreLost],
};

// A link to the rule of a field; only the web application can change rules.
export function ruleLink(page, path) {
  return el("a", { class: "edit-rule", href: `${page}?${new URLSearchParams({ path })}`, "aria-label": `Edit rule of ${path}` }, "Edit rule");
}

export function attributeSection(run) {
  const trends = run.trends && new Map(run.trends.attributes.map(({ attribute, f1 }) => [attribute, f1]));
  const url = stateInUrl("rank", "attributes");
  let rank = url.read() in RANKS ? url.read() : "errors";
  const count = (name, hint) => ({ key: name, title: name.toUpperCase(), hint, format: "count", cell: (row) => countLink(row, name) });
  function countLink(row, name) {
    const number = row[name];
    if (!number) return el("span", { class: "zero" }, "0");
    // The report knows the mistakes of each case, but not its matches.
    if (IN_REPORT && (name === "tp" || name === "tn")) return whole(number);
    return el("a", { href: casesHref({ attribute: row.attribute, error: name }), "aria-label": `${whole(number)} ${COUNT_WORDS[name]}, ${row.attribute}` }, whole(number));
  }
  const spread = (row, name) => spreadNode(row.interval[name], row.deviation[name]);
  const share = (name, title) => ({ key: name, title, format: "number", cell: (row) => [rate(row[name]), spread(row, name)] });
  const barLinks = (row) => Object.fromEntries(Object.keys(COUNT_WORDS).filter((name) => !IN_REPORT || name === "fp" || name === "fn").map((name) => [name, casesHref({ attribute: row.attribute, error: name })]));
  const name = (row) => (mistakesOf(row) ? el("a", { href: casesHref({ attribute: row.attribute }) }, pathText(row.attribute)) : pathText(row.attribute));
  const table = dataTable({
    caption: "Attributes", step: 25, empty: "No attributes match the filter.",
    columns: [
      { key: "attribute", title: "Attribute", cell: (row) => [name(row), row.comparator && row.comparator !== "exact" && el("span", { class: "detail" }, shown(row.comparator)), run.edit_rules && ruleLink(run.edit_rules, row.attribute)] },
      { title: "Confusion", css: "bar-cell", cell: (row) => confusionBar(row, barLinks(row), { width: 110 }) },
      count("tp", "True positives: predicted and correct"),
      count("tn", "True negatives: empty on both sides"),
      count("fp", "False positives: predicted, but wrong or extra"),
      count("fn", "False negatives: expected, but wrong or missing"),
      share("precision", "Precision"),
      share("recall", "Recall"),
      { key: "f1", title: "F1", format: "number", cell: (row) => [el("span", { class: "f1" }, rate(row.f1)), isVacuous(row) && el("span", { class: "tile-note" }, "vacuous"), row.f1_note && el("span", { class: "tile-note" }, row.f1_note), spread(row, "f1")] },
      { title: "", css: "bar-cell", cell: (row) => gauge(isVacuous(row) || row.f1_note ? null : row.f1, row.interval.f1) },
      { key: "lost", title: "Score lost", hint: "How much higher micro F1 would be without the mistakes of this attribute", format: "cost", value: (row) => scoreLost(row, run.micro) },
      ...(trends ? [{ title: "Trend", css: "bar-cell", cell: (row) => trends.has(row.attribute) && trendLine(trends.get(row.attribute)) }] : []),
      { key: "mistakes", title: "Mistakes", largestFirst: true, value: mistakesOf, cell: (row) => [mistakeLinks(row.errors_by_type, { attribute: row.attribute }), row.errors > 0 && el("a", { class: "chip-link", href: casesHref({ attribute: row.attribute, error: "error" }) }, mark(ERROR, { count: row.errors }))] },
    ],
  });
  let text = "", wrongOnly = false;
  function show() {
    const query = text.trim().toLowerCase();
    const rows = run.attributes.filter((row) => row.attribute.toLowerCase().includes(query) && (!wrongOnly || mistakesOf(row) > 0));
    const keys = new Map(rows.map((row) => [row, RANKS[rank][1](row, run.micro)]));
    table.show(rows.sort((one, two) => sortable(keys.get(two) - keys.get(one)) || mistakesOf(two) - mistakesOf(one)), { order: null });
    number.textContent = rows.length === run.attributes.length ? plural(rows.length, "attribute") : `${whole(rows.length)} of ${plural(run.attributes.length, "attribute")}`;
  }
  const number = el("span", { class: "quiet", role: "status" });
  const controls = el("div", { class: "controls" },
    search("Filter", "Part of a path", (value) => { text = value; show(); }, { id: "attribute-filter" }),
    choice("Attributes", [["all", "All"], ["wrong", "With mistakes"]], "all", (value) => { wrongOnly = value === "wrong"; show(); }),
    choice("Order", Object.entries(RANKS).map(([each, [label]]) => [each, label]), rank, (value) => { rank = value; url.write(value === "errors" ? "" : value); show(); }),
    number);
  show();
  return section("attributes", "Attributes", "Metrics per attribute (a path without list indexes) over all scored cases, with the most mistakes or the largest loss first. Select an attribute with mistakes or a number to see its cases.", controls, table.node,
    el("p", { class: "legend" }, Object.entries(COUNT_WORDS).map(([css, word]) =>
      el("span", null, svg("svg", { width: 14, height: 12, "aria-hidden": "true" }, svg("rect", { class: `fill-${css}`, width: 14, height: 12 })), word)),
    ERROR_NAMES.map((name) => mark(outcomeOf(name), { word: true }))));
}

export function sliceSection(run) {
  return section("slices", "Slices", "Metrics of groups of cases, the weakest group first. A slice with few cases has a wide confidence interval.", run.slices.map(sliceTable));
}

// The name of a slice for people: "tag = other" for tag=other.
export function sliceText(name) {
  const place = name.indexOf("=");
  return `${name.slice(0, place)} = ${name.slice(place + 1) || "(none)"}`;
}

function sliceTable({ key, slices, metrics, rows }) {
  const [first, ...others] = metrics;
  const notes = (row) => [...row.notes, ...(row.few ? ["few cases"] : [])].map((note) => [" ", el("span", { class: "tile-note" }, note)]);
  const table = tableNode({
    caption: `Slices by ${key}`, step: 25, empty: "No slices.", rows,
    columns: [
      { key: "value", title: "Slice", cell: (row) => [el("a", { href: casesHref({ slice: sliceName(key, row.value) }) }, el("bdi", { class: "literal" }, shown(row.value))), notes(row)] },
      { key: "cases", title: "Cases", format: "count" },
      { key: first.name, title: first.title, format: "number", cell: (row) => [el("span", { class: "f1" }, rate(row[first.name])), spreadNode(row.interval)] },
      { title: "", css: "bar-cell", cell: (row) => gauge(row.notes.length ? null : row[first.name], row.interval) },
      ...others.map(({ name, title }) => ({ key: name, title, format: "number" })),
    ],
  });
  const means = metrics.filter(({ deviation }) => deviation !== null).map(({ title, mean, deviation }) => `${title} ${rate(mean)} ± ${rate(deviation)}`);
  return el("div", { class: "slices" }, el("h3", null, "By ", el("bdi", { class: "literal" }, shown(key))), table,
    means.length > 0 && el("p", { class: "quiet" }, `Mean ± standard deviation of ${whole(slices)} slices: ${means.join(", ")}`));
}
