// Decisions of people on single fields, and the metrics with the truth that they reviewed.

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
function reviewTable(reviews, href = () => null) {
  const table = sortableTable({
    caption: "Decisions on fields",
    step: 20,
    columns: [
      { name: "case", label: "Case", value: (row) => row.case_id, cell: (row) => el("bdi", { class: "literal" }, shown(row.case_id)) },
      { name: "field", label: "Field", value: (row) => row.path, cell: (row) => { const to = href(row); return to ? el("a", { href: to }, pathText(row.path)) : pathText(row.path); } },
      { name: "decision", label: "Decision", value: (row) => row.decision, cell: (row) => [REVIEW_WORDS[row.decision] || row.decision, reviewValues(row), row.problem && el("div", { class: "review-problem" }, `Does not count: ${row.problem}.`)] },
      { name: "comment", label: "Comment", value: (row) => row.comment || null, cell: (row) => el("span", { class: "review-comment" }, row.comment ? shown(row.comment) : DASH) },
      { name: "by", label: "By", value: (row) => row.by, cell: (row) => shown(row.by) },
      { name: "at", label: "When", value: (row) => row.at, cell: (row) => moment(row.at) },
    ],
  });
  table.show(reviews);
  return table.node;
}

function reviewSection(reviews) {
  const counted = reviews.filter(({ problem, decision }) => !problem && decision !== "comment").length;
  return section("review", "Review", `${plural(counted, "field")} decided by people. The metrics of this page are those of the original ground truth.`, reviewTable(reviews));
}

// Metrics before a review and with the reviewed truth.
function effectTable({ before, after, attributes, cases }, titles) {
  const rows = Object.keys(before).filter((name) => before[name] !== after[name] || name === Object.keys(before)[0]);
  const line = (label, one, two) => el("tr", null, el("th", { scope: "row" }, label), el("td", { class: "numeric" }, rate(one)), el("td", { class: "numeric" }, rate(two)),
    el("td", { class: "numeric" }, one === null || two === null ? DASH : signed(two - one)));
  const table = (caption, lines) => el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": caption }, el("table", null, el("caption", { class: "spoken" }, caption),
    el("thead", null, el("tr", null, ["Metric", "Before", "Reviewed", "Change"].map((text, place) => el("th", { scope: "col", class: place ? "numeric" : null }, place ? text : spoken(text))))),
    el("tbody", null, lines)));
  return [
    table("Metrics before the review and with the reviewed truth", rows.map((name) => line(titles(name), before[name], after[name]))),
    attributes.length > 0 && el("details", null, el("summary", null, `${plural(attributes.length, "attribute")} with another F1 or number of mistakes`),
      table("F1 of attributes before the review and with the reviewed truth", attributes.map((row) => line(pathText(row.attribute), row.f1_before, row.f1_after)))),
    el("p", { class: "quiet" }, cases ? `${plural(cases, "case")} compared again with the reviewed truth.` : "No decision changes the ground truth yet."),
  ];
}
