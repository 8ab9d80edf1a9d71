// The page that compares two runs, worst changes first.

import { query, request } from "./api.js";
import { button, comparisonHead, comparisonParts, el, moment, replace, section, select } from "./report.js";
import { address, empty, problem, remember, runName } from "./page.js";

const state = address(["a", "b", "force", "rescore", "order"]);
const output = el("div"), errors = el("div");

// Choosing a run as "Before" or "After" also chooses the order.
function picker(runs, label, name) {
  const options = [["", "Select a run"], ...runs.map((run) => [run.id, `${runName(run)}, ${moment(run.started_at)}`])];
  if (state[name] && !runs.some(({ id }) => id === state[name])) options.push([state[name], state[name]]);
  const box = select(label, options, (value) => { state[name] = value; state.order = ""; remember(state, { push: true }); draw(); });
  box.querySelector("select").value = state[name];
  box.querySelector("select").id = `pick-${name}`;
  return box;
}

function showOrder({ before, after }) {
  Object.assign(state, { a: before.name, b: after.name, order: "" });
  remember(state);
  for (const name of ["a", "b"]) {
    const box = document.getElementById(`pick-${name}`);
    if (box) box.value = state[name];
  }
}

async function draw() {
  replace(errors);
  if (!state.a || !state.b) return replace(output, empty("Select two runs", "Changes are shown from the first run to the second."));
  replace(output, el("p", { class: "quiet", role: "status" }, "Comparing…"));
  try {
    const found = await request(`/api/diff${query(state)}`);
    showOrder(found);
    replace(output, view(found));
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

function view(found) {
  const named = (changes) => Object.entries(changes).map(([name, change]) => ({ name, ...change }));
  const shown = { ...found, metrics: named(found.metrics), evaluators: named(found.evaluators), attributes: named(found.attributes), slices: named(found.slices) };
  const linkTo = ({ case_id: id }) => `/runs/${state.b}?text=${encodeURIComponent(id)}#cases`;
  return [comparisonHead(shown), comparisonParts(shown, linkTo).map(({ id, title, lead, node }) => section(id, title, lead, node))];
}

const app = document.getElementById("app");
const pickers = el("div", { class: "versus-pick" });
replace(app, pickers, errors, output);
try {
  const { runs } = await request("/api/runs?status=complete&limit=500");
  const openable = runs.filter((run) => run.valid_id);
  replace(pickers, picker(openable, "Before", "a"), picker(openable, "After", "b"), button("Swap", () => { [state.a, state.b] = [state.b, state.a]; state.order = ""; remember(state); location.reload(); }, { id: "swap", "aria-label": "Swap the two runs" }));
} catch (error) {
  replace(errors, problem(error));
}
window.addEventListener("popstate", () => location.reload());
draw();
