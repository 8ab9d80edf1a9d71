// The list of cases and its filters.

import { mistakesOf, sliceText } from "./attributes.js";
import { CASE_FILTERS, COUNT_WORDS, errorWord, filtersIn, hashParts, IN_REPORT, query, selectsAttribute } from "./case_links.js";
import { gauge } from "./charts.js";
import { button, el, replace, search, section, select } from "./dom.js";
import { nodeAttribute, nodePath } from "./field_links.js";
import { ERROR_NAMES, INPUT_LABELS, isMistake, mistakeChips, mistakesIn, OUTCOMES, pathText, plural, rate, reasonText, verdictChip, whole } from "./labels.js";
import { dataTable, sortable } from "./table.js";
import { isSame, kindOf, textOf } from "./value_encoding.js";
import { valueName } from "./value_tables.js";
import { bothValues, shown } from "./values.js";

// The controls of a list of cases, for the report and the web application. `state` has the filters
// by name; filters without a control of their own are shown as tags that can be removed.
export function caseFilters(state, { attributes, tags = [], slices = [], sorts = [], patterns = {} }, changed) {
  const boxes = {};
  const chips = el("span", { class: "chips filter-chips" });
  const number = el("span", { class: "quiet", role: "status" });
  const outcomes = [...ERROR_NAMES, "error", ...Object.keys(COUNT_WORDS)].map((name) => [name, errorWord(name)]);
  /** @type {Record<string, [string, string[][]]>} */
  const lists = {
    verdict: ["Verdict", [["", "any"], ...["fail", "partial", "pass", "error"].map((word) => [word, word])]],
    error: ["Outcome of a field", [["", "any"], ...(IN_REPORT ? outcomes.filter(([name]) => !["tp", "tn"].includes(name)) : outcomes)]],
    attribute: ["Attribute", [["", "any"], ...attributes.map((path) => [path, path])]],
    tag: ["Tag", [["", "any"]]],
    slice: ["Slice", [["", "any"], ...slices]],
    sort: ["Sort by", sorts],
  };
  const set = (name, value) => { state[name] = value; changed(); };
  const text = search("Search", "Id, tag, path or value", (value) => set("text", value), { id: "case-filter" });
  for (const [name, [label, options]] of Object.entries(lists)) {
    if (options.length < 2 && name !== "tag") continue;
    boxes[name] = select(label, options, (value) => { set(name, value); refresh(); }, { id: `case-${name}` });
  }
  function refresh() {
    text.querySelector("input").value = state.text || "";
    for (const [name, box] of Object.entries(boxes)) {
      const list = box.querySelector("select"), value = state[name] || "";
      if (![...list.options].some((option) => option.value === value)) list.append(el("option", { value }, value));
      list.value = value;
    }
    const others = CASE_FILTERS.filter((name) => state[name] && name !== "text" && !boxes[name] && name !== "sort");
    replace(chips, others.map((name) => el("span", { class: "tag filter-chip" }, el("bdi", { class: "literal" }, shown(filterLabel(name, state[name], patterns))), " ",
      button("×", () => { set(name, ""); refresh(); }, { class: "as-link", "aria-label": `Remove the filter ${filterLabel(name, state[name], patterns)}` }))),
    CASE_FILTERS.some((name) => state[name] && name !== "sort") && button("Clear filters", () => { for (const name of CASE_FILTERS) if (name !== "sort") state[name] = ""; changed(); refresh(); }, { class: "as-link", id: "clear-filters" }));
  }
  function addTags(names) {
    const list = boxes.tag.querySelector("select");
    for (const name of names) if (![...list.options].some((option) => option.value === name)) list.append(el("option", { value: name }, name));
    boxes.tag.hidden = list.options.length < 2;
  }
  refresh();
  addTags(tags);
  return { node: el("div", { class: "controls" }, text, Object.values(boxes), chips, number), number, refresh, addTags };
}

