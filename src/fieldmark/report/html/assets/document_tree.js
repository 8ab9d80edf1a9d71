// Two documents side by side, as one tree; a list of flat items is a table of aligned rows.

import { casesHref } from "./case_links.js";
import { choice, el, fill, spoken } from "./dom.js";
import { EXTRA, isMistake, mark, MATCH, MISSING, NOT_COMPARED, OUTCOMES, plural, rate, whole } from "./labels.js";
import { regionId } from "./regions.js";
import { isSame, kindOf } from "./value_encoding.js";
import { bothValues, comparisonText, shown, valueNode } from "./values.js";

// The numbers of mistakes and fields in a list of nodes.
function countNodes(nodes) {
  let mistakes = 0, fields = 0;
  for (const node of nodes) {
    if (node.mark !== null) { fields += 1; mistakes += isMistake(node.mark) ? 1 : 0; }
    if (node.members) {
      const [inner, all] = countNodes(node.members);
      mistakes += inner;
      fields += all;
    }
  }
  return [mistakes, fields];
}

export function documentTree(nodes) {
  const [mistakes, fields] = countNodes(nodes);
  const box = el("div", { class: "tree" },
    el("div", { class: "tree-head", "aria-hidden": "true" }, el("span"), el("span", null, "Field"), el("span", null, "Expected"), el("span", null, "Predicted")),
    nodes.map((node) => treeNode(node, fields > 80, "")));
  if (mistakes && fields > 40) box.classList.add("only-mistakes");
  const control = choice("Fields", [["all", `All fields (${whole(fields)})`], ["mistakes", `Mistakes (${whole(mistakes)})`]],
    box.classList.contains("only-mistakes") ? "mistakes" : "all",
    (value) => box.classList.toggle("only-mistakes", value === "mistakes"));
  return [mistakes < fields && mistakes > 0 && control, box];
}

const PLAIN_KEY = /^[^.[\]"*]*[^.[\]"*\s][^.[\]"*]*$/;

// Whether the key of a node has the places of two aligned items.
export function isItem(key) {
  return typeof key === "object";
}

// The path of a key or of an aligned item, with the index of the ground truth if there is one. Items
// of the prediction without a counterpart may have the path of another item, so theirs starts with +.
export function fieldPath(parent, key) {
  if (isItem(key) && key.expected === null && !parent.startsWith("+")) return fieldPath(`+${parent}`, key);
  if (!isItem(key)) return PLAIN_KEY.test(key) ? `${parent}${parent && "."}${key}` : `${parent}[${JSON.stringify(key)}]`;
  const place = key.expected === null ? key.candidate : key.expected;
  if (typeof place === "number") return `${parent}[${place}]`;
  return place.startsWith("[") || parent === "" ? parent + place : `${parent}.${place}`;
}

// The attributes of the row of a path.
function rowPath(path) {
  const extra = path.startsWith("+");
  return { "data-path": extra ? path.slice(1) : path, "data-extra": extra };
}

// The path of a row, which starts with + in an extra item.
export function pathOfRow(row) {
  return `${"extra" in row.dataset ? "+" : ""}${row.dataset.path}`;
}

// The row of a field, or of the innermost branch that contains it.
export function rowOfPath(tree, path) {
  const rows = Array.from(tree.querySelectorAll("[data-path]"));
  const exact = rows.find((row) => pathOfRow(row) === path || row.dataset.name === path) || rows.find((row) => row.dataset.path === path);
  if (exact) return exact;
  const around = rows.filter((row) => isBelow(path, pathOfRow(row)));
  return around.sort((one, two) => two.dataset.path.length - one.dataset.path.length)[0] || null;
}

export function isBelow(path, parent) {
  return parent !== "" && path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length));
}

// Opens everything that hides a row, and scrolls to it.
export function revealRow(row) {
  for (let each = row.parentElement; each; each = each.parentElement) if (each instanceof HTMLDetailsElement) each.open = true;
  const tree = row.closest(".tree");
  if (tree && !row.getClientRects().length) {
    const all = tree.closest(".documents") && tree.closest(".documents").querySelector('.choice [data-value="all"]');
    if (all) all.click();
  }
  row.scrollIntoView({ block: "nearest" });
}

function treeNode(node, large, parent) {
  const { key, mark: outcome, expected, candidate, members } = node;
  const isPath = !isItem(key) && !parent && (key === "" || kindOf(expected) === "hidden");
  const path = isPath ? key : fieldPath(parent, key);
  if (!members) return fieldRow(node, path, parent);
  const [mistakes, fields] = countNodes(members);
  const open = mistakes > 0 || !large;
  return el("details", { class: mistakes ? "branch has-mistake" : "branch", open, ...rowPath(path) },
    el("summary", null,
      el("span", { class: "branch-name" }, keyName(key)),
      el("span", { class: "quiet" }, sizeText(expected, candidate, fields)),
      mistakes > 0 && el("span", { class: "branch-mistakes" }, plural(mistakes, "mistake"))),
    outcome !== null && fieldRow(node, path, parent),
    isTabular(members) ? itemTable(members, path) : members.map((inner) => treeNode(inner, large, path)));
}

