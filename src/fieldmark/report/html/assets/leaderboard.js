// The ranking of several runs: intervals, pairwise tests, attributes, and cost against quality.

import { axis, barList, intervalMark, intervalText, plot, plotLine, roundTicks, rowPlot } from "./charts.js";
import { el, spoken, svg } from "./dom.js";
import { capitalized, changeNumber, DASH, nameText, pathText, plural, pValue, rate, whole } from "./labels.js";
import { tableNode } from "./table.js";
import { shown } from "./values.js";

const MAX_RUN_COLUMNS = 8, MAX_WINNERS = 3;
// The verdict on the second run of a pair.
const FROM_BELOW = { better: "worse", worse: "better" };

export function leaderboardHead(board) {
  const best = board.runs.find((run) => run.best);
  return [
    board.warnings.map((text) => el("p", { class: "notice" }, shown(text))),
    el("p", { class: "conclusion headline", id: "conclusion" }, best ? ["Best: ", el("bdi", null, shown(best.name))] : `No run has a ${board.title}`),
    board.tied.map(({ text, runs }) => el("p", null, `${capitalized(text)}: `,
      runs.map((name, place) => [place > 0 && ", ", el("bdi", null, shown(name))]))),
    el("p", { class: "quiet" }, `${capitalized(board.title)}${board.less_is_better ? ", lower is better," : ""} over ${plural(board.cases, "shared case")}; ${plural(board.pairs.length, "pair")} tested: differences with a Holm-adjusted p of at most ${board.alpha} are significant; convention ${board.convention}`),
    board.notes.map((text) => el("p", { class: "quiet" }, shown(text))),
  ];
}

// The parts as {id, title, lead, node}; `linkTo` returns the address of a run, or null, and
// `attributeHref` returns the address of the cases with differences between runs in an attribute.
export function leaderboardParts(board, linkTo, attributeHref) {
  const parts = [{
    id: "ranking", title: "Ranking", lead: `${capitalized(board.title)} with 95% confidence intervals, the best run first. Filled dots: the best run, and runs that cannot be told from it.`,
    node: el("div", null, el("figure", { class: "panel" }, intervalChart(board)), rankingTable(board, linkTo)),
  }, {
    id: "pairs", title: "Pairs", lead: "The run of the row minus the run of the column, and the adjusted p-value of the difference. Colors mark significant differences.",
    node: pairMatrix(board),
  }];
  if (board.attributes.length > 1) {
    parts.push({ id: "wins", title: "Attributes", lead: winsText(board), node: el("div", null, el("figure", { class: "panel" }, winBars(board)), attributeRanking(board, attributeHref)) });
  }
  if (board.frontier) {
    parts.push({ id: "frontier", title: "Cost and quality", lead: "For the runs on the line, no other run is at least as good and as cheap.", node: el("div", null, el("figure", { class: "panel" }, frontierPlot(board)), costTable(board)) });
  }
  return parts;
}

function boardTicks(board) {
  return roundTicks(board.runs.flatMap((run) => [run.value, ...(run.interval || [])]));
}

function intervalChart(board) {
  const label = `${board.title} of ${plural(board.runs.length, "run")} with confidence intervals. The table below contains the same data.`;
  return rowPlot(label, board.runs, {
    ticks: boardTicks(board), name: (run) => run.name,
    draw: (run, x, y) => run.value !== null && intervalMark(x, y, run.value, run.interval, {
      title: `${run.name}: ${rate(run.value)}${run.interval ? ` (${intervalText(run.interval)})` : ""}`, filled: run.best }),
  });
}

function runCell(run, linkTo) {
  const href = linkTo && linkTo(run);
  const name = el("bdi", { class: "literal" }, shown(run.name));
  return [href ? el("a", { href }, name) : name, run.note && [" ", el("span", { class: "tile-note" }, run.note)]];
}

function pairOf(board, one, other) {
  const [first, second] = [Math.min(one, other), Math.max(one, other)].map((place) => board.runs[place].name);
  const found = board.pairs.find((pair) => pair.first === first && pair.second === second);
  return one < other ? found : { ...found, delta: found.delta === null ? null : -found.delta, better: found.worse, worse: found.better };
}

function deltaText(board, one, other) {
  const { delta } = pairOf(board, one, other);
  return delta === null ? DASH : changeNumber(delta);
}

function isTold(pair) {
  return pair.word === "better" || pair.word === "worse";
}

function pText(pair) {
  return pair.word === "too few cases to tell" ? "too few" : pValue(pair.p_adjusted);
}

