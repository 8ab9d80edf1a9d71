// The page that compares two runs, worst changes first.

import { query, request } from "./api.js";
import { DASH, button, el, moment, pathText, plural, rate, replace, section, select, shown, signed, sortableTable, whole } from "./report.js";
import { address, empty, metricName, problem, remember, runName } from "./page.js";

const state = address(["a", "b", "force", "rescore"]);
const output = el("div"), errors = el("div");
const CONCLUSIONS = { better: "improved", worse: "regressed", "no difference": "no significant difference" };

function picker(runs, label, name) {
  const options = [["", "Select a run"], ...runs.map((run) => [run.id, `${runName(run)}, ${moment(run.started_at)}`])];
  if (state[name] && !runs.some(({ id }) => id === state[name])) options.push([state[name], state[name]]);
  const box = select(label, options, (value) => { state[name] = value; remember(state, { push: true }); draw(); });
  box.querySelector("select").value = state[name];
  box.querySelector("select").id = `pick-${name}`;
  return box;
}

async function draw() {
  replace(errors);
  if (!state.a || !state.b) return replace(output, empty("Select two runs", "Changes are shown from the first run to the second."));
  replace(output, el("p", { class: "quiet", role: "status" }, "Comparing…"));
  try {
    replace(output, view(await request(`/api/diff${query(state)}`)));
  } catch (error) {
    replace(output, problem(error), error.status === 422 && el("p", { class: "bar-actions" },
      button("Compare anyway", () => retry({ force: "true" }), { id: "force" }),
      button("Rescore the second run with the convention of the first", () => retry({ rescore: "true" }), { id: "rescore" })));
  }
  return null;
}

function retry(options) {
  Object.assign(state, { force: "", rescore: "" }, options);
  remember(state, { push: true });
  draw();
}

function delta(value) {
  if (value === null || value === undefined) return DASH;
  const css = value < 0 ? "worse" : value > 0 ? "better" : "";
  return el("span", { class: `change ${css}` }, `${value < 0 ? "▼" : value > 0 ? "▲" : "="} ${signed(value)}`);
}

function metricRows(changes) {
  return Object.entries(changes).map(([name, change]) => ({ name, ...change })).sort((one, two) => (one.delta ?? 0) - (two.delta ?? 0));
}

function metricTable(caption, changes, label, nameOf = (name) => name) {
  const table = sortableTable({
    caption, step: 20, empty: "Nothing to compare.",
    columns: [
      { name: "name", label, value: (row) => row.name, cell: (row) => pathText(nameOf(row.name)) },
      { name: "before", label: "Before", numeric: true, value: (row) => row.before, cell: (row) => rate(row.before) },
      { name: "after", label: "After", numeric: true, value: (row) => row.after, cell: (row) => rate(row.after) },
      { name: "change", label: "Change", numeric: true, value: (row) => row.delta, cell: (row) => delta(row.delta) },
      { name: "range", label: "95% CI", hint: "bootstrap confidence interval of the change", cell: (row) => (row.interval ? `${signed(row.interval[0])} to ${signed(row.interval[1])}` : DASH) },
      { name: "p", label: "p", numeric: true, hint: "probability of a change at least this large by chance", value: (row) => row.p ?? null, cell: (row) => rate(row.p ?? null) },
      { name: "word", label: "Conclusion", cell: (row) => CONCLUSIONS[row.word] || row.word || "" },
    ],
  });
  table.show(metricRows(changes));
  return table.node;
}

function caseTable(caption, rows, run, emptyText) {
  const table = sortableTable({
    caption, step: 15, empty: emptyText,
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
  const word = CONCLUSIONS[conclusion.word] || conclusion.word;
  return [
    el("p", { class: `conclusion ${css}`, id: "conclusion" }, `${word[0].toUpperCase()}${word.slice(1)}`, " ", el("span", { class: "quiet" }, `· ${metricName(conclusion.metric)}, p = ${rate(conclusion.p)}`)),
    el("p", null, `${plural(cases.paired, "case")} in both runs: ${whole(cases.score_down)} with a lower score, ${whole(cases.score_up)} with a higher score, ${whole(cases.score_same)} unchanged.`),
    notes.map((note) => el("p", { class: "notice" }, shown(note))),
    section("regressed", "Regressions", "Cases that passed in the first run only.", caseTable("Cases that passed in the first run only", found.regressed, state.b, "No case regressed.")),
    section("fixed", "Fixes", "Cases that passed in the second run only.", caseTable("Cases that passed in the second run only", found.fixed, state.b, "No case was fixed.")),
    section("metrics", "Metrics", null, metricTable("Metrics of both runs", found.metrics, "Metric", metricName)),
    section("attributes", "Attributes", "F1 per attribute, largest decrease first.", metricTable("Attributes of both runs", found.attributes, "Attribute")),
  ];
}

const app = document.getElementById("app");
const pickers = el("div", { class: "versus-pick" });
replace(app, pickers, errors, output);
try {
  const { runs } = await request("/api/runs?status=complete&limit=500");
  const openable = runs.filter((run) => run.valid_id);
  replace(pickers, picker(openable, "Before", "a"), picker(openable, "After", "b"), button("Swap", () => { [state.a, state.b] = [state.b, state.a]; remember(state); location.reload(); }, { id: "swap", "aria-label": "Swap the two runs" }));
} catch (error) {
  replace(errors, problem(error));
}
window.addEventListener("popstate", () => location.reload());
draw();
