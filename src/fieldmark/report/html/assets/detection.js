// Average precision and recall of object detection.

import { axis, behind, chartPanel, gauge, plot, plotLine, UNIT_TICKS } from "./charts.js";
import { el, section, svg } from "./dom.js";
import { plural, rate } from "./labels.js";
import { facts } from "./method.js";
import { tableNode } from "./table.js";
import { rowsOf } from "./value_encoding.js";
import { shown } from "./values.js";

export function detectionSection(run) {
  return section("detection", "Detection", "Average precision and average recall of detected regions.", run.detection.map(detectionSet));
}

function detectionSet({ title, images, regions, detections, metrics, classes, curves }) {
  const precision = metrics.filter(({ name }) => !name.startsWith("AR")), recall = metrics.filter(({ name }) => name.startsWith("AR"));
  return el("div", { class: "detection" },
    title && el("h3", null, el("bdi", { class: "literal" }, shown(title))),
    el("p", { class: "quiet" }, `${plural(images, "image")}, ${plural(regions, "expected region")}, ${plural(detections, "detection")}`),
    el("div", { class: "columns" },
      el("div", { class: "panel" }, el("h3", null, "Average precision"), detectionFacts(precision)),
      el("div", { class: "panel" }, el("h3", null, "Average recall"), detectionFacts(recall))),
    Object.values(curves || {}).some((points) => points.length) && curvePanel(curves),
    classes.rows.length > 0 && classTable(rowsOf(classes)));
}

const CURVES = { AP: ["plot-line", "IoU 0.50 to 0.95"], AP50: ["plot-line dashed", "IoU 0.50"], AP75: ["plot-line dotted", "IoU 0.75"] };

// The precision of all classes at each recall, for the thresholds that have names.
function curvePanel(curves) {
  const known = Object.entries(CURVES).filter(([name]) => curves[name] && curves[name].length);
  const at = (points, place) => place / (points.length - 1);
  const unit = (text) => axis(text, [], { ticks: UNIT_TICKS });
  const tenths = Array.from({ length: 11 }, (_, part) => part / 10);
  return chartPanel("Precision and recall", "The mean over classes of the best precision at each recall or above.",
    [plot(`Precision by recall: ${known.map(([name, [, meaning]]) => `${name}, ${meaning}`).join("; ")}. The table contains the same data.`, { x: unit("recall"), y: unit("precision") },
      (scale) => known.map(([name, [css]]) => plotLine(scale, curves[name].map((precision, place) => [at(curves[name], place), precision]), css))),
    el("p", { class: "legend" }, known.map(([name, [css, meaning]]) => el("span", null, svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, svg("path", { class: css, d: "M0 5H28" })), `${name}, ${meaning}`)))],
    behind([
      { key: "recall", title: "Recall", align: "right", cell: ({ recall }) => rate(recall, 1) },
      ...known.map(([name]) => ({ key: name, title: name, format: "number", value: ({ recall }) => curves[name][Math.round(recall * (curves[name].length - 1))] })),
    ], tenths.map((recall) => ({ recall }))));
}

function detectionFacts(metrics) {
  return facts(metrics.map(({ name, value, meaning }) => [name, [el("strong", null, rate(value)), " ", el("span", { class: "quiet" }, meaning)]]));
}

function classTable(classes) {
  return tableNode({
    caption: "Region classes", step: 25, sort: { key: "AP", descending: false }, rows: classes,
    columns: [
      { key: "class", title: "Class", format: "literal" },
      ...["AP", "AP50", "AP75", "AR100", "PASCAL AP"].map((name) => ({ key: name, title: name, format: "number" })),
      { title: "", css: "bar-cell", cell: ({ AP: precision }) => gauge(precision, null) },
    ],
  });
}
