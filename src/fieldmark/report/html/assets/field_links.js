// The fields of a case as links: each can be highlighted and explained.

// The attribute of a node below another: a path in which items have no index. The key of a field
// that is not in the documents is its path.
function nodeAttribute(parent, { key, comparison }) {
  if (comparison && comparison.a) return comparison.a;
  return isItem(key) ? `${parent}[]` : key === "" ? parent : fieldPath(parent, key);
}

// The path of a node, as in the results.
function nodePath(parent, { key, comparison }) {
  if (comparison && comparison.a) return key;
  return key === "" ? parent : fieldPath(parent, key).replace(/^\+/, "");
}

// The expected and the predicted value of the element of a field as texts.
const FIELD_VALUES = new WeakMap();

// What is known of each field, by the path of its row.
function fieldFacts(nodes, above = { row: "", path: "", attribute: "", items: [] }, found = new Map()) {
  for (const node of nodes) {
    const { key, mark: outcome, expected, candidate, comparison, members } = node;
    const row = key === "" && !above.row ? "" : fieldPath(above.row, key);
    const own = { row, path: nodePath(above.path, node), attribute: nodeAttribute(above.attribute, node), items: isItem(key) ? [...above.items, key] : above.items };
    if (outcome !== null) found.set(row, { ...own, outcome, comparison, values: [expected, isSame(candidate) ? expected : candidate].map(slotText) });
    if (members) fieldFacts(members, own, found);
  }
  return found;
}

// Give every field of a tree its path, attribute and outcome, and a link to itself.
function describeFields(tree, nodes, link) {
  const facts = fieldFacts(nodes);
  const named = (place) => (place === null ? "none" : typeof place === "number" ? `[${place}]` : place);
  for (const field of tree.querySelectorAll(".field[data-path], td[data-path]")) {
    const found = facts.get(pathOfRow(field));
    if (!found) continue;
    const { path, attribute, outcome, comparison, items, values } = found;
    FIELD_VALUES.set(field, values);
    const placed = items.map(({ expected, candidate, similarity }) => `expected item ${named(expected)}, predicted item ${named(candidate)}${similarity === null ? "" : `, similarity ${rate(similarity)}`}`);
    Object.assign(field.dataset, { field: path || "$", attribute: attribute || "$", outcome, detail: [comparisonText(comparison), ...placed].filter(Boolean).join("; ") });
    const text = field.matches("td") ? field.querySelector(".mark") : field.querySelector(".field-key > *");
    if (!link || !text) continue;
    const anchor = el("a", { class: "field-link", href: link(path || "$"), title: "Explain this field" });
    text.replaceWith(anchor);
    anchor.append(text);
  }
}

// Highlight a field, or the fields of an attribute with an outcome, and scroll to the first.
// Returns that element, or null.
function highlightField(root, { path = "", attribute = "", error = "" }) {
  for (const each of root.querySelectorAll(".highlighted")) { each.classList.remove("highlighted"); each.removeAttribute("aria-current"); }
  const fields = [...root.querySelectorAll("[data-field]")];
  let found = path ? fields.filter((each) => each.dataset.field === path) : attribute ? fields.filter((each) => selectsAttribute(attribute, each.dataset.attribute)) : [];
  if (!path && attribute) {
    const wrong = found.filter((each) => isMistake(Number(each.dataset.outcome)));
    const exact = wrong.filter((each) => OUTCOMES[each.dataset.outcome].name === error);
    found = exact.length ? exact : error === "tp" || error === "tn" || !wrong.length ? found : wrong;
  }
  for (const each of found) {
    each.classList.add("highlighted");
    each.setAttribute("aria-current", "true");
  }
  if (!found.length) return null;
  revealRow(found[0]);
  found[0].scrollIntoView({ block: "center" });
  return found[0];
}