function filterLabel(name, value, patterns) {
  if (name === "pattern") return `pattern: ${patterns[value] || value.replaceAll("_", " ")}`;
  if (name === "expected" || name === "found") return `${name}: ${value === "absent" ? "absent" : value}`;
  if (name === "input") return INPUT_LABELS[value] || value;
  if (name === "score") return `score: ${value.replace("-", " to ")}`;
  if (name === "ranks") return `cases ${value} of the list, worst first`;
  return `${name}: ${name === "slice" ? sliceText(value) : value}`;
}

// The slices of a run as options of a filter.
export function sliceOptions(run) {
  return (run.slices || []).flatMap(({ key, rows }) => rows.map(({ value }) => [sliceName(key, value), `${key} = ${value}`]));
}

export function sliceName(key, value) {
  return `${key}=${value === "(none)" ? "" : value}`;
}

// The attributes with mistakes, most mistakes first.
export function wrongAttributes(run) {
  return run.attributes.filter((row) => mistakesOf(row) > 0).sort((one, two) => mistakesOf(two) - mistakesOf(one)).map(({ attribute }) => attribute);
}

// The columns of a list of cases. `link` returns the address of a case, and `fieldOf` the first
// field that the filters select, if a list shows one.
export function caseColumns(rows, link, { filters = {}, fieldOf = null } = {}) {
  return [
    { key: "case", title: "Case", value: ({ id }) => String(id), cell: (row) => [el("a", { href: link(row) }, el("bdi", { class: "literal" }, row.id === "" ? "(no id)" : shown(row.id))), row.tags.map((tag) => el("span", { class: "tag" }, shown(tag)))] },
    ...(fieldOf ? fieldColumns(fieldOf, filters) : []),
    { key: "verdict", title: "Verdict", value: ({ verdict }) => verdict || "", cell: ({ verdict, status, vacuous }) => verdictChip(verdict, status, vacuous) },
    { key: "score", title: "Score", format: "number", cell: ({ score, vacuous }) => scoreText(score, vacuous) },
    { title: "", css: "bar-cell", cell: ({ score, vacuous }) => gauge(vacuous ? null : score, null) },
    { key: "mistakes", title: "Mistakes", largestFirst: true, value: (row) => mistakesIn(row.errors_by_type), cell: (row) => mistakeChips(row.errors_by_type) },
    ...(rows.some(({ input }) => input !== "ok") ? [{ key: "input", title: "Input", cell: ({ input }) => (input === "ok" ? el("span", { class: "zero" }, "ok") : INPUT_LABELS[input] || reasonText(input)) }] : []),
  ];
}

/**
 * Whether a case of the report passes filters: `matches(line, filters)`.
 * @param {any} run
 * @param {Record<number, any>} opened
 * @returns {(line: any, filters: Record<string, string>) => boolean}
 */
