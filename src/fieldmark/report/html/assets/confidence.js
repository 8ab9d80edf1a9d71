// How well confidences tell correct from wrong values: reliability, risk and coverage, thresholds.

// Rows are [name, [fields, without, wrong], [precision, mean, AUROC, ECE, Brier], bins, curve, targets], the first for all fields.
function confidenceSection(run) {
  const { documents, targets, rows, more } = run.confidence;
  let row = rows[0], target = targets[0];
  const charts = el("div", { class: "columns" });
  function draw() {
    replace(charts, reliabilityPanel(row), coveragePanel(row, target));
  }
  const choices = rows.filter((each) => each[4].length).map((each) => [String(rows.indexOf(each)), each === rows[0] ? "All fields" : shown(each[0])]);
  const controls = el("div", { class: "controls" },
    choices.length > 1 && select("Fields", choices, (value) => { row = rows[Number(value)]; draw(); }),
    targets.length > 1 && choice("Precision", targets.map((each) => [each, each]), target, (value) => { target = value; draw(); table.show(rows); }));
  const table = sortableTable({
    caption: "Confidences by attribute", step: 25,
    columns: [
      { name: "attribute", label: "Attribute", value: (each) => each === rows[0] ? "" : each[0], cell: (each) => each === rows[0] ? el("strong", null, "All fields") : pathText(each[0]) },
      { name: "fields", label: "Values", numeric: true, value: (each) => each[1][0], cell: (each) => whole(each[1][0]) },
      { name: "without", label: "No confidence", numeric: true, hint: "Always reviewed", value: (each) => each[1][1], cell: (each) => whole(each[1][1]) },
      { name: "wrong", label: "Wrong", numeric: true, value: (each) => each[1][2], cell: (each) => whole(each[1][2]) },
      ...[["auroc", "AUROC", "How often a correct value has a higher confidence than a wrong one", 2], ["ece", "ECE", "Expected calibration error", 3], ["brier", "Brier", "Mean squared error", 4]].map(([name, label, hint, place]) => (
        { name, label, hint, numeric: true, value: (each) => each[2][place], cell: (each) => rate(each[2][place]) })),
      { name: "threshold", label: "Threshold", numeric: true, value: (each) => each[5][target][0], cell: (each) => each[5][target][0] === null ? el("span", { class: "quiet" }, each[5][target][6]) : String(each[5][target][0]) },
      { name: "coverage", label: "Coverage", numeric: true, hint: "Share of values that need no review", value: (each) => each[5][target][1], cell: (each) => rate(each[5][target][1]) },
      { name: "precision", label: "Precision", numeric: true, hint: "Share of these values that are correct", value: (each) => each[5][target][2], cell: (each) => rate(each[5][target][2]) },
      { name: "bound", label: "Lower bound", numeric: true, hint: "95% confidence, corrected for the search over thresholds", value: (each) => each[5][target][3], cell: (each) => rate(each[5][target][3]) },
    ],
  });
  table.show(rows);
  draw();
  return section("confidence", "Confidence", "Which values could be accepted without review: the lowest confidence whose precision is high enough.",
    rows[0][1][1] > 0 && el("p", { class: "notice" }, `${whole(rows[0][1][1])} of ${plural(rows[0][1][0], "value")} without a confidence, which are always reviewed`),
    targets.map((each) => untouched(each, rows[0][5][each], documents)),
    controls, charts, table.node,
    more > 0 && el("p", { class: "quiet" }, `… and ${plural(more, "more attribute")}; exports contain all`));
}

function untouched(target, [threshold, coverage, , , documents, perfect, note], total) {
  return el("p", null, `Precision ${target}: `, threshold === null ? el("strong", null, note)
    : [el("strong", null, `threshold ${threshold}`), ` accepts ${(coverage * 100).toFixed(1)}% of values; ${whole(documents)} of ${plural(total, "document")} need no review, ${whole(perfect)} of them perfect`]);
}

function ticksFrom(low) {
  return UNIT_TICKS.map((part) => low + part * (1 - low));
}

// A round number just below all values.
function below(values) {
  return Math.max(0, Math.min(0.95, Math.floor(Math.min(...values, 1) * 20 - 0.2) / 20));
}

function reliabilityPanel([, , [, , , ece], bins]) {
  const head = [el("h3", null, "Reliability"), el("p", { class: "quiet" }, "Values with similar confidences: how many are correct. On the line, confidences are calibrated.")];
  if (!bins.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const low = below(bins.flatMap(([, confidence, precision]) => [confidence, precision]));
  const label = `Reliability: expected calibration error ${rate(ece)}, ${plural(bins.length, "bin")}`;
  const ticks = ticksFrom(low);
  return el("div", { class: "panel" }, head,
    plot(label, { x: axis("confidence", [], { ticks }), y: axis("share correct", [], { ticks }) },
      (at) => plotLine(at, [[low, low], [1, 1]], "plot-ideal"),
      (at) => bins.map(([fields, confidence, precision, [least, most]]) =>
        plotPoint(at, confidence, precision, { interval: [Math.max(low, least), most], r: 4, title: `${plural(fields, "value")}: confidence ${rate(confidence)}, ${rate(precision)} correct` }))),
    behind(["Values", "Confidence", "Share correct", "95% CI"], bins.map(([fields, confidence, precision, [least, most]]) => [whole(fields), rate(confidence), rate(precision), `${rate(least)} to ${rate(most)}`])));
}

function coveragePanel([, , , , curve, targets], target) {
  const head = [el("h3", null, "Risk and coverage"), el("p", { class: "quiet" }, "The more values are accepted, the more of them are wrong. The vertical line is the threshold.")];
  if (!curve.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const wanted = Number(target), [threshold, coverage] = targets[target];
  const low = below([wanted, ...curve.map(([, , precision]) => precision)]);
  const label = threshold === null ? `Risk and coverage: no threshold for precision ${target}` : `Risk and coverage: threshold ${threshold} covers ${rate(coverage)} at precision ${target}`;
  return el("div", { class: "panel" }, head,
    plot(label, { x: axis("coverage (share of values accepted)", [], { ticks: UNIT_TICKS }), y: axis("share correct", [], { ticks: ticksFrom(low) }) },
      (at) => [plotLine(at, [[0, wanted], [1, wanted]], "plot-ideal"), svg("text", { x: "0%", dx: 4, y: at.y(wanted), dy: -4 }, `precision ${target}`)],
      (at) => plotLine(at, curve.map(([, share, precision]) => [share, precision])),
      (at) => threshold !== null && [plotLine(at, [[coverage, low], [coverage, 1]], "plot-threshold"),
        svg("text", { class: "plot-threshold-text", x: at.x(coverage), dx: coverage > 0.6 ? -5 : 5, y: "100%", dy: -6, "text-anchor": coverage > 0.6 ? "end" : "start" }, `threshold ${threshold}`)]),
    behind(["Threshold", "Coverage", "Share correct"], curve.map(([least, share, precision]) => [String(least), rate(share), rate(precision)])));
}
