// The comparison of two runs: conclusion, attributes, slices, changed cases and metrics. Colors mark
// only significant changes, and single cases, whose direction is certain.

import { sliceText } from "./attributes.js";
import { caseArticle } from "./case.js";
import { treeTexts } from "./cases.js";
import { dumbbellMark, roundTicks, rowPlot } from "./charts.js";
import { el, hashAddress, hashFilters, pager, replace, search, section, select } from "./dom.js";
import { capitalized, changeNumber, DASH, nameText, outcomeWord, pathText, plural, rate, whole } from "./labels.js";
import { tileGrid } from "./overview.js";
import { sideBySide } from "./side_by_side.js";
import { documentTable, tableNode, valuesOf } from "./table.js";
import { kindOf, textOf } from "./value_encoding.js";
import { bothValues, shown } from "./values.js";

const CONCLUSIONS = ["worse", "better", "equivalent", "not proven", "too few cases to tell", "not comparable"];
const DIRECTIONS = { worse: ["▼", "worse", "worse"], improved: ["▲", "improved", "better"], mixed: ["↔", "neither", ""] };
export const CHANGE_FILTERS = ["attribute", "direction", "slice", "text", "offset"];
const MAX_FIELDS = 6, MAX_DUMBBELLS = 20, CHANGES_STEP = 50;

// `links.attribute(name, direction)` is the address of the changed cases of an attribute.
export function comparisonHead(found, links) {
  const { conclusion, cases, comparable, before, after, notes } = found;
  const counts = [[cases.improved, "improved"], [cases.worse, "worse"], [cases.unchanged - cases.mixed, "unchanged"], ...(cases.mixed ? [[cases.mixed, "changed with the same score"]] : [])];
  return [
    notes.map((note) => el("p", { class: "notice" }, shown(note))),
    el("p", { class: "conclusion headline", id: "conclusion" }, el("span", { class: changeClass(conclusion.word) }, conclusion.verdict), conclusion.changed.map(({ text, attribute, direction }) =>
      (attribute === null ? text : el("a", { class: DIRECTIONS[direction][2], href: links.attribute(attribute, direction) }, pathText(text))))),
    el("p", { class: "quiet", id: "evidence" }, `${capitalized(conclusion.evidence)}.`),
    conclusion.explanation && el("p", { id: "explanation" }, conclusion.explanation),
    conclusion.repeated.length > 0 && el("ul", { class: "repeated-changes", "aria-label": "Repeated errors that are new or fixed" }, conclusion.repeated.map((text) => el("li", null, shown(text)))),
    el("p", { class: "case-counts" }, `${plural(cases.paired, "case")} in both runs`,
      comparable && `: ${counts.map(([number, name]) => `${whole(number)} ${name}`).join(", ")}`,
      cases.not_scored > 0 && `, ${whole(cases.not_scored)} not scored in one of the runs`,
      cases.only_before > 0 && `; ${whole(cases.only_before)} only in the first run`, cases.only_after > 0 && `; ${whole(cases.only_after)} only in the second run`),
    el("p", { class: "quiet conventions" }, before.convention === after.convention ? `Convention ${before.convention}; score of a case: ${metricLabel(conclusion.primary)}`
      : `Conventions: ${before.convention} and ${after.convention}`,
      !comparable && `. Runs with different ${found.different.join(" and ")} are neither better nor worse.`),
  ];
}

// The parts as {id, title, lead, node}. `links` has the functions attribute and slice, which return
// the address of the changed cases; `list` is the list of changed cases.
export function comparisonParts(found, links, list) {
  const { metrics, evaluators, attributes, slices } = found.tables;
  return [
    { id: "attributes", title: "Attributes", lead: "F1 per attribute, with the numbers of cases that have fewer or more mistakes in it. Intervals and p-values are adjusted for the number of attributes.", node: [dumbbells("F1", attributes, links.attribute), changeTable("Attributes of both runs", attributes, links.attribute)] },
    ...(slices.rows.length ? [{ id: "slices", title: "Slices", lead: `${capitalized(metricLabel(found.conclusion.metric))} per slice of the cases. Intervals and p-values are adjusted for the number of slices.`, node: [dumbbells(metricLabel(found.conclusion.metric), slices, links.slice), changeTable("Slices of both runs", slices, links.slice)] }] : []),
    ...(found.comparable ? [{ id: "changed", title: "Changed cases", lead: "All cases whose score or fields changed, worse cases first. Open a case to see the ground truth and both predictions.", node: list }] : []),
    { id: "metrics", title: "Metrics", lead: null, node: changeTable("Metrics of both runs", metrics) },
    ...(evaluators.rows.length ? [{ id: "evaluators", title: "Evaluators", lead: "Mean score per evaluator, with the numbers of cases that it scored higher or lower. Intervals and p-values are adjusted for the number of evaluators.", node: changeTable("Evaluators of both runs", evaluators) }] : []),
  ];
}

