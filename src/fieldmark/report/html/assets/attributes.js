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

// A link to the rule of a field; only the web application can change rules.
function ruleLink(page, path) {
  return el("a", { class: "edit-rule", href: `${page}?${new URLSearchParams({ path })}`, "aria-label": `Edit rule of ${path}` }, "Edit rule");
}

function attributeSection(run) {
  const trends = run.trends && new Map(run.trends.attributes);
  const count = (place) => ({ numeric: true, value: (row) => row[1][place], cell: (row) => row[1][place] ? whole(row[1][place]) : el("span", { class: "zero" }, "0") });
  const share = (place) => ({ numeric: true, value: (row) => row[2][place], cell: (row) => [rate(row[2][place]), spreadNode(row[7] && row[7][place])] });
  const table = sortableTable({
    caption: "Attributes", step: 25, empty: "No attributes match the filter.",
    columns: [
      { name: "attribute", label: "Attribute", value: (row) => row[0], cell: (row) => [pathText(row[0]), row[6] && row[6] !== "exact" && el("span", { class: "detail" }, shown(row[6])), run.edit_rules && ruleLink(run.edit_rules, row[0])] },
      { name: "bar", label: "Confusion", css: "bar-cell", cell: (row) => confusionBar(row[1], { width: 110 }) },
      { name: "tp", label: "TP", hint: "True positives: predicted and correct", ...count(0) },
      { name: "tn", label: "TN", hint: "True negatives: empty on both sides", ...count(1) },
      { name: "fp", label: "FP", hint: "False positives: predicted, but wrong or extra", ...count(2) },
      { name: "fn", label: "FN", hint: "False negatives: expected, but wrong or missing", ...count(3) },
      { name: "precision", label: "Precision", ...share(0) },
      { name: "recall", label: "Recall", ...share(1) },
      { name: "f1", label: "F1", numeric: true, value: (row) => row[2][2], cell: (row) => [el("span", { class: "f1" }, rate(row[2][2])), isVacuous(row) && el("span", { class: "tile-note" }, "vacuous"), spreadNode(row[7] && row[7][2])] },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(isVacuous(row) ? null : row[2][2], row[3]) },
      ...(trends ? [{ name: "trend", label: "Trend", css: "bar-cell", cell: (row) => trends.has(row[0]) && trendLine(trends.get(row[0])) }] : []),
      { name: "mistakes", label: "Mistakes", value: (row) => row[4].reduce((all, number) => all + number, row[5]), cell: (row) => [mistakeChips(row[4]), row[5] > 0 && mark(ERROR, { count: row[5] })] },
    ],
  });
  let text = "", wrongOnly = false;
  function show() {
    const query = text.trim().toLowerCase();
    const rows = run.attributes.filter((row) => row[0].toLowerCase().includes(query) && (!wrongOnly || row[5] || row[4].some(Boolean)));
    table.show(rows);
    number.textContent = rows.length === run.attributes.length ? plural(rows.length, "attribute") : `${whole(rows.length)} of ${plural(run.attributes.length, "attribute")}`;
  }
  const number = el("span", { class: "quiet", role: "status" });
  const controls = el("div", { class: "controls" },
    search("Filter", "Part of a path", (value) => { text = value; show(); }, { id: "attribute-filter" }),
    choice("Attributes", [["all", "All"], ["wrong", "With mistakes"]], "all", (value) => { wrongOnly = value === "wrong"; show(); }),
    number);
  show();
  return section("attributes", "Attributes", "Metrics per attribute (a path without list indexes) over all cases, worst first.", controls, table.node,
    el("p", { class: "legend" }, [["tp", "true positive"], ["tn", "true negative"], ["fp", "false positive"], ["fn", "false negative"]].map(([css, word]) =>
      el("span", null, svg("svg", { width: 14, height: 12, "aria-hidden": "true" }, svg("rect", { class: `fill-${css}`, width: 14, height: 12 })), word)),
    ERROR_TYPES.map((outcome) => mark(outcome, { word: true }))));
}
