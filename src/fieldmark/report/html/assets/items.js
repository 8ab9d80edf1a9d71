// A list of line items: aligned rows, with missing and extra items.

// Whether all items are flat rows of fields that fit into a table.
function isTabular(members) {
  if (!members.length) return false;
  return members.every((item) => Array.isArray(item[0]) && item[5] && item[5].length <= 24
    && item[5].every((field) => !field[5] && !Array.isArray(field[0])));
}

function itemTable(members, place) {
  const names = [];
  for (const item of members) for (const field of item[5]) if (!names.includes(field[0])) names.push(field[0]);
  return el("div", { class: "table-scroll items", tabindex: "0", role: "group", "aria-label": "Items" },
    el("table", null,
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "Item"), names.map((name) => el("th", { scope: "col" }, el("bdi", null, shown(name)))))),
      el("tbody", null, members.map((item) => itemRow(item, names, placeBelow(place, item))))));
}

function itemRow(item, names, place) {
  const [[ours, theirs]] = item;
  const fields = new Map(item[5].map((field) => [field[0], field]));
  const compared = item[5].some((field) => field[1] !== 8);
  const state = !compared ? "" : theirs === null ? "missing" : ours === null ? "extra" : "";
  const wrong = item[5].some((field) => isMistake(field[1]));
  return el("tr", { class: `item ${state} ${wrong ? "has-mistake" : ""}` },
    el("th", { scope: "row" }, itemName(item[0]), state && mark(state === "missing" ? MISSING : EXTRA, { word: true })),
    names.map((name) => itemCell(fields.get(name), placeBelow(place, [name]))));
}

function itemCell(field, place) {
  if (!field) return el("td", { class: "quiet" });
  const [, outcome, expected, candidate, comparison] = field;
  const props = fieldProps(place, outcome, comparison);
  const title = [OUTCOMES[outcome].word, comparisonText(comparison)].filter(Boolean).join(": ");
  if (outcome === MATCH && isSame(candidate)) return el("td", { ...props, title }, valueNode(expected));
  if (kindOf(expected) === "missing" && kindOf(candidate) === "missing") return el("td", { ...props, class: "quiet" });
  if (OUTCOMES[outcome].css === "empty") return el("td", { ...props, class: "quiet", title }, valueNode(kindOf(expected) === "missing" ? candidate : expected));
  const [one, two] = bothValues(expected, candidate);
  if (outcome === MISSING && kindOf(candidate) === "missing") return el("td", { ...props, class: "cell-missing has-mistake", title }, fieldLink(place, mark(outcome)), one);
  if (outcome === EXTRA && kindOf(expected) === "missing") return el("td", { ...props, class: "cell-extra has-mistake", title }, fieldLink(place, mark(outcome)), two);
  if (isSame(candidate)) return el("td", { ...props, class: `cell-${OUTCOMES[outcome].css}`, title }, fieldLink(place, mark(outcome)), one);
  return el("td", { ...props, class: `cell-${OUTCOMES[outcome].css}${isMistake(outcome) ? " has-mistake" : ""}`, title },
    el("div", { class: "stacked" }, fieldLink(place, mark(outcome)),
      el("span", { class: "side" }, spoken("expected: "), one),
      el("span", { class: "side" }, spoken("predicted: "), two)));
}

// 1 for an item at the same index on both sides, 1 → 3 for different indexes; counted from 1. Entries of a map have keys.
function itemName([ours, theirs, similarity, nearest, nearestSimilarity]) {
  const place = (index) => typeof index === "number" ? String(index + 1) : index;
  const text = ours === null ? `+ ${place(theirs)}` : theirs === null || theirs === ours ? place(ours) : `${place(ours)} → ${place(theirs)}`;
  const title = ours === null ? `item ${place(theirs)} of the prediction` : theirs === null ? `item ${place(ours)} of the ground truth`
    : `item ${place(ours)} of the ground truth, aligned with item ${place(theirs)} of the prediction${similarity === null ? "" : `, similarity ${rate(similarity)}`}`;
  return el("span", { class: "item-name", title }, shown(text),
    nearest !== undefined && el("span", { class: "detail" },
      shown(` nearest: ${theirs === null ? "predicted" : "expected"} ${place(nearest)}, all fields ${rate(nearestSimilarity)}`)));
}
