// How the metrics were computed.

function methodSection(run) {
  const { convention, options, inputs, lists, limits, left_out: caseTotals, values, warnings, evaluators, provenance } = run.method;
  const [name, version, comparison, counting] = convention;
  return section("method", "Method", "Convention and options, inputs, limits and omitted data.",
    warnings.length > 0 && el("div", { class: "panel" }, el("h3", null, "Warnings"),
      el("ul", { class: "lines" }, warnings.map((text) => el("li", { class: "notice" }, el("bdi", { class: "literal" }, shown(text)))))),
    evaluators.length > 0 && el("div", { class: "panel" }, el("h3", null, "Evaluators"), evaluatorTable(evaluators)),
    el("div", { class: "columns" },
      el("div", { class: "panel" }, el("h3", null, "Convention"),
        facts([["name", `${name}, version ${version}`], ...options, ["comparison hash", hash(comparison)], ["counting hash", hash(counting)]])),
      el("div", null,
        el("div", { class: "panel" }, el("h3", null, "Cases"),
          facts(caseTotals.map(([name, number]) => [CASE_TOTAL_LABELS[name] || reasonText(name), whole(number)]))),
        el("div", { class: "panel" }, el("h3", null, "Run"),
          facts([["name", run.name], ...provenance.map(([label, value]) => [label, moment(value)]), ["values saved", values ? "yes" : "no, only paths and scores"]])),
        el("div", { class: "panel" }, el("h3", null, "Limits"), facts(limits.map(([label, number]) => [reasonText(label), typeof number === "number" ? whole(number) : String(number)]))))),
    el("div", { class: "panel" }, el("h3", null, "Inputs"),
      facts(inputs.map(([file, size, sum]) => [file, [bytes(size), " · ", hash(sum)]]))),
    lists.length > 0 && el("div", { class: "panel" }, el("h3", null, "List alignment"), facts(lists)));
}

function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== "").map(([name, value]) =>
    el("div", null, el("dt", null, typeof name === "string" ? shown(reasonText(name)) : name), el("dd", null, typeof value === "string" ? shown(value) : value))));
}

function hash(text) {
  return el("code", { class: "hash", title: text }, shown(text));
}

function evaluatorTable(evaluators) {
  const table = sortableTable({
    caption: "Evaluators", step: 50,
    columns: [
      { name: "name", label: "Evaluator", value: (row) => row[0], cell: (row) => shown(row[0]) },
      { name: "mean", label: "Mean score", numeric: true, value: (row) => row[1], cell: (row) => scoreText(row[1], row[8]) },
      ...["Scored", "Pass", "Partial", "Fail", "Errors"].map((label, place) => (
        { name: label, label, numeric: true, value: (row) => row[place + 2], cell: (row) => whole(row[place + 2]) })),
    ],
  });
  table.show(evaluators);
  const failed = evaluators.filter((row) => row[7]);
  return failed.length === 0 ? table.node : el("div", null, table.node,
    failed.map((row) => el("p", { class: "notice" }, el("strong", null, "Error "), el("bdi", { class: "literal" }, shown(`${row[0]}: ${row[7]}`)))));
}
