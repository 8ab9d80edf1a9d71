// The list of cases and its filters.

function caseSection(run, opened) {
  const { lines, total } = run.cases;
  const tags = Array.from(new Set(lines.flatMap((line) => line[5]))).sort();
  const filters = { verdict: "", error: "", tag: "", text: "" };
  const texts = new Map();
  const table = sortableTable({
    caption: "Cases", step: 50, empty: "No cases match the filters.",
    columns: [
      { name: "case", label: "Case", value: (rank) => String(lines[rank][0]), cell: (rank) => [el("a", { href: `#case-${rank + 1}` }, el("bdi", { class: "literal" }, lines[rank][0] === "" ? "(no id)" : shown(lines[rank][0]))), lines[rank][5].map((tag) => el("span", { class: "tag" }, shown(tag)))] },
      { name: "verdict", label: "Verdict", value: (rank) => lines[rank][2] || "", cell: (rank) => verdictChip(lines[rank][2], lines[rank][3]) },
      { name: "score", label: "Score", numeric: true, value: (rank) => lines[rank][1], cell: (rank) => scoreText(lines[rank][1], lines[rank][7]) },
      { name: "gauge", label: "", css: "bar-cell", cell: (rank) => gauge(lines[rank][7] ? null : lines[rank][1], null) },
      { name: "mistakes", label: "Mistakes", value: (rank) => lines[rank][6].reduce((all, number) => all + number, 0), cell: (rank) => mistakeChips(lines[rank][6]) },
      { name: "input", label: "Input", value: (rank) => lines[rank][4], cell: (rank) => (lines[rank][4] === "ok" ? el("span", { class: "zero" }, "ok") : INPUT_LABELS[lines[rank][4]] || reasonText(lines[rank][4])) },
    ],
  });
  const all = lines.map((_, rank) => rank);
  const number = el("span", { class: "quiet", role: "status" });
  function matches(rank) {
    const [id, , verdict, status, , own, mistakes] = lines[rank];
    if (filters.verdict && (filters.verdict === "error" ? status !== "error" : verdict !== filters.verdict)) return false;
    if (filters.error && !mistakes[Number(filters.error)]) return false;
    if (filters.tag && !own.includes(filters.tag)) return false;
    return !filters.text || String(id).toLowerCase().includes(filters.text) || textIn(rank).includes(filters.text);
  }
  function textIn(rank) {
    if (!texts.has(rank)) texts.set(rank, [...lines[rank][5], ...(opened[rank] ? treeTexts(opened[rank].tree) : [])].join("\n").toLowerCase());
    return texts.get(rank);
  }
  function show() {
    const found = all.filter(matches);
    table.show(found);
    number.textContent = found.length === lines.length ? plural(lines.length, "case") : `${whole(found.length)} of ${plural(lines.length, "case")}`;
  }
  function filterBy(name) {
    return (value) => { filters[name] = name === "text" ? value.trim().toLowerCase() : value; show(); };
  }
  const controls = el("div", { class: "controls" },
    search("Search", "Id, path or value", filterBy("text"), { id: "case-filter" }),
    select("Verdict", [["", "any"], ["fail", "fail"], ["partial", "partial"], ["pass", "pass"], ["error", "error"]], filterBy("verdict")),
    select("Mistake", [["", "any"], ...ERROR_TYPES.map((outcome, place) => [String(place), OUTCOMES[outcome].word])], filterBy("error")),
    tags.length > 0 && select("Tag", [["", "any"], ...tags.map((tag) => [tag, tag])], filterBy("tag")),
    number);
  show();
  return section("cases", "Cases", "Worst first. Open a case to see its documents side by side.",
    (lines.length < total || run.cases.opened < lines.length) && el("p", { class: "notice", id: "sampled" }, sampledText(run.cases)),
    controls, table.node);
}

// A score that rests on nothing says so.
function scoreText(score, vacuous) {
  return vacuous ? [rate(score), " ", el("span", { class: "tile-note" }, "vacuous")] : rate(score);
}

function sampledText({ lines, total, opened }) {
  const listed = lines.length < total ? `This list contains the ${whole(lines.length)} worst of ${plural(total, "case")}` : `This list contains ${total === 1 ? "the only case" : `all ${whole(total)} cases`}`;
  const openable = opened < lines.length ? `, and the ${whole(opened)} worst can be opened` : "";
  return `${listed}${openable}. results.jsonl contains all cases. Metrics cover all cases.`;
}

// All keys and values of a tree as text, for searching.
function treeTexts(nodes, found = []) {
  for (const [key, , expected, candidate, comparison, members] of nodes) {
    if (typeof key === "string") found.push(key);
    for (const slot of [expected, candidate]) if (!isSame(slot) && !["missing", "hidden"].includes(kindOf(slot))) found.push(textOf(slot));
    if (comparison && comparison.n) found.push(comparison.n);
    if (members) treeTexts(members, found);
  }
  return found;
}
