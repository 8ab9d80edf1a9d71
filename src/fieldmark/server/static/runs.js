// The page of all runs: search, trend, comparison and deletion.

import { lastRequest, query, request } from "./api.js";
import { button, data, el, gauge, moment, plural, rate, replace, search, section, select, shown, sortableTable, whole } from "./report.js";
import { METRICS, address, debounce, empty, metricName, problem, remember, runName, toast } from "./page.js";
import { trendChart } from "./trend.js";

const page = data("page");
const STEP = 50;
const state = { ...address(["text", "status", "convention", "metric", "series", "offset"]) };
const list = el("div"), pages = el("div", { class: "pages" }), errors = el("div"), chart = el("div");
const number = el("span", { class: "quiet", role: "status" });
const requestRuns = lastRequest(), requestTrend = lastRequest();
const selected = [];
const hidden = new Set();
const compare = button("Compare selected runs", () => { location.href = `/diff${query({ a: selected[0], b: selected[1], order: "time" })}`; }, { id: "compare", disabled: true });
const rank = button("Rank selected runs", () => { location.href = `/rank?${new URLSearchParams(selected.map((run) => ["run", run]))}`; }, { id: "rank", disabled: true });

async function draw() {
  const offset = Number(state.offset) || 0;
  try {
    const found = await requestRuns(`/api/runs${query({ text: state.text, status: state.status, convention: state.convention, offset, limit: STEP })}`);
    const rows = found.runs.filter(({ id }) => !hidden.has(id));
    number.textContent = plural(found.total, "run");
    replace(errors);
    showSeries(rows);
    replace(list, rows.length ? runTable(rows) : state.text || state.status || state.convention
      ? empty("No matching runs", "Change the filters to see other runs.", button("Clear filters", () => { location.href = "/runs"; }))
      : empty("No runs yet", "Compare two data sets to create a run.", el("a", { class: "button", href: "/batch" }, "Start a batch")));
    replace(pages, found.total > STEP && [
      button("Newer", () => go(offset - STEP), { disabled: offset === 0 }),
      el("span", { class: "quiet" }, `${whole(offset + 1)} to ${whole(Math.min(offset + STEP, found.total))} of ${whole(found.total)}`),
      button("Older", () => go(offset + STEP), { disabled: offset + STEP >= found.total })]);
  } catch (error) {
    replace(errors, problem(error));
  }
}

function go(offset) {
  state.offset = Math.max(0, offset) || "";
  remember(state, { push: true });
  draw();
}

function runTable(rows) {
  const metric = (name) => ({ numeric: true, cell: (run) => [rate(run.metrics && run.metrics[name]), run.vacuous.includes(name) && [" ", el("span", { class: "tile-note" }, "vacuous")]] });
  const table = sortableTable({
    caption: "Runs, newest first", step: STEP,
    columns: [
      { name: "run", label: "Run", cell: (run) => [run.valid_id ? el("a", { class: "run-name", href: `/runs/${run.id}`, title: run.inputs.join(" · ") || null }, shown(runName(run))) : el("span", { class: "run-name", title: "Rename the directory to open this run." }, shown(run.id)), el("span", { class: "run-id" }, shown(run.id)), run.rescored_from && el("span", { class: "run-id" }, `rescored from ${run.rescored_from}`), run.tags.map((tag) => el("span", { class: "tag" }, shown(tag)))] },
      { name: "when", label: "Started", cell: (run) => moment(run.started_at) },
      { name: "status", label: "Status", cell: (run) => el("span", { class: `status status-${run.status}`, title: run.problem || null }, run.status, !run.saved && " · temporary") },
      { name: "convention", label: "Convention", cell: (run) => run.convention.replaceAll("_", " ") },
      { name: "cases", label: "Cases", numeric: true, cell: (run) => (run.cases === null ? "–" : whole(run.cases)) },
      { name: "score", label: "Mean score", ...metric("mean_score") },
      { name: "macro", label: "Macro F1 by attribute", ...metric("macro_f1_by_attribute") },
      { name: "micro", label: "Micro F1", ...metric("micro_f1") },
      { name: "gauge", label: "", css: "bar-cell", cell: (run) => gauge(run.vacuous.includes("mean_score") ? null : (run.metrics && run.metrics.mean_score) ?? null, null) },
      { name: "pick", label: "Compare", cell: (run) => run.status === "complete" && run.valid_id && el("input", { type: "checkbox", "aria-label": `Select ${runName(run)}`, checked: selected.includes(run.id), on: { change: (event) => selectRun(run.id, event.target.checked) } }) },
      { name: "remove", label: "", cell: (run) => run.valid_id && (page.write || !run.saved) && button("Delete", () => remove(run), { "aria-label": `Delete ${runName(run)}` }) },
    ],
  });
  table.show(rows);
  return table.node;
}

