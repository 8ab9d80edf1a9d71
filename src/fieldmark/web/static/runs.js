// The page of all runs: search, groups, trends, comparison, names, archive and deletion.

import { lastRequest, request } from "./api.js";
import { query } from "./case_links.js";
import { ask, menu } from "./dialogs.js";
import { button, choice, data, el, pager, replace, search, section, select, setOptions } from "./dom.js";
import { metricText, nameText, plural, verdictChip } from "./labels.js";
import { address, debounce, empty, focusOnSlash, metricName, METRICS, problem, remember, runName, toast } from "./page.js";
import { tableNode } from "./table.js";
import { trendChart } from "./trend.js";
import { shown } from "./values.js";

const page = data("page");
const STEP = 50, MAX_COMPARED = 10;
const STATE = ["text", "status", "verdict", "convention", "group", "archived", "figures", "metric", "series", "offset"];
const FILTERS = ["text", "status", "verdict", "convention", "group", "archived"];
const SCORES = ["mean_score", "macro_f1_by_attribute", "micro_f1"];
const QUALITY = ["rqs", "completeness", "hallucination", "accuracy", "safety"];
const state = address(STATE);
const list = el("div"), pages = el("div", { class: "pages" }), errors = el("div"), chart = el("div"), groupTable = el("div");
const number = el("span", { class: "quiet", role: "status" });
const requestRuns = lastRequest(), requestTrend = lastRequest();
const selected = [];
let groups = [];
const groupBox = select("Group", [], (value) => showGroup(value), { id: "run-group" });
const compare = button("Compare selected runs", () => { location.href = `/diff?${new URLSearchParams([["a", selected[0]], ...selected.slice(1).map((run) => ["b", run]), ...(selected.length === 2 ? [["order", "time"]] : [])])}`; }, { id: "compare", disabled: true });
const rank = button("Rank selected runs", () => { location.href = `/rank?${new URLSearchParams(selected.map((run) => ["run", run]))}`; }, { id: "rank", disabled: true });

async function draw() {
  const offset = Number(state.offset) || 0;
  try {
    const found = await requestRuns(`/api/runs${query({ ...Object.fromEntries(FILTERS.map((name) => [name, state[name]])), offset, limit: STEP })}`);
    ({ groups } = found);
    number.textContent = plural(found.total, "run");
    replace(errors);
    drawGroups();
    replace(list, found.runs.length ? runTable(found.runs) : FILTERS.some((name) => state[name])
      ? empty("No matching runs", "Change the filters to see other runs.", button("Clear filters", () => { location.href = "/runs"; }))
      : empty("No runs yet", "Compare two data sets to create a run.", el("a", { class: "button", href: "/batch" }, "Start a batch")));
    replace(pages, pager({ offset, step: STEP, total: found.total, go, labels: ["Newer", "Older"] }));
  } catch (error) {
    replace(errors, problem(error));
  }
}

function go(offset) {
  state.offset = Math.max(0, offset) || "";
  remember(state, { push: true });
  draw();
}

function metricColumn(name) {
  const valueOf = (run) => run.metrics?.[name] ?? null;
  // The mean score of a run with RQS as its main metric is the mean RQS of its cases.
  const metricOf = ({ convention }) => (name === "mean_score" && convention === "four_phase" ? "rqs" : name);
  return { key: name, title: name === "macro_f1_by_attribute" ? "Macro F1" : metricName(name), hint: metricName(name), format: "number", cell: (run) => [metricText(metricOf(run), valueOf(run)), valueOf(run) !== null && run.vacuous.includes(name) && [" ", el("span", { class: "tile-note", title: "There was nothing to compute it from." }, "vacuous")]] };
}

function runTable(rows) {
  const figures = state.figures === "quality" ? QUALITY : [...SCORES, ...(rows.some((run) => (run.metrics?.rqs ?? null) !== null) ? ["rqs"] : [])];
  const table = tableNode({
    caption: "Runs, newest first", step: STEP, isSorted: false, rows,
    columns: [
      { key: "title", title: "Run", cell: runCell },
      ...figures.map(metricColumn),
      { key: "cases", title: "Cases", format: "count" },
      { key: "verdict", title: "Gates", cell: verdictCell },
      { key: "status", title: "Status", cell: (run) => el("span", { class: `status status-${run.status}`, title: run.problem || null }, run.status, !run.saved && " · temporary") },
      { key: "convention", title: "Convention" },
      { key: "started_at", title: "Started", format: "time", css: "when" },
    ],
  });
  table.classList.add("runs");
  const unjudged = figures.includes("rqs") && rows.some((run) => run.metrics && (run.metrics.rqs ?? null) === null);
  return el("div", null, table, unjudged && el("p", { class: "quiet last-rows" }, "RQS is listed for runs with a safety judge, and for runs whose convention has RQS as its main metric. The page of any other run shows it with a safety of 1."));
}

