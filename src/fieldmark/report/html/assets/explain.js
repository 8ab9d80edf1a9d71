// Why a field has its outcome, below the field.

// `facts` are labels and texts.
function explainPanel(path, facts) {
  return el("section", { class: "explanation", "aria-label": `Explanation of ${path}` },
    el("dl", { class: "facts" }, facts.map(([label, text]) => el("div", null, el("dt", null, label), el("dd", null, el("bdi", { class: "literal" }, shown(text)))))));
}

// Show an explanation below a field or, for an item of a table, below its row.
function placeExplanation(field, panel) {
  for (const each of document.querySelectorAll(".explanation, .explanation-row")) each.remove();
  if (!field) return;
  const row = field.closest("tr.item");
  if (row) row.after(el("tr", { class: "explanation-row" }, el("td", { colspan: String(row.children.length) }, panel)));
  else field.after(panel);
}

// The explanation of a field in the report: of the data in the file, nothing is compared again.
function reportFacts(run, caseLine, field) {
  const { field: path, attribute, outcome, detail } = field.dataset;
  const { rules = [], costs = {} } = run.explain || {};
  const rule = rules.find((each) => each.attribute === attribute);
  const [expected, predicted] = FIELD_VALUES.get(field);
  return [["case", String(caseLine.id)], ["path", path], ["attribute", attribute], ["expected", expected], ["predicted", predicted],
    ...(rule ? rule.facts : [["rule", "not stored with the run"]]),
    ["outcome", OUTCOMES[outcome].word], ...(detail ? [["found", detail]] : []), ...(costs[OUTCOMES[outcome].name] || []),
    ["score of the case", rate(caseLine.score, 4)]];
}
