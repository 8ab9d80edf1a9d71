// How well confidences tell correct from wrong values: reliability, risk and coverage, thresholds.

const PLOT_WIDTH = 460, PLOT_HEIGHT = 300, PLOT_LEFT = 60, PLOT_BOTTOM = 40, PLOT_TOP = 14, PLOT_RIGHT = 14;

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

// A square from `low` to 1 on both axes, or with `from` from there on the first.
function plot(label, { low, from = low, xTitle, yTitle }, ...content) {
  const x = (value) => PLOT_LEFT + (value - from) / (1 - from) * (PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT);
  const y = (value) => PLOT_TOP + (1 - (value - low) / (1 - low)) * (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM);
  const ticks = (start) => [0, 0.25, 0.5, 0.75, 1].map((part) => start + part * (1 - start));
  const digits = (start) => start > 0 ? 3 : 2;
  return svg("svg", { class: "plot", viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, role: "img", "aria-label": label }, svg("title", null, label),
    ticks(low).map((tick) => [svg("line", { class: "plot-grid", x1: PLOT_LEFT, x2: PLOT_WIDTH - PLOT_RIGHT, y1: y(tick), y2: y(tick) }),
      svg("text", { x: PLOT_LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(digits(low)))]),
    ticks(from).map((tick, place) => svg("text", { x: x(tick), y: PLOT_HEIGHT - PLOT_BOTTOM + 16, "text-anchor": place === 4 ? "end" : "middle" }, tick.toFixed(digits(from)))),
    svg("text", { x: (PLOT_LEFT + PLOT_WIDTH - PLOT_RIGHT) / 2, y: PLOT_HEIGHT - 6, "text-anchor": "middle" }, xTitle),
    svg("text", { x: 12, y: (PLOT_TOP + PLOT_HEIGHT - PLOT_BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(PLOT_TOP + PLOT_HEIGHT - PLOT_BOTTOM) / 2})` }, yTitle),
    content.map((draw) => draw(x, y)));
}

function below(values) {
  return Math.max(0, Math.min(0.95, Math.floor(Math.min(...values, 1) * 20 - 0.2) / 20));
}

function behind(columns, rows) {
  return el("details", { class: "behind" }, el("summary", null, "Table"),
    el("div", { class: "table-scroll" }, el("table", null,
      el("thead", null, el("tr", null, columns.map((label) => el("th", { scope: "col", class: "numeric" }, label)))),
      el("tbody", null, rows.map((cells) => el("tr", null, cells.map((cell) => el("td", { class: "numeric" }, cell))))))));
}

function reliabilityPanel([, , [, , , ece], bins]) {
  const head = [el("h3", null, "Reliability"), el("p", { class: "quiet" }, "Values with similar confidences: how many are correct. On the line, confidences are calibrated.")];
  if (!bins.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const low = below(bins.flatMap(([, confidence, precision]) => [confidence, precision]));
  const label = `Reliability: expected calibration error ${rate(ece)}, ${plural(bins.length, "bin")}`;
  return el("div", { class: "panel" }, head,
    plot(label, { low, xTitle: "confidence", yTitle: "share correct" },
      (x, y) => svg("line", { class: "plot-ideal", x1: x(low), y1: y(low), x2: x(1), y2: y(1) }),
      (x, y) => bins.map(([fields, confidence, precision, [least, most]]) => [
        svg("line", { class: "plot-range", x1: x(confidence), x2: x(confidence), y1: y(Math.max(low, least)), y2: y(most) }),
        svg("circle", { class: "plot-dot", cx: x(confidence), cy: y(precision), r: 4 }, svg("title", null, `${plural(fields, "value")}: confidence ${rate(confidence)}, ${rate(precision)} correct`))])),
    behind(["Values", "Confidence", "Share correct", "95% CI"], bins.map(([fields, confidence, precision, [least, most]]) => [whole(fields), rate(confidence), rate(precision), `${rate(least)} to ${rate(most)}`])));
}

function coveragePanel([, , , , curve, targets], target) {
  const head = [el("h3", null, "Risk and coverage"), el("p", { class: "quiet" }, "The more values are accepted, the more of them are wrong. The vertical line is the threshold.")];
  if (!curve.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const wanted = Number(target), [threshold, coverage] = targets[target];
  const low = below([wanted, ...curve.map(([, , precision]) => precision)]);
  const label = threshold === null ? `Risk and coverage: no threshold for precision ${target}` : `Risk and coverage: threshold ${threshold} covers ${rate(coverage)} at precision ${target}`;
  return el("div", { class: "panel" }, head,
    plot(label, { low, from: 0, xTitle: "coverage (share of values accepted)", yTitle: "share correct" },
      (x, y) => [svg("line", { class: "plot-ideal", x1: x(0), x2: x(1), y1: y(wanted), y2: y(wanted) }), svg("text", { x: x(0) + 4, y: y(wanted) - 4 }, `precision ${target}`)],
      (x, y) => svg("polyline", { class: "plot-line", points: curve.map(([, share, precision]) => `${x(share).toFixed(1)},${y(precision).toFixed(1)}`).join(" ") }),
      (x) => threshold !== null && [svg("line", { class: "plot-threshold", x1: x(coverage), x2: x(coverage), y1: PLOT_TOP, y2: PLOT_HEIGHT - PLOT_BOTTOM }),
        svg("text", { class: "plot-threshold-text", x: x(coverage) + (coverage > 0.6 ? -5 : 5), y: PLOT_HEIGHT - PLOT_BOTTOM - 6, "text-anchor": coverage > 0.6 ? "end" : "start" }, `threshold ${threshold}`)]),
    behind(["Threshold", "Coverage", "Share correct"], curve.map(([least, share, precision]) => [String(least), rate(share), rate(precision)])));
}
