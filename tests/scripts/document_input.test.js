import assert from "node:assert/strict";
import test from "node:test";

import { pretty, readText } from "./document_input.js";

const TABLE = [
  ["JSON", '{"a": 1}', { json: '{"a": 1}' }],
  ["the only fenced block", 'Here:\n```json\n{"a": 1}\n```\n', { json: '{"a": 1}\n', fenced: true }],
];

for (const [name, text, found] of TABLE) test(`a text is read as ${name}`, () => assert.deepEqual(readText(text), found));

// Engines word the errors of JSON differently, and some have no position.
const INVALID = [
  ["an unexpected end", '{"a": 1,\n"b": 2', /^Invalid JSON(: unexpected end of input| at line 2, column 7)\.$/],
  ["a missing value", '{"a": }', /^Invalid JSON/],
  ["no value", "hello", /^Invalid JSON/],
  ["two fenced blocks", "```\n1\n```\n```\n2\n```", /^Invalid JSON/],
];

for (const [name, text, message] of INVALID) test(`${name} is an error`, () => assert.match(readText(text).error, message));

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
