import assert from "node:assert/strict";
import test from "node:test";

import { counts, fileOf, fromFile, merge } from "./rules_draft.js";

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
