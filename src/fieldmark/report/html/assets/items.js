// A list of line items: aligned rows, with missing and extra items.

// Errors that several values have in common, such as a lost decimal point.
function repeatedErrors(errors) {
  if (!errors || !errors.length) return null;
  return el("div", { class: "notice repeated", role: "note" }, el("strong", null, errors.length > 1 ? "Repeated errors" : "Repeated error"),
    el("ul", null, errors.slice(0, 12).map((error) => el("li", null, repeatedError(error)))));
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