// The checkbox and the menu are beside the name, so that they are in view at any width.
// The result of the gates, and how many cases failed: without them, metrics are of the others only.
function verdictCell({ verdict, errors: failed, cases }) {
  const isResult = ["pass", "fail"].includes(verdict);
  const word = isResult ? verdictChip(verdict) : verdict !== "error" && el("span", { class: "zero" }, verdict ? "none" : "–");
  return [word, word && failed > 0 && " ", failed > 0 ? el("span", { class: "bad" }, `${failed} of ${plural(cases, "case")} with errors`) : verdict === "error" && el("span", { class: "bad" }, "errors")];
}

function runCell(run) {
  const title = runName(run), inputs = run.inputs.join(" · ");
  return el("div", { class: "run-cell" },
    run.status === "complete" && run.valid_id ? el("input", { type: "checkbox", "aria-label": `Select ${title}`, checked: selected.includes(run.id), on: { change: (event) => selectRun(run.id, event.target.checked) } }) : el("span"),
    el("div", { class: "run-facts" },
      run.valid_id ? el("a", { class: "run-name", href: `/runs/${run.id}`, title: inputs || null }, nameText(title)) : el("span", { class: "run-name", title: "Rename the directory to open this run." }, nameText(run.id)),
      title !== run.id && el("span", { class: "run-id", title: run.id }, shown(run.id)),
      run.rescored_from && el("span", { class: "run-id", title: run.rescored_from }, `rescored from ${run.rescored_from}`),
      run.tags.map((tag) => el("span", { class: "tag" }, shown(tag))),
      run.note && el("span", { class: "run-note quiet", title: run.note }, shown(run.note))),
    run.valid_id && runMenu(run));
}

function runMenu(run) {
  const writable = page.write || !run.saved;
  const trend = run.status === "complete" && el("a", { class: "button", href: `/runs${query({ group: run.group })}#trend` }, "Trend");
  if (!writable && !trend) return null;
  return menu("⋯", [
    trend,
    writable && run.status !== "corrupt" && button(run.archived ? "Restore" : "Archive", () => archive(run)),
    writable && button("Delete…", () => remove(run), { class: "danger" }),
  ], { "aria-label": `Actions for ${runName(run)}` });
}

function selectRun(id, checked) {
  const index = selected.indexOf(id);
  if (checked && index < 0) selected.push(id);
  if (!checked && index >= 0) selected.splice(index, 1);
  compare.disabled = selected.length < 2 || selected.length > MAX_COMPARED;
  compare.title = selected.length > MAX_COMPARED ? `At most ${MAX_COMPARED} runs can be compared.` : "";
  rank.disabled = selected.length < 2;
}

// A notice is shown after the server has done it, never before.
async function attempt(work, notice, options) {
  try {
    await work();
    if (notice) toast(notice, options);
  } catch (error) {
    replace(errors, problem(error));
    return;
  }
  await draw();
  drawTrend();
}

async function remove(run) {
  if (!await ask("Delete this run?", `“${runName(run)}” and all its results will be deleted from disk. This cannot be undone.`, "Delete run")) return;
  selectRun(run.id, false);
  await attempt(() => request(`/api/runs/${run.id}`, { method: "DELETE" }), `${runName(run)} deleted.`);
}

function archive(run) {
  const set = (archived) => request(`/api/runs/${run.id}/notes`, { method: "PUT", body: { archived } });
  attempt(() => set(!run.archived), run.archived ? `${runName(run)} restored.` : `${runName(run)} archived.`, { undo: () => attempt(() => set(run.archived), "") });
}

function groupName({ truth, eval: evaluation, convention, rules }) {
  const file = truth.split(/[\\/]/).findLast(Boolean) || truth;
  return `${evaluation || file || "unnamed data"} · ${convention} · rules ${rules}`;
}

