// Links from a figure to the cases that it counts, and from a case to one of its fields. The report
// has its state after the hash, the web application in the query.

import { el } from "./dom.js";
import { frequentErrors, mark, outcomeOf, outcomeWord, plural } from "./labels.js";
import { shown } from "./values.js";

export const CASE_FILTERS = ["text", "verdict", "error", "attribute", "tag", "slice", "pattern", "expected", "found", "ranks", "input", "score", "sort"];
export const IN_REPORT = globalThis.document !== undefined && document.getElementById("opened") !== null;
export const COUNT_WORDS = { tp: "true positive", tn: "true negative", fp: "false positive", fn: "false negative" };

/**
 * Filters as a query with a question mark; filters without a value are left out.
 * @param {Record<string, any>} values
 */
export function query(values) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) parameters.set(name, value);
  }
  const text = parameters.toString();
  return text ? `?${text}` : "";
}

/**
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function filtersIn(text) {
  const found = new URLSearchParams(text);
  return Object.fromEntries(CASE_FILTERS.map((name) => [name, found.get(name) || ""]));
}

export function casesHref(filters) {
  const text = query(filters);
  return IN_REPORT ? `#cases${text}` : `${text || "?"}#cases`;
}

// The name of the section or case in the hash of a report, and the query after it.
export function hashParts() {
  const [, name, text] = /^#([^?]*)(?:\?(.*))?$/.exec(location.hash) || [null, "", ""];
  return { name, text: text || "" };
}

export function errorWord(name) {
  return COUNT_WORDS[name] || outcomeWord(name);
}

// Chips for the types of mistakes that occur, as links to their cases.
export function mistakeLinks(errors, filters, { word = false } = {}) {
  return el("span", { class: "chips" }, frequentErrors(errors).map((name) =>
    el("a", { class: "chip-link", href: casesHref({ ...filters, error: name }) }, mark(outcomeOf(name), { count: errors[name], word }))));
}

// A state of the page in its URL, such as the order of a table: {read(), write(value)}.
export function stateInUrl(name, section) {
  return {
    read: () => new URLSearchParams(IN_REPORT ? hashParts().text : location.search).get(name) || "",
    write(value) {
      const parameters = new URLSearchParams(IN_REPORT ? hashParts().text : location.search);
      if (value) parameters.set(name, value);
      else parameters.delete(name);
      const text = parameters.toString() && `?${parameters}`;
      history.replaceState(null, "", IN_REPORT ? `#${section}${text}` : `${location.pathname}${text}${location.hash}`);
    },
  };
}

// Whether an attribute is selected by a filter; `vendor.**` selects all below a key.
export function selectsAttribute(filter, path) {
  if (!filter.endsWith(".**")) return path === filter;
  const above = filter.slice(0, -3);
  return path === above || (path.startsWith(above) && [".", "["].includes(path[above.length]));
}

// Warnings as one line that can be opened.
export function warningLine(texts) {
  if (!texts || !texts.length) return null;
  return el("details", { class: "notice warnings" },
    el("summary", null, el("strong", null, plural(texts.length, "warning")), " ", el("bdi", { class: "warning-start" }, shown(texts[0]))),
    el("ul", null, texts.map((text) => el("li", null, el("bdi", { class: "literal" }, shown(text))))));
}
