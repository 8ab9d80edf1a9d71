// One case in several runs: the ground truth, and the prediction of every run, with the differences
// between the runs marked. The trees of all runs are merged into one.

import { isItem, keyName } from "./document_tree.js";
import { choice, el } from "./dom.js";
import { nodePath } from "./field_links.js";
import { DASH, isMistake, mark, nameText, OUTCOMES, plural, whole } from "./labels.js";
import { isSame, kindOf } from "./value_encoding.js";
import { bothValues, comparisonText, shown, valueNode } from "./values.js";

const FIELD_CHANGES = { fixed: ["▲", "fixed", "better"], worse: ["▼", "worse", "worse"], outcome: ["↔", "other outcome", ""], value: ["↔", "other value", ""] };

// Merge nodes of several trees by key. An item of the ground truth is the same in all of them, and
// extra items are the same if their content is equal. Returns {key, path, expected, nodes, members}.
function mergeTrees(trees, parent = "") {
  const rows = new Map();
  trees.forEach((nodes, run) => {
    const seen = new Map();
    for (const node of nodes || []) {
      const name = nodeName(node), times = seen.get(name) || 0;
      seen.set(name, times + 1);
      const id = `${times} ${name}`;
      if (!rows.has(id)) rows.set(id, { key: node.key, path: nodePath(parent, node), expected: node.expected, nodes: trees.map(() => null) });
      rows.get(id).nodes[run] = node;
    }
  });
  for (const row of rows.values()) {
    row.members = row.nodes.some((node) => node && node.members) ? mergeTrees(row.nodes.map((node) => node && node.members), row.path) : [];
    const cells = row.nodes.filter((node) => node && (node.mark !== null || !node.members));
    row.isField = cells.length > 0;
    row.differs = row.isField && new Set(row.nodes.map((node) => JSON.stringify(node && [node.mark, isSame(node.candidate) ? node.expected : node.candidate]))).size > 1;
    row.isWrong = cells.some((node) => isMistake(node.mark));
    row.otherTruth = row.nodes.some((node) => node && JSON.stringify(node.expected) !== JSON.stringify(row.expected));
  }
  return [...rows.values()];
}

function nodeName({ key, candidate, members }) {
  if (!isItem(key)) return `key ${key}`;
  const content = (slot, inner) => (inner ? inner.map((node) => [node.key, content(node.candidate, node.members)]) : slot);
  return key.expected === null ? `extra ${JSON.stringify(content(candidate, members))}` : `item ${JSON.stringify(key.expected)}`;
}

function countRows(rows) {
  return rows.reduce((all, row) => countRows(row.members).map((number, place) => number + all[place]
    + (row.isField ? [1, Number(row.differs), Number(row.isWrong)][place] : 0)), [0, 0, 0]);
}

// How a field differs between the runs; only two runs have a direction. A field that a run does not
// have is not wrong in it, unless parts of the case are not shown.
function fieldChange(row, runs) {
  if (!row.differs) return null;
  const outcomes = row.nodes.map((node) => node && node.mark);
  if (outcomes.every((outcome) => outcome === outcomes[0])) return "value";
  if (outcomes.length !== 2 || outcomes.some((outcome, place) => outcome === null && (!runs[place].view || runs[place].view.cut))) return "outcome";
  const [before, after] = outcomes.map(isMistake);
  return before === after ? "outcome" : before ? "fixed" : "worse";
}