// Runs with the same ground truth, rules and convention are a group, whose trend means something.
function drawGroups() {
  const unlisted = state.group && !groups.some(({ id }) => id === state.group) ? [[state.group, state.group]] : [];
  setOptions(groupBox, [["", "all groups"], ...groups.map((group) => [group.id, `${groupName(group)} (${plural(group.runs, "run")})`]), ...unlisted], state.group);
  const table = tableNode({
    caption: "Groups of comparable runs, newest first", step: 10, isSorted: false, empty: "No groups.", rows: groups,
    columns: [
      { key: "id", title: "Group", cell: (group) => button(groupName(group), () => showGroup(group.id), { class: "as-link", "aria-pressed": String(group.id === shownGroup()?.id), title: group.truth || null }) },
      { key: "runs", title: "Runs", format: "count" },
      { key: "newest", title: "Newest", cell: (group) => el("a", { href: `/runs/${group.newest}`, title: group.newest }, nameText(group.newest_title)) },
    ],
  });
  replace(groupTable, groups.length > 1 && table);
}

function shownGroup() {
  return state.series ? null : groups.find(({ id }) => id === state.group) || groups.find(({ runs }) => runs > 1) || groups[0];
}

function showGroup(id) {
  Object.assign(state, { group: id, series: "", offset: "" });
  remember(state, { push: true });
  draw().then(drawTrend);
}

async function drawTrend() {
  const metric = state.metric || "mean_score";
  const group = shownGroup();
  try {
    const found = await requestTrend(`/api/trend${query({ metric, run: state.series || group?.newest })}`);
    replace(chart, el("p", { class: "quiet", id: "trend-of" }, state.series ? ["Runs comparable with ", shown(state.series), ". ", button("Show a group", () => showGroup(""), { class: "as-link" })] : group && shown(groupName(group))), trendChart(found, metricName(metric), { own: state.series }));
  } catch (error) {
    replace(chart, problem(error));
  }
}

const changed = debounce(200, () => { remember(state); draw(); });
const set = (name) => (value) => { state[name] = value; state.offset = ""; changed(); };
function filterBox(label, name, options) {
  return select(label, options, set(name), { id: `run-${name}`, value: state[name] });
}
const statusBox = filterBox("Status", "status", [["", "any"], ...["complete", "running", "interrupted", "failed", "corrupt"].map((word) => [word, word])]);
const verdictBox = filterBox("Gates", "verdict", [["", "any"], ["pass", "pass"], ["fail", "fail"], ["error", "errors"], ["none", "none"]]);
const conventionBox = filterBox("Convention", "convention", [["", "any"], ...page.conventions.map((word) => [word, word])]);
const archiveBox = filterBox("Runs", "archived", [["", "current"], ["true", "archived"]]);
const figureBox = el("div", { class: "control" }, el("span", null, "Metrics"), choice("Metrics", [["scores", "Scores"], ["quality", "Quality"]], state.figures || "scores", (value) => { state.figures = value === "scores" ? "" : value; remember(state); draw(); }));
const metricBox = search("Metric", "mean_score", debounce(300, (value) => { state.metric = value; remember({ metric: value }); drawTrend(); }), { id: "trend-metric", value: state.metric, list: "metric-names", title: "A metric of a run, such as rqs or attributes.total.f1" });
const metricNames = el("datalist", { id: "metric-names" }, [...METRICS.map(([name]) => name), "micro.precision", "micro.recall", "cases.perfect", "cases.errors"].map((name) => el("option", { value: name })));

window.addEventListener("popstate", () => { Object.assign(state, address(STATE)); draw().then(drawTrend); });
focusOnSlash("run-filter");
replace(document.getElementById("app"),
  el("p", { class: "lead" }, `All runs of this workspace, newest first. Select up to ${MAX_COMPARED} runs to compare them, or more to rank them.`),
  errors,
  el("div", { class: "controls" }, search("Search", "name, id, input, tag or note", set("text"), { id: "run-filter", value: state.text }), groupBox, verdictBox, statusBox, conventionBox, archiveBox, figureBox, compare, rank, number),
  list, pages,
  section("trend", "Trend", "A metric over the runs of a group, which have the same ground truth, rules and convention.", el("div", { class: "controls" }, metricBox, metricNames), chart, groupTable));
const { deleted } = address(["deleted"]);
if (deleted) {
  remember({ deleted: "" });
  toast(`${deleted} deleted.`);
}
draw().then(drawTrend);