export function caseMatcher(run, opened) {
  const { lines, types, patterns, mistakes, slices, in_slices: inSlices } = run.cases;
  const paths = run.attributes.map(({ attribute }) => attribute);
  const texts = new Map();
  // The mistakes of a case with the attribute, the type and the pattern of the filters.
  function hasMistake(rank, state) {
    if (!state.attribute && !state.error && !state.pattern) return true;
    const selected = run.types_by_count[state.error] || (state.error ? [state.error] : null);
    return mistakes[rank].some((code) => {
      const field = Math.floor(code / patterns.length);
      return (!selected || selected.includes(types[field % types.length]))
        && (!state.pattern || patterns[code % patterns.length] === state.pattern)
        && (!state.attribute || selectsAttribute(state.attribute, paths[Math.floor(field / types.length)]));
    });
  }
  function hasValues(rank, state) {
    if (!state.expected && !state.found) return true;
    const { cells = [] } = (run.value_tables || []).find(({ attribute }) => attribute === state.attribute) || {};
    return cells.some(({ expected, found, ranks }) => (!state.expected || valueName(expected) === state.expected) && (!state.found || valueName(found) === state.found) && ranks.includes(rank));
  }
  function textIn(rank) {
    if (!texts.has(rank)) texts.set(rank, [...lines[rank].tags, ...(opened[rank] ? treeTexts(opened[rank].tree) : [])].join("\n").toLowerCase());
    return texts.get(rank);
  }
  return ({ rank, id, score, verdict, status, input, tags: own }, state) => {
    if (state.verdict && (state.verdict === "error" ? status !== "error" : verdict !== state.verdict)) return false;
    if (state.tag && !own.includes(state.tag)) return false;
    if (state.slice && !(inSlices[rank] || []).some((place) => slices[place] === state.slice)) return false;
    if (state.input && input !== state.input) return false;
    if (state.score) {
      const [low, high] = state.score.split("-").map(Number);
      if (score === null || sortable(score) < low || (sortable(score) >= high && high < 1)) return false;
    }
    if (state.ranks) {
      const [from, to] = state.ranks.split("-").map(Number);
      if (rank + 1 < from || rank + 1 > to) return false;
    }
    if (!hasMistake(rank, state) || !hasValues(rank, state)) return false;
    const text = state.text.trim().toLowerCase();
    return !text || String(id).toLowerCase().includes(text) || textIn(rank).includes(text);
  };
}

// The list of the report: {node, apply(filters), ranks()}. The filters are in the URL.
export function caseBrowser(run, opened) {
  const { lines, total } = run.cases;
  const tags = Array.from(new Set(lines.flatMap((line) => line.tags))).sort();
  const state = filtersIn("");
  const matches = caseMatcher(run, opened);
  const makeTable = (options) => dataTable({
    caption: "Cases", step: 50, empty: "No cases match the filters.",
    onSort: ({ key, descending }) => { state.sort = `${descending ? "-" : ""}${key}`; remember(); },
    columns: caseColumns(lines, ({ rank }) => caseHash(rank), options),
  });
  const withValues = () => makeTable({ filters: state, fieldOf: ({ rank }) => opened[rank] && firstMistake(opened[rank].tree, state.attribute, state.error) });
  const plain = makeTable({}), holder = el("div", null, plain.node);
  let table = plain, valued = null;
  const searched = el("p", { class: "quiet", id: "searched" });
  const filters = caseFilters(state, { attributes: wrongAttributes(run), tags, slices: sliceOptions(run), patterns: Object.fromEntries((run.advice || []).map(({ pattern, title }) => [pattern, title])) }, () => { remember(); show(); });

  function caseHash(rank, filters = state) {
    return `#case-${rank + 1}${query(filters)}`;
  }
  function remember() {
    if (hashParts().name !== "cases" && !CASE_FILTERS.some((name) => state[name])) return;
    history.replaceState(null, "", `#cases${query(state)}`);
  }
  function show() {
    const found = lines.filter((line) => matches(line, state));
    const name = state.sort.replace(/^-/, "");
    const known = caseColumns(lines).some(({ key }) => key && key === name);
    table = state.attribute && run.cases.opened ? valued ||= withValues() : plain;
    if (holder.firstChild !== table.node) replace(holder, table.node);
    table.show(found, { order: known ? { key: name, descending: state.sort.startsWith("-") } : null });
    filters.number.textContent = found.length === lines.length ? plural(lines.length, "case") : `${whole(found.length)} of ${plural(lines.length, "case")}`;
    const withDocuments = Object.keys(opened).length;
    replace(searched, state.text.trim() && withDocuments < lines.length && `Ids and tags of all ${whole(lines.length)} cases were searched, paths and values of the ${whole(withDocuments)} cases whose documents are included.`);
  }
  function apply(wanted) {
    if (CASE_FILTERS.every((name) => (state[name] || "") === (wanted[name] || ""))) return;
    Object.assign(state, filtersIn(""), wanted);
    filters.refresh();
    show();
  }
  show();
  return {
    node: section("cases", "Cases", "Worst first. Open a case to see its documents side by side.",
      (lines.length < total || run.cases.opened < lines.length) && el("p", { class: "notice", id: "sampled" }, sampledText(run.cases)),
      filters.node, searched, holder),
    apply, caseHash, state, ranks: () => table.rows().map(({ rank }) => rank),
  };
}

