// Two documents side by side, as one tree.

// The numbers of mistakes and fields in a list of nodes.
function countNodes(nodes) {
  let mistakes = 0, fields = 0;
  for (const node of nodes) {
    if (node[1] !== null) { fields += 1; mistakes += isMistake(node[1]) ? 1 : 0; }
    if (node[5]) {
      const [inner, all] = countNodes(node[5]);
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
    nodes.map((node) => treeNode(node, fields > 80)));
  if (mistakes && fields > 40) box.classList.add("only-mistakes");
  const control = choice("Fields", [["all", `All fields (${whole(fields)})`], ["mistakes", `Mistakes (${whole(mistakes)})`]],
    box.classList.contains("only-mistakes") ? "mistakes" : "all",
    (value) => box.classList.toggle("only-mistakes", value === "mistakes"));
  return [mistakes < fields && mistakes > 0 && control, box];
}

function treeNode(node, large) {
  const [key, outcome, expected, candidate, , members] = node;
  if (!members) return fieldRow(node);
  const [mistakes, fields] = countNodes(members);
  const open = mistakes > 0 || !large;
  return el("details", { class: mistakes ? "branch has-mistake" : "branch", open },
    el("summary", null,
      el("span", { class: "branch-name" }, keyName(key)),
      el("span", { class: "quiet" }, sizeText(expected, candidate, fields)),
      mistakes > 0 && el("span", { class: "branch-mistakes" }, plural(mistakes, "mistake"))),
    outcome !== null && fieldRow([key, outcome, expected, candidate, node[4]]),
    isTabular(members) ? itemTable(members) : members.map((inner) => treeNode(inner, large)));
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
  if (Array.isArray(key)) return itemName(key);
  return el("bdi", { class: "key" }, key === "" ? "document" : shown(key));
}

function fieldRow([key, outcome, expected, candidate, comparison]) {
  const { css } = OUTCOMES[outcome];
  const detail = comparisonText(comparison);
  const hidden = kindOf(expected) === "hidden";
  const [one, two] = bothValues(expected, candidate);
  return el("div", { class: `field field-${css} ${isMistake(outcome) ? "has-mistake" : ""}` },
    mark(outcome),
    el("div", { class: "field-key" }, keyName(key), detail && el("div", { class: "detail" }, shown(detail))),
    !hidden && el("div", { class: "side ours", "data-side": "expected" }, one),
    !hidden && el("div", { class: "side theirs", "data-side": "predicted" }, two));
}
