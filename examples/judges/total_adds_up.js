// Checks that the amounts of the rows in the prediction add up to its total.
//
// It scores like the constraint "sum(line_items[].amount) == total ± 0.01". In an eval file:
//
//     - name: total_adds_up
//       type: code_judge
//       script: [node, judges/total_adds_up.js]
//       max_gap: 0.01
//
// The judge runs with Node.js 16 or later and needs no packages.

const readline = require("node:readline");

const isEmpty = (value) => value === undefined || value === null || String(value).trim() === "";
const isNumeric = (value) =>
  typeof value === "number" ||
  (typeof value === "string" && /^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(value));

function judge({ candidate, config }) {
  if (candidate === null) return fails("no readable prediction"); // also if it could not be parsed
  const { line_items: rows, total } = candidate;
  if (isEmpty(rows) && !Array.isArray(rows)) return skipped("line_items is missing");
  if (!Array.isArray(rows)) return fails("line_items is not a list");
  const amounts = rows.map((row) => row?.amount);
  const values = [...amounts, total];
  const wrong = values.find((value) => !isEmpty(value) && !isNumeric(value));
  if (wrong !== undefined) return fails(`${JSON.stringify(wrong)} is not a number`);
  if (values.some(isEmpty)) return skipped("an amount or the total is missing");
  const sum = amounts.reduce((all, amount) => all + Number(amount), 0);
  const summary = `${rows.length} rows add up to ${sum.toFixed(2)}, the total is ${total}`;
  const matches = Math.abs(sum - Number(total)) <= (config.max_gap ?? 0.01) + 1e-9;
  return matches ? { score: 1, hits: ["total"], reasoning: summary } : fails(summary);
}

function fails(reason) {
  return { score: 0, misses: [`total (${reason})`], reasoning: reason };
}

// A document without the values cannot be checked; other evaluators report missing values.
function skipped(reason) {
  return { score: 1, vacuous: true, reasoning: `not checked: ${reason}` };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(judge(JSON.parse(line))));
});
