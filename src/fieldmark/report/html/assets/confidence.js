// How well confidences tell correct from wrong values: reliability, risk and coverage, thresholds.

import { axis, behind, intervalText, plot, plotLine, plotPoint, UNIT_TICKS } from "./charts.js";
import { choice, el, replace, section, select, svg } from "./dom.js";
import { pathText, plural, rate, whole } from "./labels.js";
import { dataTable } from "./table.js";
import { rowsOf } from "./value_encoding.js";
import { shown } from "./values.js";

// The first row is for all fields.
export function confidenceSection(run) {
  const { documents, targets, more } = run.confidence;
  const rows = run.confidence.rows.map((each) => ({ ...each, bins: rowsOf(each.bins), curve: rowsOf(each.curve) }));
  let [row] = rows, [target] = targets;
  const charts = el("div", { class: "columns" });
  function draw() {
    replace(charts, reliabilityPanel(row), coveragePanel(row, target));
  }
  const choices = rows.filter(({ curve }) => curve.length).map((each) => [String(rows.indexOf(each)), each === rows[0] ? "All fields" : shown(each.attribute)]);
  const controls = el("div", { class: "controls" },
    choices.length > 1 && select("Fields", choices, (value) => { row = rows[Number(value)]; draw(); }),
    targets.length > 1 && choice("Precision", targets.map((each) => [each, each]), target, (value) => { target = value; draw(); table.show(rows); }));
  const accepted = (name, title, hint) => ({ key: name, title, hint, format: "number", value: ({ targets: own }) => own[target][name] });
  const table = dataTable({
    caption: "Confidences by attribute", step: 25, rows,
    columns: [
      { key: "attribute", title: "Attribute", cell: (each) => (each === rows[0] ? el("strong", null, "All fields") : pathText(each.attribute)) },
      { key: "fields", title: "Values", format: "count" },
      { key: "without_confidence", title: "No confidence", format: "count", hint: "Always reviewed" },
      { key: "wrong", title: "Wrong", format: "count" },
      { key: "auroc", title: "AUROC", format: "number", hint: "How often a correct value has a higher confidence than a wrong one" },
      { key: "ece", title: "ECE", format: "number", hint: "Expected calibration error" },
      { key: "brier", title: "Brier", format: "number", hint: "Mean squared error" },
      { ...accepted("threshold", "Threshold"), cell: ({ targets: own }) => (own[target].threshold === null ? el("span", { class: "quiet" }, own[target].note) : String(own[target].threshold)) },
      accepted("coverage", "Coverage", "Share of values that need no review"),
      accepted("precision", "Precision", "Share of these values that are correct"),
      accepted("lower_bound", "Lower bound", "95% confidence, corrected for the search over thresholds"),
    ],
  });
  draw();
  return section("confidence", "Confidence", "Which values could be accepted without review: the lowest confidence whose precision is high enough.",
    rows[0].without_confidence > 0 && el("p", { class: "notice" }, `${whole(rows[0].without_confidence)} of ${plural(rows[0].fields, "value")} without a confidence, which are always reviewed`),
    targets.map((each) => untouched(each, rows[0].targets[each], documents)),
    controls, charts, table.node,
    more > 0 && el("p", { class: "quiet" }, `… and ${plural(more, "more attribute")}; exports contain all`));
}

function untouched(target, { threshold, coverage, documents, perfect, note }, total) {
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

function reliabilityPanel({ ece, bins }) {
  const head = [el("h3", null, "Reliability"), el("p", { class: "quiet" }, "Values with similar confidences: how many are correct. On the line, confidences are calibrated.")];
  if (!bins.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const low = below(bins.flatMap(({ confidence, precision }) => [confidence, precision]));
  const label = `Reliability: expected calibration error ${rate(ece)}, ${plural(bins.length, "bin")}`;
  const ticks = ticksFrom(low);
  return el("div", { class: "panel" }, head,
    plot(label, { x: axis("confidence", [], { ticks }), y: axis("share correct", [], { ticks }) },
      (at) => plotLine(at, [[low, low], [1, 1]], "plot-ideal"),
      (at) => bins.map(({ fields, confidence, precision, interval: [least, most] }) =>
        plotPoint(at, confidence, precision, { interval: [Math.max(low, least), most], r: 4, title: `${plural(fields, "value")}: confidence ${rate(confidence)}, ${rate(precision)} correct` }))),
    behind([
      { key: "fields", title: "Values", format: "count" },
      { key: "confidence", title: "Confidence", format: "number" },
      { key: "precision", title: "Share correct", format: "number" },
      { key: "interval", title: "95% CI", align: "right", cell: ({ interval }) => intervalText(interval) },
    ], bins));
}

function coveragePanel({ curve, targets }, target) {
  const head = [el("h3", null, "Risk and coverage"), el("p", { class: "quiet" }, "The more values are accepted, the more of them are wrong. The vertical line is the threshold.")];
  if (!curve.length) return el("div", { class: "panel" }, head, el("p", { class: "quiet" }, "No value has a confidence"));
  const wanted = Number(target), { threshold, coverage } = targets[target];
  const low = below([wanted, ...curve.map(({ precision }) => precision)]);
  const label = threshold === null ? `Risk and coverage: no threshold for precision ${target}` : `Risk and coverage: threshold ${threshold} covers ${rate(coverage)} at precision ${target}`;
  return el("div", { class: "panel" }, head,
    plot(label, { x: axis("coverage (share of values accepted)", [], { ticks: UNIT_TICKS }), y: axis("share correct", [], { ticks: ticksFrom(low) }) },
      (at) => [plotLine(at, [[0, wanted], [1, wanted]], "plot-ideal"), svg("text", { x: "0%", dx: 4, y: at.y(wanted), dy: -4 }, `precision ${target}`)],
      (at) => plotLine(at, curve.map(({ coverage: share, precision }) => [share, precision])),
      (at) => threshold !== null && [plotLine(at, [[coverage, low], [coverage, 1]], "plot-threshold"),
        svg("text", { class: "plot-threshold-text", x: at.x(coverage), dx: coverage > 0.6 ? -5 : 5, y: "100%", dy: -6, "text-anchor": coverage > 0.6 ? "end" : "start" }, `threshold ${threshold}`)]),
    behind([
      { key: "threshold", title: "Threshold", align: "right" },
      { key: "coverage", title: "Coverage", format: "number" },
      { key: "precision", title: "Share correct", format: "number" },
    ], curve));
}