// The first mistake of a tree that the filters by attribute and outcome select, and how many more.
export function firstMistake(tree, attribute, error) {
  const found = [];
  (function walk(nodes, above, place) {
    for (const node of nodes) {
      const own = nodeAttribute(above, node), path = nodePath(place, node);
      if (isMistake(node.mark) && selectsAttribute(attribute, own) && (!error || COUNT_WORDS[error] || OUTCOMES[node.mark].name === error)) found.push({ path, node });
      if (node.members) walk(node.members, own, path);
    }
  }(tree, "", ""));
  if (!found.length || kindOf(found[0].node.expected) === "hidden") return null;
  const [{ path, node: { expected, candidate } }] = found;
  return { path, expected, candidate, more: found.length - 1 };
}

const MAX_EXCERPT = 80;

// The parts of two long values around their first difference.
function excerpts(slots) {
  const texts = slots.map((slot) => (["string", "json"].includes(kindOf(slot)) ? Array.from(textOf(slot)) : null));
  if (!texts.some((text) => text && text.length > MAX_EXCERPT)) return slots;
  let start = 0;
  if (texts.every(Boolean)) while (start < texts[0].length && texts[0][start] === texts[1][start]) start += 1;
  start = Math.max(0, start - MAX_EXCERPT / 2);
  return slots.map((slot, side) => {
    if (!texts[side]) return slot;
    const end = start + MAX_EXCERPT, text = `${start ? "…" : ""}${texts[side].slice(start, end).join("")}${texts[side].length > end ? "…" : ""}`;
    return kindOf(slot) === "json" ? { j: text } : text;
  });
}

// Two columns with the values of a field of each case: `fieldOf` returns {path, expected, candidate,
// more}, or null if nothing is known. The path is shown if it is not the attribute of the filter.
function fieldColumns(fieldOf, filters) {
  const both = ({ expected, candidate }) => bothValues(...(isSame(candidate) ? [excerpts([expected, expected])[0], candidate] : excerpts([expected, candidate])));
  return [
    { title: "Expected", css: "field-value", cell: (row) => {
      const field = fieldOf(row);
      return field && [both(field)[0], field.path !== filters.attribute && el("span", { class: "detail" }, pathText(field.path))];
    } },
    { title: "Predicted", css: "field-value", cell: (row) => {
      const field = fieldOf(row);
      return field && [both(field)[1], field.more > 0 && el("span", { class: "detail" }, `and ${whole(field.more)} more`)];
    } },
  ];
}

// A score that rests on nothing says so.
export function scoreText(score, vacuous) {
  return vacuous ? [rate(score), " ", el("span", { class: "tile-note" }, "vacuous")] : rate(score);
}

function sampledText({ lines, total, opened }) {
  const listed = lines.length < total ? `This list contains the ${whole(lines.length)} worst of ${plural(total, "case")}` : `This list contains ${total === 1 ? "the only case" : `all ${whole(total)} cases`}`;
  const openable = opened < lines.length ? `, and the ${whole(opened)} worst can be opened` : "";
  return `${listed}${openable}. results.jsonl contains all cases. Metrics cover all cases.`;
}

// All paths and values of a tree as text, for searching.
export function treeTexts(nodes, found = [], place = "") {
  for (const node of nodes) {
    const { key, expected, candidate, members } = node, path = nodeAttribute(place, node);
    if (typeof key === "string") found.push(path);
    for (const slot of [expected, candidate]) if (!isSame(slot) && !["missing", "hidden"].includes(kindOf(slot))) found.push(textOf(slot));
    if (members) treeTexts(members, found, path);
  }
  return found;
}