// The largest changes as a chart; the table below it has all of them.
function dumbbells(metric, table, href) {
  const rows = valuesOf(table).map((row, place) => ({ ...row, text: table.rows[place].name.text }));
  const changed = rows.filter(({ before, after, delta }) => (before !== null || after !== null) && delta !== 0);
  if (!changed.length) return null;
  const shownRows = changed.slice(0, MAX_DUMBBELLS);
  const label = `${metric} of both runs for ${plural(shownRows.length, "row")}. The table below contains the same data.`;
  const text = (value) => (value === null ? "undefined" : rate(value));
  return el("figure", { class: "panel dumbbells" },
    rowPlot(label, shownRows, {
      ticks: roundTicks(shownRows.flatMap(({ before, after }) => [before, after])), name: ({ text: name }) => name, href: ({ name, improved, worse }) => (improved || worse ? href(name) : null),
      draw: (row, x, y) => dumbbellMark(x, y, row.before, row.after, { css: changeClass(row.word), title: `${row.text}: ${text(row.before)} → ${text(row.after)} (${row.word})` }),
    }),
    el("figcaption", { class: "quiet" }, `${capitalized(metric)}: ○ before, ● after. A thick line is a significant change.`,
      changed.length > shownRows.length && ` ${whole(shownRows.length)} of ${whole(changed.length)} changes are shown.`,
      rows.length > changed.length && ` ${whole(rows.length - changed.length)} without a change ${rows.length - changed.length === 1 ? "is" : "are"} only in the table.`));
}

function changeClass(word) {
  return word === "better" || word === "worse" ? word : "";
}

function changeText(value, css) {
  if (value === null || value === undefined) return DASH;
  return el("span", { class: `change ${css}` }, `${Math.abs(value) < 1e-9 ? "=" : value < 0 ? "▼" : "▲"} ${changeNumber(value)}`);
}

function metricLabel(name) {
  return name === "rqs" ? "RQS" : name.replaceAll("_", " ").replace(" f1", " F1");
}

// The names in a table of changes that have cases with fewer or more mistakes.
export function changedNames(table) {
  return valuesOf(table).filter(({ improved, worse }) => improved || worse).map(({ name }) => name);
}

// A table of the comparison; `href(name, direction)` is the address of the changed cases of a row.
function changeTable(caption, table, href = (_name, _key) => null) {
  const count = (key) => (row) => { const target = row[key].value && href(row.name.value, key); return target ? el("a", { href: target }, row[key].text) : row[key].text; };
  const p = { hint: "probability of a change at least this large by chance" };
  return documentTable(table, {
    caption, step: 20, empty: "Nothing to compare.",
    columns: {
      name: { cell({ name, improved, worse }) {
        const target = (improved?.value || worse?.value) && href(name.value);
        return target ? el("a", { href: target }, pathText(name.text)) : pathText(name.text);
      } },
      delta: { cell: (row) => changeText(row.delta.value, changeClass(row.word.value)) },
      interval: { align: "left", isSorted: false, css: "labelled", hint: "changes that the cases do not rule out", cell: ({ interval }) => el("span", { class: "nowrap" }, interval.text) },
      p, p_adjusted: p, improved: { cell: count("improved") }, worse: { cell: count("worse") },
      word: { css: "long-value", value: ({ word }) => CONCLUSIONS.indexOf(word.value) },
    },
  });
}

// The list of changed cases; `href(row, path)` is the address of a case, or null.
/** @param {Record<string, any>} options */
export function changedCaseList({ attributes, slices, href, ...given }) {
  return pagedCases({
    ...given, noun: "changed case", table: (rows, empty) => changedCases(rows, href, empty),
    filters: [
      ["Attribute", "attribute", attributes.map((path) => [path, path])],
      ["Direction", "direction", Object.entries(DIRECTIONS).map(([value, [, word]]) => [value, word])],
      ...(slices.length ? [["Slice", "slice", slices.map((name) => [name, sliceText(name)])]] : []),
    ],
  });
}

