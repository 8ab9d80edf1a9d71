// One case: its documents side by side and the results of its evaluators.

import { casesHref, query } from "./case_links.js";
import { scoreText } from "./cases.js";
import { addWrongFields, documentTree, repeatedErrors } from "./document_tree.js";
import { el } from "./dom.js";
import { describeFields } from "./field_links.js";
import { mark, MATCH, mistakeChips, NOT_COMPARED, plural, rate, reasonText, verdictChip, whole, WRONG } from "./labels.js";
import { metricTabs } from "./metric_tabs.js";
import { pageSection } from "./regions.js";
import { kindOf } from "./value_encoding.js";
import { shown } from "./values.js";

/** @typedef {import("./dom.js").Child} Child */

const INPUTS = {
  missing: "This case has no prediction.",
  parse_error: "The prediction is not valid JSON.",
  invalid_truth: "The ground truth is not valid.",
  failed: "The target failed to produce a prediction.",
};

const PARSED_FROM = {
  fence: "The prediction was extracted from a fenced code block.",
  text: "The prediction was extracted from surrounding text.",
  repaired: "The prediction was not valid JSON and was repaired.",
};

// `list` is the list of cases with its filters.
export function caseView(rank, { run, opened, list }) {
  const line = run.cases.lines[rank];
  const view = opened[rank];
  const { position, total, previous, next } = neighborsOf(rank, list);
  const isFiltered = total < run.cases.lines.length;
  const neighbor = (label, other, key) => neighborLink(label, other === null ? null : list.caseHash(other), key);
  return caseArticle("h1", line.id, [
    el("a", { href: casesHref(list.state) }, isFiltered ? "← Filtered cases" : "← All cases"),
    el("span", { class: "case-place quiet" }, position ? `${whole(position)} of ${whole(total)}${isFiltered ? " filtered cases" : ""}${list.state.sort ? "" : ", worst first"}` : "not among the filtered cases"),
    neighbor("Previous", previous, "k"), neighbor("Next", next, "j"),
  ], el("p", { class: "case-facts" }, caseFacts(line)), [
    caseNotices(line, view),
    view ? metricTabs(view.metrics, { documents: () => openedParts(view, view.pages, (path) => `#case-${rank + 1}${query({ ...list.state, path })}`), tab: hashQuery().get("tab"), changeTab: (tab) => rememberInHash("tab", tab === "documents" ? "" : tab) })
      : el("p", { class: "notice" }, notOpened(run.cases)),
  ]);
}

/**
 * A page of one case.
 * @param {"h1" | "h2"} heading
 * @param {string} id
 * @param {Child} links What leads to the list and to other cases.
 * @param {Child} facts What the head says below the id.
 * @param {Child} content
 */
export function caseArticle(heading, id, links, facts, content) {
  return el("article", { class: "case", "aria-labelledby": "case-title" },
    el("nav", { class: "case-nav", "aria-label": "Cases" }, links),
    el("header", { class: "case-head" },
      el(heading, { id: "case-title", tabindex: heading === "h1" ? "-1" : null }, el("bdi", { class: "literal" }, id === "" ? "(no id)" : shown(id))), facts),
    content);
}

// A link to another case, or a disabled button without an address.
export function neighborLink(label, href, key) {
  return href === null ? el("button", { type: "button", disabled: true }, label)
    : el("a", { class: "button", id: label.toLowerCase(), href, "aria-keyshortcuts": key }, label);
}

// The verdict, score, mistakes and tags of a case; `detail` follows the score.
export function caseFacts({ verdict, status, score, vacuous, errors_by_type: errors, bounds, tags = [] }, detail = "") {
  return [verdictChip(verdict, status, vacuous),
    el("span", { class: "case-score" }, "score ", el("strong", null, scoreText(score, vacuous)), bounds?.score && ` from ${rate(bounds.score[0])} to ${rate(bounds.score[1])}`, detail),
    mistakeChips(errors, { word: true }), tags.map((tag) => el("span", { class: "tag" }, shown(tag)))];
}

