// Two runs side by side: what became worse comes first.

import { ask, query } from "./api.js";
import { DASH, button, el, moment, pathText, plural, rate, replace, section, select, shown, signed, sortableTable, whole } from "./report.js";
import { address, empty, problem, remember, runName } from "./shell.js";

const state = address(["a", "b", "force", "rescore"]);
const answer = el("div"), trouble = el("div");

function picker(runs, label, name) {
  const options = [["", "choose a run"], ...runs.map((run) => [run.id, `${runName(run)}, ${moment(run.started_at)}`])];
  if (state[name] && !runs.some(({ id }) => id === state[name])) options.push([state[name], state[name]]);
  const box = select(label, options, (value) => { state[name] = value; remember(state, { push: true }); draw(); });
  box.querySelector("select").value = state[name];
  box.querySelector("select").id = `pick-${name}`;
  return box;
}

async function draw() {
  replace(trouble);
  if (!state.a || !state.b) return replace(answer, empty("Choose two runs", "The first is the one before, the second the one after."));
  replace(answer, el("p", { class: "quiet", role: "status" }, "Comparing …"));
  try {
    replace(answer, view(await ask(`/api/diff${query(state)}`)));
  } catch (error) {
    replace(answer, problem(error), error.status === 422 && el("p", { class: "bar-actions" },
      button("Compare what there is to compare", () => again({ force: "true" }), { id: "force" }),
      button("Count the second as the first", () => again({ rescore: "true" }), { id: "rescore" })));
  }
  return null;
}

function again(how) {
  Object.assign(state, { force: "", rescore: "" }, how);
  remember(state, { push: true });
  draw();
}

function delta(value) {
  if (value === null || value === undefined) return DASH;
  const css = value < 0 ? "worse" : value > 0 ? "better" : "";
  return el("span", { class: `change ${css}` }, `${value < 0 ? "▼" : value > 0 ? "▲" : "="} ${signed(value)}`);
}

function figures(found) {
  const rows = Object.entries(found).map(([name, each]) => ({ name, ...each })).sort((one, two) => (one.delta ?? 0) - (two.delta ?? 0));
  return rows;
}

function figureTable(caption, found, first) {
  const table = sortableTable({
    caption, step: 20, empty: "Nothing to compare.",
    columns: [
      { name: "name", label: first, value: (row) => row.name, cell: (row) => pathText(row.name) },
      { name: "before", label: "Before", numeric: true, value: (row) => row.before, cell: (row) => rate(row.before) },
      { name: "after", label: "After", numeric: true, value: (row) => row.after, cell: (row) => rate(row.after) },
      { name: "change", label: "Change", numeric: true, value: (row) => row.delta, cell: (row) => delta(row.delta) },
      { name: "range", label: "Likely range", cell: (row) => (row.interval ? `${signed(row.interval[0])} to ${signed(row.interval[1])}` : DASH) },
      { name: "p", label: "p", numeric: true, hint: "how likely such a difference is by chance", value: (row) => row.p ?? null, cell: (row) => rate(row.p ?? null) },
      { name: "word", label: "", cell: (row) => row.word || "" },
    ],
  });
  table.show(figures(found));
  return table.node;
}

function changes(caption, rows, run, none) {
  const table = sortableTable({
    caption, step: 15, empty: none,
    columns: [
      { name: "case", label: "Case", value: (row) => row.case_id, cell: (row) => el("a", { href: `/runs/${run}?text=${encodeURIComponent(row.case_id)}#cases` }, el("bdi", { class: "literal" }, shown(row.case_id))) },
      { name: "before", label: "Before", numeric: true, value: (row) => row.before, cell: (row) => rate(row.before) },
      { name: "after", label: "After", numeric: true, value: (row) => row.after, cell: (row) => rate(row.after) },
    ],
  });
  table.show(rows);
  return table.node;
}

function view(found) {
  const { conclusion, cases, notes } = found;
  const css = conclusion.word === "better" ? "better" : conclusion.word === "worse" ? "worse" : "";
  return [
    el("p", { class: `conclusion ${css}`, id: "conclusion" }, `${conclusion.word[0].toUpperCase()}${conclusion.word.slice(1)}`, " ", el("span", { class: "quiet" }, `in ${conclusion.figure.replaceAll("_", " ")}, p ${rate(conclusion.p)}`)),
    el("p", null, `${plural(cases.paired, "case")} in both: ${whole(cases.score_down)} worse, ${whole(cases.score_up)} better, ${whole(cases.score_same)} unchanged.`),
    notes.map((note) => el("p", { class: "notice" }, shown(note))),
    section("broken", "Regressions", "Cases that passed only before.", changes("Cases that passed only before", found.broken, state.b, "No case got worse in its verdict.")),
    section("fixed", "Mended", "Cases that pass only now.", changes("Cases that pass only now", found.fixed, state.b, "No case got better in its verdict.")),
    section("figures", "Figures", null, figureTable("Figures of both runs", found.figures, "Figure")),
    section("attributes", "Attributes", "F1 of every attribute; what became worse comes first.", figureTable("Attributes of both runs", found.attributes, "Attribute")),
  ];
}

const app = document.getElementById("app");
const pickers = el("div", { class: "versus-pick" });
replace(app, pickers, trouble, answer);
try {
  const { runs } = await ask("/api/runs?status=complete&limit=500");
  const named = runs.filter((run) => run.named);
  replace(pickers, picker(named, "Before", "a"), picker(named, "After", "b"), button("Exchange", () => { [state.a, state.b] = [state.b, state.a]; remember(state); location.reload(); }, { id: "exchange" }));
} catch (error) {
  replace(trouble, problem(error));
}
window.addEventListener("popstate", () => location.reload());
draw();
