// Checks a candidate against itself: do the amounts of the rows add up to the total?
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
  const fine = gap <= (config.max_gap ?? 0.01) + 1e-9; // a gap that is not a number is not fine
  const told = `${rows.length} rows add up to ${sum.toFixed(2)}, the total is ${candidate?.total}`;
  return {
    score: fine ? 1 : 0,
    hits: fine ? ["total"] : [],
    misses: fine ? [] : ["total"],
    reasoning: told,
    details: { sum: Number.isFinite(sum) ? sum : null, rows: rows.length },
  };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(judge(JSON.parse(line))));
});