function selectRun(id, checked) {
  const index = selected.indexOf(id);
  if (checked && index < 0) selected.push(id);
  if (!checked && index >= 0) selected.splice(index, 1);
  compare.disabled = selected.length !== 2;
  rank.disabled = selected.length < 2;
  draw();
}

// The run disappears from the list immediately; its files are deleted when undo is no longer possible.
function remove(run) {
  hidden.add(run.id);
  draw();
  toast(`${runName(run)} deleted.`, {
    undo: () => { hidden.delete(run.id); draw(); },
    then: async () => {
      try {
        await request(`/api/runs/${run.id}`, { method: "DELETE" });
      } catch (error) {
        hidden.delete(run.id);
        replace(errors, problem(error));
      }
      draw();
      drawTrend();
    },
  });
}

async function drawTrend() {
  const metric = state.metric || "mean_score";
  try {
    const found = await requestTrend(`/api/trend${query({ metric, run: state.series })}`);
    replace(chart, trendChart(found, metricName(metric)));
  } catch (error) {
    replace(chart, problem(error));
  }
}

const changed = debounce(200, () => { remember(state); draw(); });
const set = (name) => (value) => { state[name] = value; state.offset = ""; changed(); };
const statusBox = select("Status", [["", "any"], ...["complete", "running", "interrupted", "failed", "corrupt"].map((word) => [word, word])], set("status"));
const conventionBox = select("Convention", [["", "any"], ...page.conventions.map((word) => [word, word.replaceAll("_", " ")])], set("convention"));
const metricBox = search("Metric", "mean_score, rqs, attributes.total.f1 …", debounce(300, (value) => { state.metric = value; remember({ metric: value }); drawTrend(); }), { id: "trend-metric", value: state.metric, list: "metric-names" });
const metricNames = el("datalist", { id: "metric-names" }, [...METRICS.map(([name]) => name), "rqs", "completeness", "hallucination", "accuracy", "micro.precision", "micro.recall"].map((name) => el("option", { value: name })));
const seriesBox = el("div");

// The trend follows the newest run, or any run that is chosen.
function showSeries(rows) {
  const complete = rows.filter((run) => run.status === "complete" && run.valid_id);
  const options = [["", "newest run"], ...complete.map((run) => [run.id, runName(run)])];
  if (state.series && !complete.some(({ id }) => id === state.series)) options.push([state.series, state.series]);
  const box = select("Comparable with", options, (value) => { state.series = value; remember({ series: value }); drawTrend(); });
  box.querySelector("select").value = state.series;
  box.querySelector("select").id = "trend-series";
  replace(seriesBox, box);
}

statusBox.querySelector("select").value = state.status;
conventionBox.querySelector("select").value = state.convention;
window.addEventListener("popstate", () => { Object.assign(state, address(["text", "status", "convention", "metric", "series", "offset"])); draw(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); document.getElementById("run-filter").focus(); }
});
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "All runs of this workspace, newest first. Select two runs to compare them, or several to rank them."),
  errors,
  el("div", { class: "controls" }, search("Search", "title, id, input or tag", set("text"), { id: "run-filter", value: state.text }), statusBox, conventionBox, compare, rank, number),
  list, pages,
  section("trend", "Trend", "A metric over the runs with the same ground truth, rules and convention as one run.", el("div", { class: "controls" }, metricBox, seriesBox, metricNames), chart));
draw();
drawTrend();