function sizeText(expected, candidate, fields) {
  const [ourKind, theirKind] = [kindOf(expected), kindOf(candidate)];
  if (ourKind !== theirKind && ourKind !== "missing" && theirKind !== "missing") return `${ourKind} expected, ${theirKind} predicted`;
  if (ourKind === "list" || theirKind === "list") {
    const ours = expected && expected.a, theirs = candidate && candidate.a;
    if (ours === undefined || ours === null) return `${plural(theirs, "item")} predicted, none expected`;
    if (theirs === undefined || theirs === null) return `${plural(ours, "item")} expected, none predicted`;
    return ours === theirs ? plural(ours, "item") : `${plural(ours, "item")} expected, ${whole(theirs)} predicted`;
  }
  return plural(fields, "field");
}

export function keyName(key) {
  if (isItem(key)) return itemName(key);
  return el("bdi", { class: "key" }, key === "" ? "document" : shown(key));
}

function fieldRow({ key, mark: outcome, expected, candidate, comparison }, path, parent) {
  const { css } = OUTCOMES[outcome];
  const detail = comparisonText(comparison);
  const hidden = kindOf(expected) === "hidden";
  const [one, two] = bothValues(expected, candidate);
  return el("div", { class: `field field-${css} ${isMistake(outcome) ? "has-mistake" : ""}`, ...rowPath(path), "data-name": !parent && typeof key === "string" && key !== path && key },
    mark(outcome),
    el("div", { class: "field-key" }, keyName(key), detail && el("div", { class: "detail" }, shown(detail))),
    !hidden && el("div", { class: "side ours", "data-side": "expected" }, one),
    !hidden && el("div", { class: "side theirs", "data-side": "predicted" }, two));
}

// Add the wrong fields beside each region to the regions; the fields of the whole document belong
// to no region.
export function addWrongFields(regions, nodes) {
  const byPath = new Map(regions.map((region) => [regionId(region), region]));
  function visit(inner, parent) {
    const wrong = inner.filter((node) => !isItem(node.key) && !node.members && isMistake(node.mark));
    for (const node of inner) {
      const path = fieldPath(parent, node.key), region = byPath.get(path);
      if (region && parent) region.wrong = wrong.filter((each) => each !== node);
      if (node.members) visit(node.members, path);
    }
  }
  visit(nodes, "");
}

// Errors that several values have in common, such as a lost decimal point.
export function repeatedErrors(errors) {
  if (!errors || !errors.length) return null;
  return el("div", { class: "notice repeated", role: "note" }, el("strong", null, errors.length > 1 ? "Repeated errors" : "Repeated error"),
    el("ul", null, errors.slice(0, 12).map((error) => el("li", null, repeatedError(error)))));
}

// The strongest finding in the slices of a run, with a link to the mistakes of its attribute.
export function strongestFinding(finding) {
  if (!finding) return null;
  const words = el("bdi", null, shown(finding.text));
  return el("div", { class: "notice repeated finding", role: "note" }, el("strong", null, "Weak slice"),
    el("ul", null, el("li", null, finding.attribute ? el("a", { href: casesHref({ attribute: finding.attribute }) }, words) : words)));
}

// The errors of one pattern of mistakes link to its cases, others to all mistakes of their attributes.
function repeatedError({ text, attributes = [], kind = "" }) {
  const words = el("bdi", null, shown(text)), pattern = kind === "date_swapped" ? { pattern: kind } : {};
  if (attributes.length === 1) return el("a", { href: casesHref({ attribute: attributes[0], ...pattern }) }, words);
  return [words, attributes.slice(0, 8).map((attribute) => [" ", el("a", { class: "tag", href: casesHref({ attribute, ...pattern }) }, shown(attribute))])];
}

// Whether all items are flat rows of fields that fit into a table.
function isTabular(members) {
  if (!members.length) return false;
  return members.every((item) => isItem(item.key) && item.members && item.members.length <= 24
    && item.members.every((field) => !field.members && !isItem(field.key)));
}

function itemTable(members, parent) {
  const names = [];
  for (const item of members) for (const { key } of item.members) if (!names.includes(key)) names.push(key);
  return el("div", { class: "table-scroll items", tabindex: "0", role: "group", "aria-label": "Items" },
    el("table", null,
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "Item"), names.map((name) => el("th", { scope: "col" }, el("bdi", null, shown(name)))))),
      el("tbody", null, members.map((item) => itemRow(item, names, fieldPath(parent, item.key), counterpart(item, members))))));
}

