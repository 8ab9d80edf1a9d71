import assert from "node:assert/strict";
import test from "node:test";

import { sortable, sortedRows, valuesOf } from "./table.js";

const column = { key: "score", title: "Score" };
const rowsOf = (...scores) => scores.map((score, index) => ({ index, score }));
const indexes = (rows) => rows.map(({ index }) => index);

test("rows are sorted in both directions", () => {
  assert.deepEqual(indexes(sortedRows(rowsOf(2, 3, 1), column, false)), [2, 0, 1]);
  assert.deepEqual(indexes(sortedRows(rowsOf(2, 3, 1), column, true)), [1, 0, 2]);
});

test("rows without a value are last in both directions", () => {
  assert.deepEqual(indexes(sortedRows(rowsOf(null, 2, undefined, 1), column, false)), [3, 1, 0, 2]);
  assert.deepEqual(indexes(sortedRows(rowsOf(null, 2, undefined, 1), column, true)), [1, 3, 0, 2]);
});

test("rows with equal values keep their order, also if they differ by float noise", () => {
  for (const descending of [false, true]) {
    assert.deepEqual(indexes(sortedRows(rowsOf(0.3, 0.1 + 0.2, 0.3), column, descending)), [0, 1, 2]);
  }
});

test("a column can sort by another value than the one with its key", () => {
  const byLength = { key: "name", value: ({ name }) => name.length };
  assert.deepEqual(sortedRows([{ name: "ccc" }, { name: "a" }], byLength, false).map(({ name }) => name), ["a", "ccc"]);
});

test("sorting does not change the list that it is given", () => {
  const rows = rowsOf(2, 1);
  sortedRows(rows, column, false);
  assert.deepEqual(indexes(rows), [0, 1]);
});

test("only numbers are rounded for sorting", () => {
  assert.equal(sortable(0.1 + 0.2), 0.3);
  assert.equal(sortable("0.30000000000000004"), "0.30000000000000004");
  assert.equal(sortable(null), null);
});

test("the rows of a document have plain values", () => {
  assert.deepEqual(valuesOf({ rows: [{ name: { value: "a", text: "A" }, f1: { value: 0.5, text: "0.500" } }] }), [{ name: "a", f1: 0.5 }]);
});
