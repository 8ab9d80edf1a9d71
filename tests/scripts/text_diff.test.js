import assert from "node:assert/strict";
import test from "node:test";

import { textDiff } from "./text_diff.js";

const joined = (segments) => segments.map(([, text]) => text).join("");

const TABLE = [
  ["equal texts", "total", "total", [[[true, "total"]], [[true, "total"]]]],
  ["a replaced character", "John Smith", "John Smyth", [[[true, "John Sm"], [false, "i"], [true, "th"]], [[true, "John Sm"], [false, "y"], [true, "th"]]]],
  ["a missing character", "12.50", "1250", [[[true, "12"], [false, "."], [true, "50"]], [[true, "12"], [false, ""], [true, "50"]]]],
  ["an emoji is one character", "a 😀 text", "a 😁 text", [[[true, "a "], [false, "😀"], [true, " text"]], [[true, "a "], [false, "😁"], [true, " text"]]]],
  ["nothing in common", "abc", "xyz", null],
  ["texts that are too long", "a".repeat(15000), "a".repeat(15000), null],
];

for (const [name, expected, candidate, segments] of TABLE) {
  test(name, () => assert.deepEqual(textDiff(expected, candidate), segments));
}

test("the segments of each side are its text, and the equal segments can be aligned", () => {
  let seed = 1;
  const random = (limit) => { seed = (seed * 48271) % 2147483647; return seed % limit; };
  const text = () => Array.from({ length: random(30) }, () => "ab c"[random(4)]).join("");
  for (let round = 0; round < 500; round += 1) {
    const expected = text(), candidate = text();
    const segments = textDiff(expected, candidate);
    if (segments) assert.deepEqual(segments.map(joined), [expected, candidate]);
  }
});
