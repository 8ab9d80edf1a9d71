import assert from "node:assert/strict";
import test from "node:test";

import { filtersIn, query, selectsAttribute } from "./case_links.js";
import { caseMatcher, firstMistake } from "./cases.js";

const node = (key, mark, expected, candidate) => ({ key, mark, expected, candidate, members: null, comparison: null });
const opened = { 0: { tree: [node("total", 1, 30, 31), node("name", 0, "Acme", {})] } };
// The code of a mistake is (attribute * types + type) * patterns + pattern.
const run = {
  attributes: [{ attribute: "total" }, { attribute: "lines[].amount" }],
  types_by_count: { fp: ["hallucination", "wrong_value"] },
  value_tables: [{ attribute: "total", cells: [{ expected: "30", found: "31", ranks: [0] }] }],
  cases: {
    lines: [
      { rank: 0, id: "a-1", score: 0.5, verdict: "fail", status: "ok", input: "ok", tags: ["scan"] },
      { rank: 1, id: "b-2", score: 0.8, verdict: "partial", status: "ok", input: "ok", tags: [] },
      { rank: 2, id: "c-3", score: null, verdict: null, status: "error", input: "missing", tags: [] },
      { rank: 3, id: "d-4", score: 1, verdict: "pass", status: "ok", input: "ok", tags: ["scan"] },
    ],
    types: ["wrong_value", "omission"], patterns: ["", "sign"],
    mistakes: [[1], [6], [], []], slices: ["tag=scan"], in_slices: { 0: [0], 3: [0] },
  },
};
const selected = (filters) => {
  const matches = caseMatcher(run, opened), all = { ...filtersIn(""), ...filters };
  return run.cases.lines.filter((line) => matches(line, all)).map(({ rank }) => rank);
};

const TABLE = [
  ["no filter", {}, [0, 1, 2, 3]],
  ["a verdict", { verdict: "fail" }, [0]],
  ["errors", { verdict: "error" }, [2]],
  ["a tag", { tag: "scan" }, [0, 3]],
  ["a slice", { slice: "tag=scan" }, [0, 3]],
  ["an input", { input: "missing" }, [2]],
  ["scores below the upper limit", { score: "0.5-0.8" }, [0]],
  ["scores up to 1", { score: "0.95-1" }, [3]],
  ["ranks, counted from 1", { ranks: "2-3" }, [1, 2]],
  ["an attribute", { attribute: "total" }, [0]],
  ["attributes by pattern", { attribute: "lines.**" }, [1]],
  ["an outcome", { error: "omission" }, [1]],
  ["a count", { error: "fp" }, [0]],
  ["a pattern of mistakes", { pattern: "sign" }, [0]],
  ["values", { attribute: "total", expected: "30", found: "31" }, [0]],
  ["other values", { attribute: "total", expected: "7" }, []],
  ["an id", { text: " B-2 " }, [1]],
  ["a tag as text", { text: "SCAN" }, [0, 3]],
  ["a value of a document", { text: "acme" }, [0]],
  ["two filters", { tag: "scan", verdict: "pass" }, [3]],
];

for (const [name, filters, ranks] of TABLE) test(`cases selected by ${name}`, () => assert.deepEqual(selected(filters), ranks));

test("filters without a value are not part of a query", () => {
  assert.equal(query({ text: "a b", tag: "", error: null, offset: 0 }), "?text=a+b&offset=0");
  assert.equal(query({ text: "" }), "");
});

test("a query is read as it was written", () => {
  const filters = { ...filtersIn(""), text: "50 % & more", attribute: "lines[].amount" };
  assert.deepEqual(filtersIn(query(filters)), filters);
});

test("attributes are selected by path, and with ** by everything below it", () => {
  assert.ok(selectsAttribute("total", "total"));
  assert.ok(!selectsAttribute("total", "total_net"));
  assert.ok(selectsAttribute("vendor.**", "vendor.name"));
  assert.ok(!selectsAttribute("vendor.**", "vendors.name"));
});

test("the first mistake is the one that the filters select", () => {
  assert.deepEqual(firstMistake(opened[0].tree, "total", ""), { path: "total", expected: 30, candidate: 31, more: 0 });
  assert.equal(firstMistake(opened[0].tree, "total", "omission"), null);
});