// `runs` are {name, view, href}: the name of a run and the view of the case, null if it has none.
export function sideBySide(runs, { show = "", path = "", choose = (_show) => {} } = {}) {
  const rows = mergeTrees(runs.map(({ view }) => (view ? view.tree : [])));
  const [fields, differences, mistakes] = countRows(rows);
  const options = [["all", `All fields (${whole(fields)})`], ["differences", `Differences (${whole(differences)})`], ["mistakes", `Mistakes (${whole(mistakes)})`]];
  const current = options.some(([value]) => value === show) ? show : differences && fields > 20 && !path ? "differences" : "all";
  const table = el("table", { class: "sides", "data-show": current }, el("caption", { class: "spoken" }, "The case in all runs"),
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "Field"), el("th", { scope: "col" }, "Ground truth"),
      runs.map(({ name, href }) => el("th", { scope: "col" }, href ? el("a", { href }, nameText(name)) : nameText(name))))),
    el("tbody", null, rows.map((row) => sideRows(row, 0, runs, path))));
  const control = choice("Fields", options, current, (value) => { table.dataset.show = value; choose(value); });
  const cut = runs.filter(({ view }) => view && view.cut);
  return el("section", { class: "documents", "aria-label": "Documents" },
    el("div", { class: "documents-head" }, el("h2", null, differences ? plural(differences, "difference") : "No field differs"), control),
    runs.filter(({ view }) => !view).map(({ name }) => el("p", { class: "notice" }, "Not available in ", el("bdi", null, shown(name)), ".")),
    cut.length > 0 && el("p", { class: "notice" }, "This case is large, so only mistakes are shown, and a field that is missing below may be correct. results.jsonl contains the whole case."),
    hasOtherTruth(rows) && el("p", { class: "notice" }, "The runs have different ground truth in this case. The ground truth of the first run is shown."),
    el("div", { class: "table-scroll sides-scroll", tabindex: "0", role: "group", "aria-label": "Fields" }, table));
}

function hasOtherTruth(rows) {
  return rows.some((row) => row.otherTruth || hasOtherTruth(row.members));
}

function anyRow(row, test) {
  return test(row) || row.members.some((inner) => anyRow(inner, test));
}

function sideRows(row, depth, runs, path) {
  const indent = `depth-${Math.min(depth, 6)}`;
  const state = [anyRow(row, (each) => each.differs) && "has-difference", anyRow(row, (each) => each.isWrong) && "has-mistake"].filter(Boolean).join(" ");
  const head = row.members.length > 0 && el("tr", { class: `side-group ${state}` },
    el("th", { scope: "rowgroup", colspan: runs.length + 2, class: indent }, keyName(row.key)));
  const own = row.isField && el("tr", {
    class: `side-row ${row.differs ? "has-difference" : ""} ${row.isWrong ? "has-mistake" : ""} ${path && path === row.path ? "highlighted" : ""}`,
    "data-path": row.path, tabindex: path && path === row.path ? "-1" : null,
  }, el("th", { scope: "row", class: indent }, keyName(row.key), changeChip(fieldChange(row, runs))),
  el("td", { "data-label": "Ground truth" }, kindOf(row.expected) === "hidden" ? el("span", { class: "value absent" }, "not available") : valueNode(row.expected)),
  row.nodes.map((node, place) => sideCell(node, runs[place])));
  return [head, own, row.members.map((inner) => sideRows(inner, depth + 1, runs, path))];
}

function changeChip(change) {
  if (!change) return null;
  const [glyph, word, css] = FIELD_CHANGES[change];
  return el("span", { class: `side-change ${css}` }, el("span", { "aria-hidden": "true" }, `${glyph} `), word);
}

function sideCell(node, { name, view }) {
  if (!node) return el("td", { class: "quiet", "data-label": name }, !view ? DASH : view.cut ? "not shown" : "not compared");
  const { mark: outcome, expected, candidate, comparison } = node;
  const detail = comparisonText(comparison);
  const value = kindOf(expected) === "hidden" ? null : isSame(candidate) ? el("span", { class: "same" }, valueNode(expected)) : bothValues(expected, candidate)[1];
  return el("td", { class: outcome !== null && isMistake(outcome) ? `cell-${OUTCOMES[outcome].css}` : null, "data-label": name },
    outcome !== null && mark(outcome), " ", value, detail && el("span", { class: "detail" }, shown(detail)));
}

// Scroll to the field that the address names, and focus it.
export function showHighlighted(node) {
  const row = node.querySelector(".highlighted");
  if (!row) return;
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}
