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

// The attribute of a node below another: a path in which items have no index.
function nodeAttribute(parent, [key, , , , comparison]) {
  if (comparison && comparison.a) return comparison.a;
  return Array.isArray(key) ? `${parent}[]` : key === "" ? parent : joinPath(parent, key);
}

// The path of a node, as in the results. An item has the index of the ground truth, if it exists
// there. The key of a field that is not in the documents is its path.
function nodePath(parent, [key, , , , comparison]) {
  if (comparison && comparison.a) return key;
  if (!Array.isArray(key)) return key === "" ? parent : joinPath(parent, key);
  const place = key[0] === null ? key[1] : key[0];
  if (typeof place === "number") return `${parent}[${place}]`;
  return place.startsWith("[") || !parent ? `${parent}${place}` : `${parent}.${place}`;
}

function placeBelow(place, node) {
  return { path: nodePath(place.path, node), attribute: nodeAttribute(place.attribute, node), items: Array.isArray(node[0]) ? [...place.items, node[0]] : place.items, link: place.link };
}

// The properties of the element of a field, by which it is found.
function fieldProps({ path, attribute, items }, outcome, comparison) {
  const named = (place) => (place === null ? "none" : typeof place === "number" ? place + 1 : place);
  const placed = items.map(([ours, theirs, similarity]) => `expected item ${named(ours)}, predicted item ${named(theirs)}${similarity === null ? "" : `, similarity ${rate(similarity)}`}`);
  return { "data-path": path || "$", "data-attribute": attribute || "$", "data-outcome": outcome, "data-detail": [comparisonText(comparison), ...placed].filter(Boolean).join("; ") };
}

// A link to a field of the case, if the page has one for each field.
function fieldLink(place, ...content) {
  return place.link ? el("a", { class: "field-link", href: place.link(place.path || "$"), title: "Explain this field" }, content) : content;
}

// Highlight a field, or the fields of an attribute with an outcome, and scroll to the first.
// Returns that element, or null.
function highlightField(root, { path = "", attribute = "", error = "" }) {
  for (const each of root.querySelectorAll(".highlighted")) { each.classList.remove("highlighted"); each.removeAttribute("aria-current"); }
  const fields = [...root.querySelectorAll("[data-path]")];
  let found = path ? fields.filter((each) => each.dataset.path === path) : attribute ? fields.filter((each) => selectsAttribute(attribute, each.dataset.attribute)) : [];
  if (!path && attribute) {
    const wrong = found.filter((each) => isMistake(Number(each.dataset.outcome)));
    const exact = wrong.filter((each) => errorFilter(Number(each.dataset.outcome)) === error);
    found = exact.length ? exact : error === "tp" || error === "tn" || !wrong.length ? found : wrong;
  }
  for (const each of found) {
    each.classList.add("highlighted");
    each.setAttribute("aria-current", "true");
    for (let above = each.parentElement; above && above !== root; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    // A field that the filter of the tree hides is shown.
    if (!each.classList.contains("has-mistake")) each.closest(".tree")?.classList.remove("only-mistakes");
  }
  if (found.length) found[0].scrollIntoView({ block: "center" });
  return found[0] || null;
}

function documentTree(nodes, link = null) {
  const [mistakes, fields] = countNodes(nodes);
  const root = { path: "", attribute: "", items: [], link };
  const box = el("div", { class: "tree" },
    el("div", { class: "tree-head", "aria-hidden": "true" }, el("span"), el("span", null, "Field"), el("span", null, "Expected"), el("span", null, "Predicted")),
    nodes.map((node) => treeNode(node, fields > 80, root)));
  if (mistakes && fields > 40) box.classList.add("only-mistakes");
  const control = choice("Fields", [["all", `All fields (${whole(fields)})`], ["mistakes", `Mistakes (${whole(mistakes)})`]],
    box.classList.contains("only-mistakes") ? "mistakes" : "all",
    (value) => box.classList.toggle("only-mistakes", value === "mistakes"));
  return [mistakes < fields && mistakes > 0 && control, box];
}

function treeNode(node, large, above) {
  const [key, outcome, expected, candidate, , members] = node;
  const place = placeBelow(above, node);
  if (!members) return fieldRow(node, place);
  const [mistakes, fields] = countNodes(members);
  const open = mistakes > 0 || !large;
  return el("details", { class: mistakes ? "branch has-mistake" : "branch", open },
    el("summary", null,
      el("span", { class: "branch-name" }, keyName(key)),
      el("span", { class: "quiet" }, sizeText(expected, candidate, fields)),
      mistakes > 0 && el("span", { class: "branch-mistakes" }, plural(mistakes, "mistake"))),
    outcome !== null && fieldRow([key, outcome, expected, candidate, node[4]], place),
    isTabular(members) ? itemTable(members, place) : members.map((inner) => treeNode(inner, large, place)));
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

function fieldRow([key, outcome, expected, candidate, comparison], place) {
  const { css } = OUTCOMES[outcome];
  const detail = comparisonText(comparison);
  const hidden = kindOf(expected) === "hidden";
  const [one, two] = bothValues(expected, candidate);
  return el("div", { class: `field field-${css} ${isMistake(outcome) ? "has-mistake" : ""}`, ...fieldProps(place, outcome, comparison) },
    mark(outcome),
    el("div", { class: "field-key" }, fieldLink(place, keyName(key)), detail && el("div", { class: "detail" }, shown(detail))),
    !hidden && el("div", { class: "side ours", "data-side": "expected" }, one),
    !hidden && el("div", { class: "side theirs", "data-side": "predicted" }, two));
}