// The nearest item of the other side, for an item that exists on one side only.
function counterpart({ key: { candidate, nearest } }, members) {
  if (nearest === undefined) return null;
  return members.find(({ key }) => (candidate === null ? key.expected === null && key.candidate === nearest : key.candidate === null && key.expected === nearest)) || null;
}

function itemRow(item, names, path, near) {
  const byKey = ({ members }) => new Map(members.map((field) => [field.key, field]));
  const fields = byKey(item), nearFields = near && byKey(near);
  const compared = item.members.some((field) => field.mark !== NOT_COMPARED);
  const state = !compared ? "" : item.key.candidate === null ? "missing" : item.key.expected === null ? "extra" : "";
  const wrong = item.members.some((field) => isMistake(field.mark));
  return el("tr", { class: ["item", state, near && "near", wrong && "has-mistake"].filter(Boolean).join(" "), ...rowPath(path) },
    el("th", { scope: "row" }, itemName(item.key), state && mark(state === "missing" ? MISSING : EXTRA, { word: true })),
    names.map((name) => (near && state ? leftoverCell(fields.get(name), nearFields.get(name), state, fieldPath(path, name)) : itemCell(fields.get(name), fieldPath(path, name)))));
}

// A cell of an item without a counterpart, with what differs from the nearest item marked.
function leftoverCell(field, near, state, path) {
  if (!field) return el("td", { class: "quiet" });
  const value = ({ expected, candidate }) => (kindOf(expected) === "missing" ? candidate : expected);
  const own = value(field);
  if (!near) return el("td", rowPath(path), valueNode(own));
  const other = value(near);
  const pair = state === "missing" ? [own, other] : [other, own];
  const same = JSON.stringify(own) === JSON.stringify(other);
  const nodes = same ? [valueNode(own), valueNode(own)] : bothValues(...pair);
  const node = nodes[state === "missing" ? 0 : 1];
  const plain = !same && !nodes.some((each) => each.querySelector("del, ins"));
  return el("td", { class: same ? "near-same" : "near-different", ...rowPath(path), title: same ? "equal to the nearest item" : "differs from the nearest item" },
    plain ? el(state === "missing" ? "del" : "ins", null, node) : node);
}

function itemCell(field, path) {
  const cell = itemFieldNode(field);
  return field ? fill(cell, rowPath(path), []) : cell;
}

function itemFieldNode(field) {
  if (!field) return el("td", { class: "quiet" });
  const { mark: outcome, expected, candidate, comparison } = field;
  const title = [OUTCOMES[outcome].word, comparisonText(comparison)].filter(Boolean).join(": ");
  if (outcome === MATCH && isSame(candidate)) return el("td", { title }, valueNode(expected));
  if (kindOf(expected) === "missing" && kindOf(candidate) === "missing") return el("td", { class: "quiet" });
  if (OUTCOMES[outcome].css === "empty") return el("td", { class: "quiet", title }, valueNode(kindOf(expected) === "missing" ? candidate : expected));
  const [one, two] = bothValues(expected, candidate);
  if (outcome === MISSING && kindOf(candidate) === "missing") return el("td", { class: "cell-missing", title }, mark(outcome), one);
  if (outcome === EXTRA && kindOf(expected) === "missing") return el("td", { class: "cell-extra", title }, mark(outcome), two);
  if (isSame(candidate)) return el("td", { class: `cell-${OUTCOMES[outcome].css}`, title }, mark(outcome), one);
  return el("td", { class: `cell-${OUTCOMES[outcome].css}`, title },
    el("div", { class: "stacked" }, mark(outcome),
      el("span", { class: "side" }, spoken("expected: "), one),
      el("span", { class: "side" }, spoken("predicted: "), two)));
}

// 1 for an item at the same index on both sides, 1 → 3 for different indexes; counted from 1. Entries of a map have keys.
function itemName({ expected: ours, candidate: theirs, similarity, nearest, nearest_similarity: nearestSimilarity }) {
  const place = (index) => typeof index === "number" ? String(index + 1) : index;
  const text = ours === null ? `+ ${place(theirs)}` : theirs === null || theirs === ours ? place(ours) : `${place(ours)} → ${place(theirs)}`;
  const title = ours === null ? `item ${place(theirs)} of the prediction` : theirs === null ? `item ${place(ours)} of the ground truth`
    : `item ${place(ours)} of the ground truth, aligned with item ${place(theirs)} of the prediction${similarity === null ? "" : `, similarity ${rate(similarity)}`}`;
  return el("span", { class: "item-name", title }, shown(text),
    nearest !== undefined && el("span", { class: "detail" },
      shown(` nearest: ${theirs === null ? "predicted" : "expected"} ${place(nearest)}, all fields ${rate(nearestSimilarity)}`)));
}
