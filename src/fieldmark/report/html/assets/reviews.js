// Decisions of people on single fields, and the metrics with the truth that they reviewed.

import { el, section, spoken } from "./dom.js";
import { DASH, pathText, plural, signed } from "./labels.js";
import { tableNode } from "./table.js";
import { shown } from "./values.js";

const REVIEW_WORDS = {
  accept_truth: "truth accepted",
  accept_candidate: "prediction accepted",
  correction: "corrected",
  ambiguous: "ambiguous",
  comment: "comment only",
};

function reviewValues({ decision, values }) {
  if (!values || !values.length) return null;
  const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const joined = texts.map((text, place) => [place > 0 && " or ", el("bdi", { class: "literal" }, shown(text.length > 200 ? `${text.slice(0, 200)}…` : text))]);
  return el("div", { class: "review-values" }, decision === "correction" ? "→ " : "", joined);
}

// `href(review)` is the address of the field, if it has one.
export function reviewTable(reviews, href = (_review) => null) {
  return tableNode({
    caption: "Decisions on fields", step: 20, rows: reviews,
    columns: [
      { key: "case_id", title: "Case", format: "literal" },
      { key: "path", title: "Field", cell: (row) => { const to = href(row); return to ? el("a", { href: to }, pathText(row.path)) : pathText(row.path); } },
      { key: "decision", title: "Decision", cell: (row) => [REVIEW_WORDS[row.decision] || row.decision, reviewValues(row), row.problem && el("div", { class: "review-problem" }, `Does not count: ${row.problem}.`)] },
      { key: "comment", title: "Comment", value: (row) => row.comment || null, cell: (row) => el("span", { class: "review-comment" }, row.comment ? shown(row.comment) : DASH) },
      { key: "by", title: "By" },
      { key: "at", title: "When", format: "time" },
    ],
  });
}

export function reviewSection(reviews) {
  const counted = reviews.filter(({ problem, decision }) => !problem && decision !== "comment").length;
  return section("review", "Review", `${plural(counted, "field")} decided by people. The metrics of this page are computed with the original ground truth.`, reviewTable(reviews));
}

// Metrics before a review and with the reviewed truth; `titles` are the titles of the metrics.
export function effectTable({ before, after, attributes, cases }, titles) {
  const names = Object.keys(before).filter((name, place) => before[name] !== after[name] || place === 0);
  const table = (caption, name, rows) => tableNode({
    caption, isSorted: false, rows, step: Infinity,
    columns: [
      { key: "name", title: "Metric", head: spoken("Metric"), cell: name },
      { key: "before", title: "Before", format: "number" },
      { key: "after", title: "Reviewed", format: "number" },
      { title: "Change", format: "number", cell: (row) => (row.before === null || row.after === null ? DASH : signed(row.after - row.before)) },
    ],
  });
  return [
    table("Metrics before the review and with the reviewed truth", (row) => titles(row.name), names.map((name) => ({ name, before: before[name], after: after[name] }))),
    attributes.length > 0 && el("details", null, el("summary", null, `${plural(attributes.length, "attribute")} with another F1 or number of mistakes`),
      table("F1 of attributes before the review and with the reviewed truth", (row) => pathText(row.attribute), attributes.map(({ attribute, f1_before: first, f1_after: second }) => ({ attribute, before: first, after: second })))),
    el("p", { class: "quiet" }, cases ? `${plural(cases, "case")} compared again with the reviewed truth.` : "No decision changes the ground truth yet."),
  ];
}