// What is special in a case: its input, a note, how the prediction was read, and what is not shown.
export function caseNotices({ input }, view) {
  return [
    input !== "ok" && el("p", { class: "notice" }, INPUTS[input] || `Input: ${reasonText(input)}.`),
    view && [
      view.note && el("p", { class: "notice" }, el("bdi", { class: "literal" }, shown(view.note))),
      view.parsed_from && el("p", { class: "quiet" }, PARSED_FROM[view.parsed_from] || ""),
      view.fallback && el("p", { class: "notice" }, "A list in this case was too long for its aligner and was aligned by a faster one."),
      view.cut && el("p", { class: "notice" }, "This case is large, so only its mistakes are shown. results.jsonl contains the whole case."),
    ],
  ];
}

// What follows the question mark in the hash of the address, such as `#case-3?tab=accuracy`.
function hashQuery() {
  return new URLSearchParams(location.hash.split("?")[1] || "");
}

function rememberInHash(name, value) {
  const [place] = location.hash.split("?"), found = hashQuery();
  if (value) found.set(name, value);
  else found.delete(name);
  history.replaceState(null, "", `${place}${found.size ? `?${found}` : ""}`);
}

// The place of a case in the filtered list, and the cases before and after it.
function neighborsOf(rank, list) {
  const ranks = list.ranks(), index = ranks.indexOf(rank);
  const at = (place) => (place >= 0 && place < ranks.length ? ranks[place] : null);
  if (index < 0) return { position: null, total: ranks.length, previous: null, next: at(0) };
  return { position: index + 1, total: ranks.length, previous: at(index - 1), next: at(index + 1) };
}

// The parts of a case. `pages` are its pages, or a promise of them, if there may be any, and `link`
// returns the address of a field of the case by its path.
export function openedParts(view, pages = view.pages, link = null) {
  const [control, tree] = view.tree.length ? documentTree(view.tree) : [null, el("p", { class: "quiet" }, "No field of this case was compared.")];
  describeFields(tree, view.tree, link);
  const valueless = view.tree.length > 0 && view.tree.every(({ expected }) => kindOf(expected) === "hidden");
  const documents = el("section", { class: valueless ? "documents valueless" : "documents", "aria-label": "Documents" },
    el("div", { class: "documents-head" }, el("h2", null, valueless ? "Fields" : "Documents"), control),
    valueless && el("p", { class: "quiet" }, "This run was saved without values, so only paths and scores are shown."), tree);
  if (view.regions) addWrongFields(view.regions.regions, view.tree);
  const page = (pages || view.regions) && pageSection(view.regions, pages, tree);
  return [
    repeatedErrors(view.repeated),
    pages ? el("div", { class: "beside" }, documents, page) : [documents, page],
    view.evaluators && el("section", null, el("h2", null, "Evaluators"), evaluatorCards(view.evaluators)),
    !view.evaluators && view.reasoning && el("section", null, el("h2", null, "Reasoning"), el("p", { class: "reasoning" }, el("bdi", { class: "literal" }, shown(view.reasoning)))),
  ];
}

function notOpened({ opened, total }) {
  return `The documents of this case are not included. This report includes up to ${whole(opened)} of ${plural(total, "case")}, worst first. results.jsonl in the run directory contains all cases.`;
}

function evaluatorCards(evaluators) {
  return el("div", { class: "judges" }, evaluators.map((result) => el("article", { class: "judge" },
    el("header", null,
      el("h3", null, el("bdi", null, shown(result.name || result.type || "evaluator"))),
      result.type && result.type !== result.name && el("span", { class: "quiet" }, shown(result.type)),
      verdictChip(result.verdict, result.status),
      el("span", { class: "judge-score" }, rate(result.score ?? null)),
      result.weight !== undefined && result.weight !== 1 && el("span", { class: "quiet" }, `weight ${result.weight}`)),
    result.reasoning && el("p", { class: "reasoning" }, el("bdi", { class: "literal" }, shown(result.reasoning))),
    lineList("Hits", result.hits, MATCH),
    lineList("Misses", result.misses, WRONG, true),
    lineList("Skipped", result.skipped, NOT_COMPARED),
    result.details && el("details", null, el("summary", null, "Details"), el("pre", null, shown(result.details))))));
}

function lineList(title, lines, outcome, open = false) {
  if (!lines || !lines.length) return null;
  return el("details", { open: open || lines.length <= 3 },
    el("summary", null, `${title} (${whole(lines.length)})`),
    el("ul", { class: "lines" }, lines.map((line) => el("li", null, mark(outcome), el("bdi", { class: "literal" }, shown(line))))));
}