// The cases in which several runs differ, with the score and the number of mistakes of each run.
/** @param {Record<string, any>} options */
export function differingCaseList({ names, attributes, href, ...given }) {
  return pagedCases({
    ...given, noun: "differing case", table: (rows, empty) => differingCases(rows, names, href, empty),
    filters: [["Attribute with mistakes in some runs", "attribute", attributes.map((path) => [path, path])]],
  });
}

// A list of cases by pages. `load(state)` returns a promise of {total, cases}, and `save(state)` stores
// the filters in the address. Returns the node, and `show`, which applies other filters.
/** @param {Record<string, any>} options */
function pagedCases({ state, filters, load, save, table, noun }) {
  const list = el("div"), pages = el("div", { class: "pages" });
  const number = el("span", { class: "quiet", role: "status" }, "Loading cases…");
  let latest = 0;
  async function draw() {
    const own = latest += 1, offset = Number(state.offset) || 0;
    try {
      const found = await load({ ...state, offset, limit: CHANGES_STEP });
      if (own !== latest) return;
      number.textContent = plural(found.total, noun);
      replace(list, table(found.cases, ["text", ...filters.map(([, name]) => name)].some((name) => state[name]) ? `No ${noun} matches the filters.` : `No ${noun}.`));
      replace(pages, pager({ offset, step: CHANGES_STEP, total: found.total, go }));
    } catch (error) {
      number.textContent = "";
      replace(list, el("p", { class: "problem", role: "alert" }, error.message));
    }
  }
  function go(offset) {
    state.offset = Math.max(0, offset) || "";
    save(state);
    draw();
    list.scrollIntoView();
  }
  const set = (name) => (value) => { state[name] = value; state.offset = ""; save(state); draw(); };
  const filter = ([label, name, options]) => {
    const own = state[name] && !options.some(([value]) => value === state[name]) ? [[state[name], state[name]]] : [];
    return select(label, [["", "any"], ...options, ...own], set(name), { id: `changed-${name}`, value: state[name] });
  };
  const controls = el("div", { class: "controls" },
    search("Search", "Id, tag, path or value", set("text"), { id: "changed-text", value: state.text }), filters.map(filter), number);
  const ready = draw();
  return {
    ready,
    node: el("div", null, controls, list, pages),
    show(wanted) {
      Object.assign(state, wanted);
      for (const [name, value] of Object.entries(wanted)) {
        const box = /** @type {HTMLInputElement | HTMLSelectElement} */ (controls.querySelector(`#changed-${name}`));
        if (box) box.value = value;
      }
      draw();
    },
  };
}

function caseName(row, target) {
  const name = el("bdi", { class: "literal" }, row.case_id === "" ? "(no id)" : shown(row.case_id));
  return target ? el("a", { href: target }, name) : name;
}

function differingCases(rows, names, href, empty) {
  return tableNode({
    caption: "Differing cases", step: CHANGES_STEP, isSorted: false, empty, rows,
    columns: [
      { key: "case_id", title: "Case", cell: (row) => caseName(row, href(row, "")) },
      ...names.map((name, run) => ({ title: name, head: nameText(name), format: "number", cell: ({ scores, mistakes }) => [rate(scores[run]), el("span", { class: "detail" }, plural(mistakes[run], "mistake"))] })),
    ],
  });
}

function changedCases(rows, href, empty) {
  const direction = (row) => { const [glyph, word, css] = DIRECTIONS[row.direction]; return el("span", { class: `nowrap ${css}` }, `${glyph} ${word}`); };
  return tableNode({
    caption: "Changed cases", step: CHANGES_STEP, isSorted: false, empty, rows,
    columns: [
      { key: "case_id", title: "Case", cell: (row) => caseName(row, href(row, "")) },
      { key: "direction", title: "Direction", cell: direction },
      { key: "before", title: "Before", format: "number" },
      { key: "after", title: "After", format: "number" },
      { title: "Change", format: "number", cell: (row) => changeText(row.after - row.before, DIRECTIONS[row.after < row.before ? "worse" : row.after > row.before ? "improved" : "mixed"][2]) },
      { key: "fields", title: "Changed fields", css: "long-value", cell: (row) => changedFields(row, href) },
    ],
  });
}

