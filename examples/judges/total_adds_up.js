// Checks that the amounts of the rows in the prediction add up to its total.
//
// In an eval file:
//
//     - name: total_adds_up
//       type: code_judge
//       script: [node, judges/total_adds_up.js]
//       max_gap: 0.01

const readline = require("node:readline");

function judge({ candidate, config }) {
  const rows = Array.isArray(candidate?.line_items) ? candidate.line_items : [];
  const sum = rows.reduce((total, row) => total + Number(row?.amount), 0);
  const gap = Math.abs(sum - Number(candidate?.total));
  const matches = gap <= (config.max_gap ?? 0.01) + 1e-9; // false if the gap is NaN
  const reasoning = `${rows.length} rows add up to ${sum.toFixed(2)}, the total is ${candidate?.total}`;
  return {
    score: matches ? 1 : 0,
    hits: matches ? ["total"] : [],
    misses: matches ? [] : ["total"],
    reasoning,
    details: { sum: Number.isFinite(sum) ? sum : null, rows: rows.length },
  };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(judge(JSON.parse(line))));
});
