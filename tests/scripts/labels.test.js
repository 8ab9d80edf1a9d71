import assert from "node:assert/strict";
import test from "node:test";

import { bytes, capitalized, changeNumber, frequentErrors, mistakesIn, moment, outcomeOf, outcomeWord, plural, pValue, rate, signed } from "./labels.js";

const TABLE = [
  ["a rate", rate(0.98765), "0.988"],
  ["an undefined rate", rate(null), "–"],
  ["a p-value", pValue(0.0421), "0.042"],
  ["a small p-value", pValue(0.0004), "<0.001"],
  ["an undefined p-value", pValue(null), "–"],
  ["an increase", signed(0.1), "+0.100"],
  ["a decrease", signed(-0.1), "−0.100"],
  ["no change has no sign", signed(-0.00001), "0.000"],
  ["a change of rates", changeNumber(0.25), "+0.250"],
  ["a change of rates has three decimals", changeNumber(-0.0239), "−0.024"],
  ["a small change is not shown as none", changeNumber(0.00001), "+<0.001"],
  ["no change", changeNumber(0), "0.000"],
  ["one", plural(1, "case"), "1 case"],
  ["many", plural(1234, "case"), "1,234 cases"],
  ["an irregular plural", plural(2, "match", "matches"), "2 matches"],
  ["bytes", bytes(999), "999 B"],
  ["megabytes", bytes(1_500_000), "1.5 MB"],
  ["a time", moment("2026-11-16T04:59:00+00:00"), "2026-11-16 04:59 UTC"],
  ["a time in another zone", moment("2026-11-16T04:59:00+02:00"), "2026-11-16 02:59 UTC"],
  ["another text", moment("yesterday"), "yesterday"],
  ["a capital letter", capitalized("micro F1"), "Micro F1"],
  ["the number of an outcome", outcomeOf("omission"), 3],
  ["the word of an outcome", outcomeWord("hallucination"), "extra"],
  ["the word of a reason", outcomeWord("not_a_number"), "not a number"],
  ["all mistakes", mistakesIn({ omission: 2, wrong_value: 3, match: 9 }), 5],
];

for (const [name, text, expected] of TABLE) test(name, () => assert.equal(text, expected));

test("the most frequent mistakes are first", () => {
  assert.deepEqual(frequentErrors({ omission: 1, wrong_value: 3, hallucination: 0 }), ["wrong_value", "omission"]);
});
