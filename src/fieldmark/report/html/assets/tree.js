// Two documents side by side, as one tree.

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

function documentTree(nodes) {
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
function isItem(key) {
  return typeof key === "object";
}

// The path of a key or of an aligned item, with the index of the ground truth if there is one. Items
// of the prediction without a counterpart may have the path of another item, so theirs starts with +.
function fieldPath(parent, key) {
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
function pathOfRow(row) {
  return `${"extra" in row.dataset ? "+" : ""}${row.dataset.path}`;
}

// The row of a field, or of the innermost branch that contains it.
function rowOfPath(tree, path) {
  const rows = Array.from(tree.querySelectorAll("[data-path]"));
  const exact = rows.find((row) => pathOfRow(row) === path || row.dataset.name === path) || rows.find((row) => row.dataset.path === path);
  if (exact) return exact;
  const around = rows.filter((row) => isBelow(path, pathOfRow(row)));
  return around.sort((one, two) => two.dataset.path.length - one.dataset.path.length)[0] || null;
}

function isBelow(path, parent) {
  return parent !== "" && path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length));
}

// Opens everything that hides a row, and scrolls to it.
function revealRow(row) {
  for (let each = row.parentElement; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
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

function keyName(key) {
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
function addWrongFields(regions, nodes) {
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
