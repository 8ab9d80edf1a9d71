// The history: searched, filtered, followed over time, compared, cleaned up.

import { ask, query } from "./api.js";
import { button, data, el, gauge, moment, plural, rate, replace, search, section, select, shown, sortableTable, whole } from "./report.js";
import { address, empty, later, problem, remember, runName, toast } from "./shell.js";
import { trendChart } from "./trend.js";

const page = data("page");
const STEP = 50;
const FIGURES = [["mean_score", "Mean score"], ["macro_f1_by_attribute", "Macro F1 by attribute"], ["macro_f1_by_case", "Macro F1 by case"], ["micro_f1", "Micro F1"]];
const state = { ...address(["text", "status", "convention", "figure", "offset"]) };
const list = el("div"), pages = el("div", { class: "pages" }), trouble = el("div"), chart = el("div");
const number = el("span", { class: "quiet", role: "status" });
const picked = [];
const hidden = new Set();
const compare = button("Compare the chosen two", () => { location.href = `/diff${query({ a: picked[0], b: picked[1] })}`; }, { id: "compare", disabled: true });

async function draw() {
  const offset = Number(state.offset) || 0;
  try {
    const found = await ask(`/api/runs${query({ text: state.text, status: state.status, convention: state.convention, offset, limit: STEP })}`);
    const rows = found.runs.filter(({ id }) => !hidden.has(id));
    number.textContent = plural(found.total, "run");
    replace(trouble);
    replace(list, rows.length ? runTable(rows) : state.text || state.status || state.convention
      ? empty("No run matches", "Change the filter to see others.", button("Clear the filter", () => { location.href = "/runs"; }))
      : empty("No runs yet", "A batch makes a run; so does fieldmark score on the command line.", el("a", { class: "button", href: "/batch" }, "Start a batch")));
    replace(pages, found.total > STEP && [
      button("Newer", () => go(offset - STEP), { disabled: offset === 0 }),
      el("span", { class: "quiet" }, `${whole(offset + 1)} to ${whole(Math.min(offset + STEP, found.total))} of ${whole(found.total)}`),
      button("Older", () => go(offset + STEP), { disabled: offset + STEP >= found.total })]);
  } catch (error) {
    replace(trouble, problem(error));
  }
}

function go(offset) {
  state.offset = Math.max(0, offset) || "";
  remember(state, { push: true });
  draw();
}

function runTable(rows) {
  const figure = (name) => ({ numeric: true, cell: (run) => rate(run.figures && run.figures[name]) });
  const table = sortableTable({
    caption: "Runs, the newest first", step: STEP,
    columns: [
      { name: "run", label: "Run", cell: (run) => [run.named ? el("a", { class: "run-name", href: `/runs/${run.id}`, title: run.inputs.join(" · ") || null }, shown(runName(run))) : el("span", { class: "run-name", title: "rename the folder to open it" }, shown(run.id)), el("span", { class: "run-id" }, shown(run.id)), run.tags.map((tag) => el("span", { class: "tag" }, shown(tag)))] },
      { name: "when", label: "Begun", cell: (run) => moment(run.started_at) },
      { name: "status", label: "Status", cell: (run) => el("span", { class: `status status-${run.status}`, title: run.problem || null }, run.status, !run.kept && " · not kept") },
      { name: "cases", label: "Cases", numeric: true, cell: (run) => (run.cases === null ? "–" : whole(run.cases)) },
      { name: "score", label: "Mean score", ...figure("mean_score") },
      { name: "macro", label: "Macro F1", ...figure("macro_f1_by_attribute") },
      { name: "micro", label: "Micro F1", ...figure("micro_f1") },
      { name: "gauge", label: "", css: "bar-cell", cell: (run) => gauge((run.figures && run.figures.mean_score) ?? null, null) },
      { name: "pick", label: "Compare", cell: (run) => run.status === "complete" && run.named && el("input", { type: "checkbox", "aria-label": `Choose ${runName(run)}`, checked: picked.includes(run.id), on: { change: (event) => pick(run.id, event.target.checked) } }) },
      { name: "remove", label: "", cell: (run) => run.named && (page.write || !run.kept) && button("Delete", () => remove(run), { "aria-label": `Delete ${runName(run)}` }) },
    ],
  });
  table.show(rows);
  return table.node;
}

function pick(id, on) {
  const place = picked.indexOf(id);
  if (on && place < 0) picked.push(id);
  if (!on && place >= 0) picked.splice(place, 1);
  while (picked.length > 2) picked.shift();
  compare.disabled = picked.length !== 2;
  draw();
}

// The run is gone from the list at once and from the disk when nobody wants it back.
function remove(run) {
  hidden.add(run.id);
  draw();
  toast(`${runName(run)} will be deleted.`, {
    undo: () => { hidden.delete(run.id); draw(); },
    then: async () => {
      try {
        await ask(`/api/runs/${run.id}`, { method: "DELETE" });
      } catch (error) {
        hidden.delete(run.id);
        replace(trouble, problem(error));
      }
      draw();
      drawTrend();
    },
  });
}

async function drawTrend() {
  const figure = state.figure || "mean_score";
  try {
    const found = await ask(`/api/trend${query({ figure })}`);
    replace(chart, trendChart(found, FIGURES.find(([name]) => name === figure)[1]));
  } catch (error) {
    replace(chart, problem(error));
  }
}

const changed = later(200, () => { remember(state); draw(); });
const set = (name) => (value) => { state[name] = value; state.offset = ""; changed(); };
const statusBox = select("Status", [["", "any"], ...["complete", "running", "interrupted", "failed", "corrupt"].map((word) => [word, word])], set("status"));
const conventionBox = select("Convention", [["", "any"], ...page.conventions.map((word) => [word, word.replaceAll("_", " ")])], set("convention"));
const figureBox = select("Figure", FIGURES, (value) => { state.figure = value; remember({ figure: value }); drawTrend(); });
statusBox.querySelector("select").value = state.status;
conventionBox.querySelector("select").value = state.convention;
figureBox.querySelector("select").value = state.figure || "mean_score";
window.addEventListener("popstate", () => { Object.assign(state, address(["text", "status", "convention", "figure", "offset"])); draw(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); document.getElementById("run-filter").focus(); }
});
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "Every run of this workspace, the newest first."),
  trouble,
  el("div", { class: "controls" }, search("Search", "title, id, input or tag", set("text"), { id: "run-filter", value: state.text }), statusBox, conventionBox, compare, number),
  list, pages,
  section("trend", "Trend", "A figure over the runs that can be compared with the newest: same truth, same rules, same counting.", el("div", { class: "controls" }, figureBox), chart));
draw();
drawTrend();
