// All attributes with counts, rates and mistakes.

// A value although there was nothing to count: some conventions report 0 then.
function isVacuous([, [tp, , fp, fn], [, , f1]]) {
  return f1 !== null && !(tp || fp || fn);
}

// The confidence interval of a rate; its standard deviation is shown on hover.
function spreadNode(spread) {
  const [interval, deviation] = spread || [];
  return interval && el("span", { class: "interval", title: `95% confidence interval${deviation === null ? "" : `; standard deviation ${rate(deviation)}`}` }, `${rate(interval[0], 2)}${DASH}${rate(interval[1], 2)}`);
}

// The F1 over all fields that the run would gain if the attribute had no mistakes: all of its
// expected values would be true positives.
function scoreLost(row, { tp, fp, fn }) {
  const [ownTp, , ownFp, ownFn] = row[1];
  const [, extra] = row[4], wrong = row[4].reduce((all, number) => all + number, 0);
  const f1 = (right, over, under) => (right || over || under ? 2 * right / (2 * right + over + under) : 0);
  return wrong ? f1(tp + wrong - extra, fp - ownFp, fn - ownFn) - f1(tp, fp, fn) : 0;
}

const RANKS = {
  errors: ["By mistakes", mistakesOf],
  lost: ["By score lost", scoreLost],
};

// A link to the rule of a field; only the web application can change rules.
function ruleLink(page, path) {
  return el("a", { class: "edit-rule", href: `${page}?${new URLSearchParams({ path })}`, "aria-label": `Edit rule of ${path}` }, "Edit rule");
}

function attributeSection(run) {
  const trends = run.trends && new Map(run.trends.attributes);
  const url = stateInUrl("rank", "attributes");
  let rank = url.read() in RANKS ? url.read() : "errors";
  const counts = (place, name) => ({ numeric: true, value: (row) => row[1][place], cell: (row) => countLink(row, place, name) });
  function countLink(row, place, name) {
    const number = row[1][place];
    if (!number) return el("span", { class: "zero" }, "0");
    // The report knows the mistakes of each case, but not its matches.
    if (IN_REPORT && (name === "tp" || name === "tn")) return whole(number);
    return el("a", { href: casesHref({ attribute: row[0], error: name }), "aria-label": `${whole(number)} ${COUNT_WORDS[name]}, ${row[0]}` }, whole(number));
  }
  const share = (place) => ({ numeric: true, value: (row) => row[2][place], cell: (row) => [rate(row[2][place]), spreadNode(row[7] && row[7][place])] });
  const barLinks = (row) => Object.fromEntries(Object.keys(COUNT_WORDS).filter((name) => !IN_REPORT || name === "fp" || name === "fn").map((name) => [name, casesHref({ attribute: row[0], error: name })]));
  const name = (row) => (mistakesOf(row) ? el("a", { href: casesHref({ attribute: row[0] }) }, pathText(row[0])) : pathText(row[0]));
  const table = sortableTable({
    caption: "Attributes", step: 25, empty: "No attributes match the filter.",
    columns: [
      { name: "attribute", label: "Attribute", value: (row) => row[0], cell: (row) => [name(row), row[6] && row[6] !== "exact" && el("span", { class: "detail" }, shown(row[6])), run.edit_rules && ruleLink(run.edit_rules, row[0])] },
      { name: "bar", label: "Confusion", css: "bar-cell", cell: (row) => confusionBar(row[1], { width: 110, links: barLinks(row) }) },
      { name: "tp", label: "TP", hint: "True positives: predicted and correct", ...counts(0, "tp") },
      { name: "tn", label: "TN", hint: "True negatives: empty on both sides", ...counts(1, "tn") },
      { name: "fp", label: "FP", hint: "False positives: predicted, but wrong or extra", ...counts(2, "fp") },
      { name: "fn", label: "FN", hint: "False negatives: expected, but wrong or missing", ...counts(3, "fn") },
      { name: "precision", label: "Precision", ...share(0) },
      { name: "recall", label: "Recall", ...share(1) },
      { name: "f1", label: "F1", numeric: true, value: (row) => row[2][2], cell: (row) => [el("span", { class: "f1" }, rate(row[2][2])), isVacuous(row) && el("span", { class: "tile-note" }, "vacuous"), spreadNode(row[7] && row[7][2])] },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(isVacuous(row) ? null : row[2][2], row[3]) },
      { name: "lost", label: "Score lost", hint: "How much higher micro F1 would be without the mistakes of this attribute", numeric: true, value: (row) => scoreLost(row, run.micro), cell: (row) => rate(scoreLost(row, run.micro), 4) },
      ...(trends ? [{ name: "trend", label: "Trend", css: "bar-cell", cell: (row) => trends.has(row[0]) && trendLine(trends.get(row[0])) }] : []),
      { name: "mistakes", label: "Mistakes", most: true, value: mistakesOf, cell: (row) => [mistakeLinks(row[4], { attribute: row[0] }), row[5] > 0 && el("a", { class: "chip-link", href: casesHref({ attribute: row[0], error: "error" }) }, mark(ERROR, { count: row[5] }))] },
    ],
  });
  let text = "", wrongOnly = false;
  function show() {
    const query = text.trim().toLowerCase();
    const rows = run.attributes.filter((row) => row[0].toLowerCase().includes(query) && (!wrongOnly || mistakesOf(row) > 0));
    const keys = new Map(rows.map((row) => [row, RANKS[rank][1](row, run.micro)]));
    table.show(rows.sort((one, two) => sortable(keys.get(two) - keys.get(one)) || mistakesOf(two) - mistakesOf(one)), { order: null });
    number.textContent = rows.length === run.attributes.length ? plural(rows.length, "attribute") : `${whole(rows.length)} of ${plural(run.attributes.length, "attribute")}`;
  }
  const number = el("span", { class: "quiet", role: "status" });
  const controls = el("div", { class: "controls" },
    search("Filter", "Part of a path", (value) => { text = value; show(); }, { id: "attribute-filter" }),
    choice("Attributes", [["all", "All"], ["wrong", "With mistakes"]], "all", (value) => { wrongOnly = value === "wrong"; show(); }),
    choice("Order", Object.entries(RANKS).map(([each, [label]]) => [each, label]), rank, (value) => { rank = value; url.write(value === "errors" ? "" : value); show(); }),
    number);
  show();
  return section("attributes", "Attributes", "Metrics per attribute (a path without list indexes) over all cases, those with the most mistakes or the largest loss first. Select an attribute with mistakes or a number to see its cases.", controls, table.node,
    el("p", { class: "legend" }, Object.entries(COUNT_WORDS).map(([css, word]) =>
      el("span", null, svg("svg", { width: 14, height: 12, "aria-hidden": "true" }, svg("rect", { class: `fill-${css}`, width: 14, height: 12 })), word)),
    ERROR_TYPES.map((outcome) => mark(outcome, { word: true }))));
}
