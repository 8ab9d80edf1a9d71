// The comparison of two runs: conclusion, changed cases, metrics and attributes. Colors mark only
// significant changes, and single cases, whose direction is certain.

const CONCLUSIONS = { better: "improved", worse: "regressed", "no difference": "no significant difference" };
const SIGNIFICANCE = ["worse", "better", "too few cases to tell", "no difference", "not comparable"];
const CHANGED_OUTCOMES = { format_error: "wrong type", omission: "missing", hallucination: "extra" };
const MAX_FIELDS = 6;

function comparisonSection(run) {
  const found = run.comparison;
  return section("comparison", "Comparison", ["Compared with ", el("strong", null, el("bdi", null, shown(found.before.name)))],
    comparisonHead(found), tileGrid(found.tiles),
    comparisonParts(found, ({ rank }) => (rank === null ? null : `#case-${rank + 1}`)).map(({ id, title, lead, node }) =>
      el("div", { id: `comparison-${id}` }, el("h3", null, title), lead && el("p", { class: "quiet" }, lead), node)));
}

function comparisonHead(found) {
  const { conclusion, cases, comparable, before, after, notes } = found;
  const word = CONCLUSIONS[conclusion.word] || conclusion.word;
  const tested = conclusion.word !== "too few cases to tell" && comparable;
  const [main] = found.metrics;
  const counts = [[cases.improved, "improved"], [cases.worse, "worse"], [cases.unchanged, "unchanged"]];
  return [
    notes.map((note) => el("p", { class: "notice" }, shown(note))),
    el("p", { class: `conclusion headline ${changeClass(conclusion.word)}`, id: "conclusion" }, `${word[0].toUpperCase()}${word.slice(1)}`, " ",
      el("span", { class: "quiet" }, `· ${metricLabel(main.name)} ${rate(main.before)} ${comparable ? "→" : "and"} ${rate(main.after)}${tested ? `, p = ${rate(conclusion.p)}` : ""}`)),
    el("p", { class: "case-counts" }, `${plural(cases.paired, "case")} in both runs`,
      comparable && `: ${counts.map(([number, name]) => `${whole(number)} ${name}`).join(", ")}`,
      cases.not_scored > 0 && `, ${whole(cases.not_scored)} not scored in one of the runs`,
      cases.only_before > 0 && `; ${whole(cases.only_before)} only in the first run`, cases.only_after > 0 && `; ${whole(cases.only_after)} only in the second run`),
    el("p", { class: "quiet conventions" }, before.convention === after.convention ? `Convention ${before.convention}; score of a case: ${metricLabel(conclusion.primary)}`
      : `Conventions: ${before.convention} and ${after.convention}`,
      !comparable && `. Runs with different ${found.different.join(" and ")} are neither better nor worse.`),
  ];
}

// The parts as {id, title, lead, node}; `linkTo` returns the address of a case, or null.
function comparisonParts(found, linkTo) {
  const { cases, comparable, worse, improved } = found;
  const changed = !comparable ? [] : [
    { id: "worse", title: `Cases that got worse (${whole(cases.worse)})`, lead: listedText(worse, cases.worse), node: changedCases("Cases that got worse", worse, linkTo, "No case got worse.") },
    { id: "improved", title: `Cases that improved (${whole(cases.improved)})`, lead: listedText(improved, cases.improved), node: changedCases("Cases that improved", improved, linkTo, "No case improved.") },
  ];
  const ranked = (rows) => [...rows].sort((one, two) => SIGNIFICANCE.indexOf(one.word) - SIGNIFICANCE.indexOf(two.word) || (one.delta ?? 0) - (two.delta ?? 0));
  // Unless RQS is the primary metric, it is shown only if a judge evaluated safety.
  const judged = found.metrics.some(({ name }) => name === "safety");
  const metrics = found.metrics.filter(({ name }, place) => name !== "rqs" || place === 0 || judged);
  return [...changed,
    { id: "metrics", title: "Metrics", lead: null, node: changedMetrics("Metrics of both runs", metrics, "Metric", metricLabel) },
    ...(found.evaluators.length ? [{ id: "evaluators", title: "Evaluators", lead: "Mean score per evaluator, with the numbers of cases that it scored higher or lower. p-values are adjusted for the number of evaluators.", node: changedMetrics("Evaluators of both runs", found.evaluators, "Evaluator", (name) => name, { grouped: true }) }] : []),
    ...(found.slices.length ? [{ id: "slices", title: "Slices", lead: `${metricLabel(found.conclusion.metric)} per slice of the cases. p-values are adjusted for the number of slices.`, node: changedMetrics("Slices of both runs", ranked(found.slices), "Slice", (name) => name, { grouped: true }) }] : []),
    { id: "attributes", title: "Attributes", lead: "F1 per attribute, with the numbers of cases that have fewer or more mistakes in it. p-values are adjusted for the number of attributes.", node: changedMetrics("Attributes of both runs", ranked(found.attributes), "Attribute", (name) => name, { grouped: true }) },
  ];
}

