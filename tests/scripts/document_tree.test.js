import assert from "node:assert/strict";
import test from "node:test";

import { fieldPath, isItem } from "./document_tree.js";
import { nodeAttribute, nodePath } from "./field_links.js";

const item = (expected, candidate) => ({ expected, candidate, similarity: null });

const TABLE = [
  ["a key", "vendor", "name", "vendor.name"],
  ["a key at the top", "", "total", "total"],
  ["a key with a dot", "vendor", "a.b", 'vendor["a.b"]'],
  ["an empty key", "vendor", "", 'vendor[""]'],
  ["an item, by its index in the ground truth", "lines", item(1, 0), "lines[1]"],
  ["an item without a counterpart", "lines", item(null, 2), "+lines[2]"],
  ["an entry of a map", "taxes", item("vat", "vat"), "taxes.vat"],
];

for (const [name, parent, key, path] of TABLE) test(`the path of ${name}`, () => assert.equal(fieldPath(parent, key), path));

test("an item has places instead of a key", () => {
  assert.ok(isItem(item(0, 0)));
  assert.ok(!isItem("lines"));
});

test("attributes have no indexes, and paths of extra items have no sign", () => {
  assert.equal(nodeAttribute("lines", { key: item(0, 1), comparison: null }), "lines[]");
  assert.equal(nodePath("lines", { key: item(null, 1), comparison: null }), "lines[1]");
});