function changedFields(row, href) {
  const { fields, field_count: total = fields.length } = row;
  const name = (path) => { const target = href(row, path); return target ? el("a", { href: target }, pathText(path)) : pathText(path); };
  const list = (some) => el("ul", { class: "changed-fields" }, some.map(({ path, before, after, values }) =>
    el("li", null, name(path), `: ${outcomeWord(before)} → ${outcomeWord(after)}`, values && changedValues(values))));
  const rest = fields.slice(MAX_FIELDS);
  return [list(fields.slice(0, MAX_FIELDS)),
    rest.length > 0 && el("details", null, el("summary", null, `${plural(total - MAX_FIELDS, "more field")}`), list(rest)),
    fields.length < total && el("p", { class: "quiet" }, `${whole(fields.length)} of ${whole(total)} fields are listed.`)];
}

// The expected value of a field and both predictions, with differing characters marked.
function changedValues({ expected, before, after }) {
  const [ours, second] = bothValues(expected, after);
  return el("span", { class: "changed-values" },
    el("span", null, el("span", { class: "kind" }, "expected"), " ", ours), " ",
    el("span", null, el("span", { class: "kind" }, "before"), " ", bothValues(expected, before)[1]), " ",
    el("span", null, el("span", { class: "kind" }, "after"), " ", second));
}

export function comparisonSection(run, opened, before) {
  const found = run.comparison, state = hashFilters(CHANGE_FILTERS);
  const cases = found.changes;
  // Paths and values of changed fields, and of the documents that the report includes.
  const textOfChange = (fields, id, rank) => [id, ...(rank === null ? [] : run.cases.lines[rank].tags),
    ...fields.flatMap(({ path, values = {} }) => [path, ...Object.values(values).filter((slot) => !["missing", "hidden"].includes(kindOf(slot))).map(textOf)]),
    ...[opened[rank], before[rank]].flatMap((view) => (view ? treeTexts(view.tree) : []))].join("\n").toLowerCase();
  const matches = ({ direction, attributes, slices, fields, rank, case_id: id }, wanted) => {
    const own = wanted.attribute && attributes.find(({ attribute }) => attribute === wanted.attribute);
    if (wanted.attribute && !own) return false;
    const way = own ? (own.change > 0 ? "improved" : "worse") : direction;
    return (!wanted.direction || way === wanted.direction) && (!wanted.slice || slices.includes(wanted.slice))
      && textOfChange(fields, id, rank).includes(wanted.text.trim().toLowerCase());
  };
  const list = changedCaseList({
    state, attributes: changedNames(found.tables.attributes).sort(), slices: valuesOf(found.tables.slices).map(({ name }) => name).sort(),
    load: async (wanted) => {
      const all = cases.filter((each) => matches(each, wanted));
      return { total: all.length, cases: all.slice(wanted.offset, wanted.offset + wanted.limit) };
    },
    save: (changed) => history.replaceState(null, "", hashAddress("comparison-changed", changed)),
    href: ({ rank }, path) => (rank === null ? null : hashAddress(`${before[rank] ? "diff" : "case"}-${rank + 1}`, { path })),
  });
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#comparison-changed")) list.show(hashFilters(CHANGE_FILTERS));
  });
  const links = {
    attribute: (attribute, direction) => hashAddress("comparison-changed", { attribute, direction }),
    slice: (slice, direction) => hashAddress("comparison-changed", { slice, direction }),
  };
  return section("comparison", "Comparison", ["Compared with ", el("strong", null, el("bdi", null, shown(found.before.title)))],
    comparisonHead(found, links), tileGrid(found.tiles),
    comparisonParts(found, links, [
      cases.length < found.changed && el("p", { class: "notice" }, `The ${whole(cases.length)} of ${whole(found.changed)} cases with the largest changes are listed. fieldmark diff --format json lists all.`), list.node,
    ]).map(({ id, title, lead, node }) =>
      el("div", { id: `comparison-${id}` }, el("h3", null, title), lead && el("p", { class: "quiet" }, lead), node)));
}

// One case of the report in both runs.
export function comparedCase(rank, { run, opened, before, path }) {
  const { id } = run.cases.lines[rank];
  const { before: first, after: second } = run.comparison;
  return caseArticle("h1", id,
    [el("a", { href: "#comparison-changed", id: "back" }, "← Changed cases"), el("a", { href: `#case-${rank + 1}` }, "Only this run")], null,
    sideBySide([{ name: first.title, view: before[rank] }, { name: second.title, view: opened[rank] }], { path }));
}