function listedText(listed, total) {
  return listed.length < total ? `The ${whole(listed.length)} of ${whole(total)} cases with the largest changes are listed.` : null;
}

function changeClass(word) {
  return word === "better" || word === "worse" ? word : "";
}

function changeText(value, css) {
  if (value === null || value === undefined) return DASH;
  return el("span", { class: `change ${css}` }, `${value < 0 ? "▼" : value > 0 ? "▲" : "="} ${signed(value)}`);
}

function metricLabel(name) {
  return name === "rqs" ? "RQS" : name.replaceAll("_", " ").replace(" f1", " F1");
}

function changedMetrics(caption, rows, label, nameOf, { grouped = false } = {}) {
  const p = (row) => (grouped ? row.p_adjusted : row.p);
  const untested = { "too few cases to tell": "too few", "not comparable": DASH };
  const table = sortableTable({
    caption, step: 20, empty: "Nothing to compare.",
    columns: [
      { name: "name", label, value: (row) => row.name, cell: (row) => [pathText(nameOf(row.name)), row.note && [" ", el("span", { class: "tile-note" }, row.note)]] },
      { name: "before", label: "Before", numeric: true, value: (row) => row.before, cell: (row) => rate(row.before) },
      { name: "after", label: "After", numeric: true, value: (row) => row.after, cell: (row) => rate(row.after) },
      { name: "change", label: "Change", numeric: true, value: (row) => row.delta, cell: (row) => changeText(row.delta, changeClass(row.word)) },
      { name: "range", label: "95% CI", hint: "bootstrap confidence interval of the change", cell: (row) => (row.interval ? `${signed(row.interval[0])} to ${signed(row.interval[1])}` : DASH) },
      { name: "p", label: grouped ? "p adjusted" : "p", numeric: true, hint: "probability of a change at least this large by chance", value: p, cell: (row) => untested[row.word] || rate(p(row)) },
      ...(grouped ? [["improved", "Improved"], ["worse", "Worse"]].map(([name, title]) => ({ name, label: title, numeric: true, value: (row) => row[name], cell: (row) => (row[name] === null ? DASH : whole(row[name])) })) : []),
      { name: "word", label: "Conclusion", cell: (row) => CONCLUSIONS[row.word] || row.word },
    ],
  });
  table.show(rows);
  return table.node;
}

function changedCases(caption, rows, linkTo, empty) {
  const table = sortableTable({
    caption, step: 15, empty,
    columns: [
      { name: "case", label: "Case", value: (row) => row.case_id, cell: (row) => { const href = linkTo(row); return href ? el("a", { href }, el("bdi", { class: "literal" }, shown(row.case_id))) : shown(row.case_id); } },
      { name: "before", label: "Before", numeric: true, value: (row) => row.before, cell: (row) => rate(row.before) },
      { name: "after", label: "After", numeric: true, value: (row) => row.after, cell: (row) => rate(row.after) },
      { name: "change", label: "Change", numeric: true, value: (row) => row.after - row.before, cell: (row) => changeText(row.after - row.before, row.after < row.before ? "worse" : row.after > row.before ? "better" : "") },
      { name: "fields", label: "Changed fields", cell: changedFields },
    ],
  });
  table.show(rows);
  return table.node;
}

function changedFields({ fields, field_count: total = fields.length }) {
  const outcome = (name) => CHANGED_OUTCOMES[name] || name.replaceAll("_", " ");
  const list = (some) => el("ul", { class: "changed-fields" }, some.map(({ path, before, after }) => el("li", null, pathText(path), `: ${outcome(before)} → ${outcome(after)}`)));
  const rest = fields.slice(MAX_FIELDS);
  return [list(fields.slice(0, MAX_FIELDS)),
    rest.length > 0 && el("details", null, el("summary", null, `${plural(total - MAX_FIELDS, "more field")}`), list(rest)),
    fields.length < total && el("p", { class: "quiet" }, `${whole(fields.length)} of ${whole(total)} fields are listed.`)];
}