function money(value) {
  return value === null || value === undefined ? DASH : value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}

function rankingTable(board, linkTo) {
  const place = (run) => board.runs.indexOf(run);
  const unread = (run) => run.cases.missing + run.cases.unparseable;
  const some = (test) => board.runs.some(test);
  const optional = [
    [board.attributes.length > 1, { key: "wins", title: "Wins", format: "count", hint: "attributes in which only this run has the highest F1" }],
    [board.attributes.length > 1, { key: "ties", title: "Ties", format: "count", hint: "attributes in which some, but not all, others have it too" }],
    [true, { key: "perfect", title: "Perfect", format: "count", hint: "cases without a mistake", value: (run) => run.cases.perfect }],
    [some(unread), { key: "missing", title: "No prediction", format: "count", value: unread }],
    [some((run) => run.cases.left_out), { key: "left_out", title: "Left out", format: "count", hint: "cases that not all runs have", value: (run) => run.cases.left_out }],
  ];
  const toBest = (run) => (place(run) === 0 ? null : pairOf(board, place(run), 0));
  return tableNode({
    caption: "Ranking", step: 50, rows: board.runs,
    columns: [
      { key: "name", title: "Run", cell: (run) => runCell(run, linkTo) },
      { key: "rank", title: "Rank", format: "count", value: (run) => -run.rank, cell: (run) => whole(run.rank) },
      { key: "value", title: capitalized(board.title), format: "number", cell: (run) => el("span", { class: "f1" }, rate(run.value)) },
      { title: "95% CI", cell: (run) => (run.interval ? el("span", { class: "nowrap" }, intervalText(run.interval)) : DASH) },
      { key: "delta", title: "To best", format: "number", value: (run) => (toBest(run) ? toBest(run).delta : null), cell: (run) => (toBest(run) ? deltaText(board, place(run), 0) : DASH) },
      { title: "p adjusted", format: "number", cell: (run) => (toBest(run) ? pText(toBest(run)) : DASH) },
      { title: "Conclusion", cell: (run) => (toBest(run) ? FROM_BELOW[toBest(run).word] || toBest(run).word : "") },
      { key: "best", title: "Best", value: (run) => Number(run.best), cell: (run) => (run.best ? el("span", { class: "nowrap" }, "✓ yes") : "no") },
      ...optional.filter(([used]) => used).map(([, column]) => column),
    ],
  });
}

function pairMatrix(board) {
  const better = ({ run, place }, other) => {
    const pair = pairOf(board, place, other);
    const gain = board.less_is_better ? -pair.delta : pair.delta;
    return { run, pair, css: isTold(pair) ? (gain > 0 ? "better" : "worse") : "" };
  };
  const column = (other, title, number) => ({
    title, head: [number, spoken(` ${title}`)], hint: title, align: "right",
    props(row) {
      if (row.place === other) return { class: "numeric quiet" };
      const { run, pair, css } = better(row, other);
      return { class: `numeric pair${css && ` pair-${css}`}`, title: `${run.name} and ${title}: ${whole(pair.better)} cases better, ${whole(pair.worse)} worse${css ? "" : `; ${pair.word}`}` };
    },
    cell(row) {
      if (row.place === other) return DASH;
      const { pair, css } = better(row, other);
      return [el("span", { class: css }, isTold(pair) && (css === "better" ? "▲ " : "▼ "), deltaText(board, row.place, other)), el("span", { class: "detail" }, pText(pair))];
    },
  });
  return tableNode({
    caption: "Differences and adjusted p-values of all pairs", css: "board-matrix", isSorted: false, step: 50,
    columns: [
      { key: "run", title: "Run", cell: ({ run, place }) => [`${place + 1} `, el("bdi", { class: "literal" }, shown(run.name))] },
      ...board.runs.map((run, other) => column(other, run.name, whole(other + 1))),
    ],
    rows: board.runs.map((run, place) => ({ run, place })),
  });
}

function winsText(board) {
  const equal = board.attributes.filter(({ best }) => best.length === board.runs.length).length;
  return `F1 by attribute, the largest difference first. In ${plural(equal, "attribute")} of ${whole(board.attributes.length)}, all runs are equal. The highest F1 is bold; wins are not tested for significance.`;
}

function winBars(board) {
  return barList(board.runs.map((run) => ({
    name: el("bdi", { title: run.name }, shown(run.name)),
    parts: [["match", run.wins, "wins"], ["tn", run.ties, "ties"]],
    number: `${plural(run.wins, "win")}, ${plural(run.ties, "tie")}`,
  })));
}

