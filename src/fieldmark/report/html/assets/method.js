// How the metrics were computed.

import { el, section } from "./dom.js";
import { bytes, CASE_TOTAL_LABELS, moment, reasonText, rate, whole } from "./labels.js";
import { tableNode } from "./table.js";
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
  const failed = evaluators.filter(({ error }) => error);
  return failed.length === 0 ? table : el("div", null, table,
    failed.map(({ evaluator, error }) => el("p", { class: "notice" }, el("strong", null, "Error "), el("bdi", { class: "literal" }, shown(`${evaluator}: ${error}`)))));
}
