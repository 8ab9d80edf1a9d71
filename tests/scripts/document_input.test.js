import assert from "node:assert/strict";
import test from "node:test";

import { pretty, readText } from "./document_input.js";

const TABLE = [
  ["JSON", '{"a": 1}', { json: '{"a": 1}' }],
  ["the only fenced block", 'Here:\n```json\n{"a": 1}\n```\n', { json: '{"a": 1}\n', fenced: true }],
];

for (const [name, text, found] of TABLE) test(`a text is read as ${name}`, () => assert.deepEqual(readText(text), found));

test("invalid JSON is an error", () => {
  assert.match(readText('{"a": }').error, /^Invalid JSON/);
  assert.match(readText("```\n1\n```\n```\n2\n```").error, /^Invalid JSON/);
});

test("JSON is indented without changing its numbers", () => {
  assert.equal(pretty('{"a":[1.50,{}],"b":12345678901234567890,"c":"x{\\"y"}'), `{
  "a": [
    1.50,
    {}
  ],
  "b": 12345678901234567890,
  "c": "x{\\"y"
}`);
});