// `href` returns the address of the cases in which the runs differ in an attribute, or null. Columns
// are in the order of `ids`, if given.
export function attributeRanking(board, href = (_attribute) => null, ids = board.runs.map(({ id }) => id)) {
  const wide = board.runs.length > MAX_RUN_COLUMNS;
  const spread = ({ f1 }) => Math.max(...f1) - Math.min(...f1);
  const leaders = ({ best }) => (best.length === board.runs.length ? "all" : `${best.slice(0, MAX_WINNERS).join(", ")}${best.length > MAX_WINNERS ? ` and ${best.length - MAX_WINNERS} more` : ""}`);
  const columns = wide ? [
    { key: "most", title: "Best", format: "number", value: ({ f1 }) => Math.max(...f1) },
    { key: "least", title: "Worst", format: "number", value: ({ f1 }) => Math.min(...f1) },
    { title: "Highest in", cell: (row) => shown(leaders(row)) },
  ] : board.runs.map((run, place) => [run, place]).sort(([one], [two]) => ids.indexOf(one.id) - ids.indexOf(two.id)).map(([run, place]) => ({
    key: `run-${place}`, title: run.name, head: nameText(run.name), format: "number", value: ({ f1 }) => f1[place],
    cell: ({ f1, best }) => (best.length < board.runs.length && best.includes(run.name) ? el("strong", null, rate(f1[place])) : rate(f1[place])),
  }));
  return tableNode({
    caption: "F1 by attribute", step: 15, rows: board.attributes,
    columns: [
      { key: "attribute", title: "Attribute", cell: (row) => (href(row.attribute) && spread(row) > 0 ? el("a", { href: href(row.attribute) }, pathText(row.attribute)) : pathText(row.attribute)) },
      ...columns,
      { key: "spread", title: "Difference", format: "number", value: spread },
    ],
  });
}

function costOf(run) {
  return run.usage ? run.usage.cost_per_case : null;
}

function frontierPlot(board) {
  const known = board.runs.filter((run) => run.value !== null && costOf(run) !== null);
  const most = Math.max(...known.map(costOf)) || 1;
  const label = `${board.title} against cost per case of ${plural(known.length, "run")}. The table below contains the same data.`;
  const line = board.frontier.map((name) => known.find((run) => run.name === name)).filter(Boolean);
  return [plot(label, { x: axis("cost per case", [], { ticks: [0, most / 2, most], text: (cost) => (cost ? money(cost) : "0") }), y: axis(board.title, [], { ticks: boardTicks(board) }) },
    (at) => plotLine(at, line.map((run) => [costOf(run), run.value]), "plot-ideal"),
    (at) => known.map((run) => {
      const right = costOf(run) / most < 0.55;
      return svg("g", { class: run.frontier ? "row-mark filled" : "row-mark" },
        svg("title", null, `${run.name}: ${rate(run.value)} at ${money(costOf(run))} per case`),
        svg("circle", { class: "row-dot", cx: at.x(costOf(run)), cy: at.y(run.value), r: 5 }),
        svg("text", { x: at.x(costOf(run)), dx: right ? 10 : -10, y: at.y(run.value), dy: 4, "text-anchor": right ? "start" : "end" }, run.name.length > 24 ? `${run.name.slice(0, 23)}…` : run.name));
    })),
  el("figcaption", { class: "quiet" }, `${capitalized(board.title)} against cost. Filled dots are on the cost-quality frontier.`)];
}

function costTable(board) {
  const cost = (key, title, hint) => ({ key, title, hint, format: "cost", value: (run) => run.usage[key], cell: (run) => money(run.usage[key]) });
  return tableNode({
    caption: "Cost and response time", step: 50, rows: board.runs.filter((run) => run.usage),
    columns: [
      { key: "name", title: "Run", cell: (run) => runCell(run, null) },
      { key: "value", title: capitalized(board.title), format: "number" },
      cost("cost", "Cost", "of all shared cases"), cost("cost_per_case", "Per case"), cost("cost_per_correct", "Per correct", "cost of all cases for each case without a mistake"),
      cost("seconds", "Seconds", "mean response time"), cost("seconds_p95", "p95", "95th percentile of response times"),
      { key: "frontier", title: "Frontier", value: (run) => Number(run.frontier), cell: (run) => (run.frontier === null ? DASH : run.frontier ? el("span", { class: "nowrap" }, "✓ yes") : "no") },
    ],
  });
}
