// How the metrics were computed.

import { el, section } from "./dom.js";
import { bytes, CASE_TOTAL_LABELS, moment, reasonText, rate, whole } from "./labels.js";
import { tableNode } from "./table.js";
import { rowsOf } from "./value_encoding.js";
import { shown } from "./values.js";

export function methodSection(run) {
  const { convention, options, inputs, lists, limits, left_out: caseTotals, values, warnings, evaluators, provenance } = run.method;
  const { name, version, comparison_sha256: comparison, counting_sha256: counting } = convention;
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
      facts(inputs.map(({ name: file, bytes: size, sha256 }) => [file, [bytes(size), " · ", hash(sha256)]]))),
    lists.length > 0 && el("div", { class: "panel" }, el("h3", null, "List alignment"), facts(lists)));
}

export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== "").map(([name, value]) =>
    el("div", null, el("dt", null, typeof name === "string" ? shown(reasonText(name)) : name), el("dd", null, typeof value === "string" ? shown(value) : value))));
}

function hash(text) {
  return el("code", { class: "hash", title: text }, shown(text));
}

// The confusion counts and the numbers in the details of a judge over all cases.
function judgeTables({ evaluator, confusion, numbers, truncated }) {
  const title = `Details of ${evaluator}`, path = { key: "path", title: "Path", format: "literal" };
  const counts = ["tp", "tn", "fp", "fn"].map((key) => ({ key, title: key.toUpperCase(), format: "count" }));
  const rates = [["precision", "Precision"], ["recall", "Recall"], ["f1", "F1"]].map(([key, name]) => ({ key, title: name, format: "number" }));
  const sums = [{ key: "cases", title: "Cases", format: "count" }, { key: "mean", title: "Mean", format: "number" }, { key: "sum", title: "Sum", format: "number" }];
  return [[confusion, [path, ...counts, ...rates]], [numbers, [path, ...sums]]]
    .filter(([{ rows }]) => rows.length > 0)
    .map(([table, columns]) => el("div", null, el("h4", null, el("bdi", { class: "literal" }, shown(title))), tableNode({ caption: title, step: 25, rows: rowsOf(table), columns })))
    .concat(truncated ? [el("p", { class: "quiet" }, "Only the first paths of the details are summed.")] : []);
}

export function evaluatorTable(evaluators) {
  const table = tableNode({
    caption: "Evaluators", step: 50, rows: evaluators,
    columns: [
      { key: "evaluator", title: "Evaluator" },
      { key: "mean_score", title: "Mean score", format: "number", cell: ({ mean_score: mean, note }) => [rate(mean), note && [" ", el("span", { class: "tile-note" }, note)]] },
      { key: "scored", title: "Scored", format: "count" },
      { key: "pass", title: "Pass", format: "count" },
      { key: "partial", title: "Partial", format: "count" },
      { key: "fail", title: "Fail", format: "count" },
      { key: "errors", title: "Errors", format: "count" },
    ],
  });
  const failed = evaluators.filter(({ error }) => error), detailed = evaluators.flatMap(judgeTables);
  return failed.length + detailed.length === 0 ? table : el("div", null, table, detailed,
    failed.map(({ evaluator, error }) => el("p", { class: "notice" }, el("strong", null, "Error "), el("bdi", { class: "literal" }, shown(`${evaluator}: ${error}`)))));
}
