// The fields of a case as links: each can be highlighted and explained.

import { selectsAttribute } from "./case_links.js";
import { fieldPath, isItem, pathOfRow, revealRow } from "./document_tree.js";
import { el } from "./dom.js";
import { isMistake, OUTCOMES, rate } from "./labels.js";
import { isSame } from "./value_encoding.js";
import { comparisonText, shown, slotText } from "./values.js";

// The attribute of a node below another: a path in which items have no index. The key of a field
// that is not in the documents is its path.
export function nodeAttribute(parent, { key, comparison }) {
  if (comparison && comparison.a) return comparison.a;
  return isItem(key) ? `${parent}[]` : key === "" ? parent : fieldPath(parent, key);
}

// The path of a node, as in the results.
export function nodePath(parent, { key, comparison }) {
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
export function describeFields(tree, nodes, link) {
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
export function highlightField(root, { path = "", attribute = "", error = "" }) {
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

// `facts` are labels and texts.
export function explainPanel(path, facts) {
  return el("section", { class: "explanation", "aria-label": `Explanation of ${path}` },
    el("dl", { class: "facts" }, facts.map(([label, text]) => el("div", null, el("dt", null, label), el("dd", null, el("bdi", { class: "literal" }, shown(text)))))));
}

// Show an explanation below a field or, for an item of a table, below its row.
export function placeExplanation(field, panel) {
  for (const each of document.querySelectorAll(".explanation, .explanation-row")) each.remove();
  if (!field) return;
  const row = field.closest("tr.item");
  if (row) row.after(el("tr", { class: "explanation-row" }, el("td", { colspan: String(row.children.length) }, panel)));
  else field.after(panel);
}

// The explanation of a field in the report: of the data in the file, nothing is compared again.
export function reportFacts(run, caseLine, field) {
  const { field: path, attribute, outcome, detail } = field.dataset;
  const { rules = [], costs = {} } = run.explain || {};
  const rule = rules.find((each) => each.attribute === attribute);
  const [expected, predicted] = FIELD_VALUES.get(field);
  return [["case", String(caseLine.id)], ["path", path], ["attribute", attribute], ["expected", expected], ["predicted", predicted],
    ...(rule ? rule.facts : [["rule", "not stored with the run"]]),
    ["outcome", OUTCOMES[outcome].word], ...(detail ? [["found", detail]] : []), ...(costs[OUTCOMES[outcome].name] || []),
    ["score of the case", rate(caseLine.score, 4)]];
}
