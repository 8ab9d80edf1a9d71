import assert from "node:assert/strict";
import test from "node:test";

import { counts, fileOf, fromFile, merge, rulesText, strategyFile } from "./rules_draft.js";

const FILE = {
  convention: { name: "four-phase", rqs_form: "complement" },
  fuzzy_threshold: 0.9,
  fields: [{ path: "name", match: { type: "fuzzy", threshold: 0.8 } }, { path: "lines", align: { type: "optimal", match_fields: ["sku"] } }],
  gates: { min: { rqs: 0.7 }, max: { hallucination: 0.1 } },
  provider: "lexical",
};

test("the options of a comparator are options of its row", () => {
  assert.deepEqual(fromFile(FILE).rows, [{ path: "name", match: "fuzzy", threshold: 0.8 }, { path: "lines", align: "optimal", match_fields: ["sku"] }]);
});

test("a rules file has the same content after it was edited", () => {
  const file = fileOf(fromFile(FILE));
  assert.deepEqual(file, {
    convention: { name: "four_phase", rqs_form: "complement" }, fuzzy_threshold: 0.9, semantic_threshold: 0.8, provider: "lexical",
    fields: fromFile(FILE).rows, gates: FILE.gates,
  });
  assert.deepEqual(fileOf(fromFile(file)), file);
});

test("added rules replace rules of the same field and gates of the same metric", () => {
  const draft = fromFile(FILE);
  merge(draft, { convention: "strict", fields: [{ path: "name", match: "exact" }, { path: "total", match: "numeric" }], gates: { min: { rqs: 0.9 } } });
  assert.deepEqual(draft.rows.map(({ path, match }) => [path, match]), [["lines", undefined], ["name", "exact"], ["total", "numeric"]]);
  assert.deepEqual(draft.gates, [{ name: "hallucination", kind: "max", limit: 0.1 }, { name: "rqs", kind: "min", limit: 0.9 }]);
  assert.equal(draft.convention, "strict");
  assert.equal(draft.thresholds.fuzzy, 0.9);
});

test("fields are counted by comparator", () => {
  assert.deepEqual(counts({ rows: [{ path: "a" }, { path: "b", match: "exact" }, { path: "c", match: "exact" }, { path: "d", align: "key" }] }),
    [["exact", 2], ["as other fields", 1], ["align key", 1]]);
});

test("a strategy file contains the words of fields, and names what it omits", () => {
  const fields = [{ path: "name", match: "FUZZY", threshold: 0.9 }, { path: "code", match: "exact_text" }, { path: "bio", match: "SEMANTIC" }, { path: "notes", match: "ignore" },
    { path: "total", match: "numeric_tolerance", tolerance: 0.01 }, { path: "lines", align: "key" }, { path: "as_others" }, { path: "", match: "EXACT" }];
  const { strategies, omitted, reduced } = strategyFile(fromFile({ convention: "four_phase", fields }));
  assert.deepEqual(strategies, { name: "FUZZY", code: "EXACT", bio: "SEMANTIC", notes: "IGNORE" });
  assert.deepEqual(omitted, ["total", "lines", "as_others"]);
  assert.deepEqual(reduced, ["name"]);
});

const TEXTS = [
  ["fields, gates and a set", { fields: [{ path: "a", match: "FUZZY" }], gates: { min: { rqs: 0.7 } } }, { name: "Invoices" },
    "Rule set Invoices. Comparators: 1 FUZZY. Other fields: by the convention four_phase. Gates: 1."],
  ["defaults without fields", { defaults: { match: { type: "auto" } } }, { file: "rules.yaml" }, "Rules of rules.yaml. No rules for single fields. All fields: auto."],
  ["a rule set beside the file of a server", {}, { name: "Invoices", file: "" }, "Rule set Invoices. No rules for single fields. All fields: by the convention four_phase."],
  ["default rules", { fields: [{ path: "a", match: "exact" }], defaults: { match: "fuzzy" } }, {}, "Default rules. Comparators: 1 exact. Other fields: fuzzy."],
];
for (const [name, file, source, text] of TEXTS) {
  test(`the rules of a page are named: ${name}`, () => {
    assert.equal(rulesText(fromFile({ convention: "four_phase", ...file }), source, false), text);
  });
}

test("rules that differ from their source are marked", () => {
  assert.match(rulesText(fromFile({ convention: "four_phase" }), { name: "Invoices" }, true), /^Rule set Invoices, changed in this browser\. /);
});
