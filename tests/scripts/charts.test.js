import assert from "node:assert/strict";
import test from "node:test";

import { axis, roundTicks } from "./charts.js";

const TABLE = [
  ["rates", [0.2, 0.9], [0.2, 0.4, 0.6000000000000001, 0.8, 1]],
  ["counts", [0, 1, 37], [0, 10, 20, 30, 40]],
  ["no values", [], [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]],
  ["undefined values", [null, undefined, 0, 1], [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]],
];

for (const [name, values, ticks] of TABLE) {
  test(`ticks of ${name}`, () => assert.deepEqual(roundTicks(values), ticks));
}

test("ticks enclose all values and are few", () => {
  for (const values of [[0.501, 0.502], [0.5], [0], [-3, 4], [12345, 99999], [0.001, 700]]) {
    const ticks = roundTicks(values);
    assert.ok(ticks[0] <= Math.min(...values) + 1e-9 && ticks.at(-1) >= Math.max(...values) - 1e-9, String(ticks));
    assert.ok(ticks.length >= 2 && ticks.length <= 8, String(ticks));
  }
});

test("an axis ends at its first and last tick", () => {
  const { low, high, text } = axis("F1", [0.2, 0.9]);
  assert.deepEqual([low, high], [0.2, 1]);
  assert.deepEqual([text(0.5), text(0.25), text(1500)], ["0.50", "0.25", "1,500"]);
});
