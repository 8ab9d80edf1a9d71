// The page that ranks several runs.

import { analyze } from "./analysis.js";
import { request } from "./api.js";
import { button, el, replace, section, select } from "./dom.js";
import { moment, plural } from "./labels.js";
import { leaderboardHead, leaderboardParts } from "./leaderboard.js";
import { empty, metricName, problem, runName } from "./page.js";

const CHOICES = ["mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1", "completeness", "hallucination", "accuracy", "rqs", "predicted_mean_score"];
const MAX_RUNS = 50, MAX_COMPARED = 10;
const given = new URLSearchParams(location.search);
const chosen = new Set(given.getAll("run"));
const options = { metric: given.get("metric") || "", force: given.get("force") || "", rescore: given.get("rescore") || "" };
const output = el("div"), errors = el("div"), picks = el("div");
let last = 0;

function address() {
  const found = new URLSearchParams([...chosen].map((run) => ["run", run]));
  for (const [name, value] of Object.entries(options)) if (value) found.set(name, value);
  return found.toString();
}

async function draw() {
  const own = last += 1;
  const text = address();
  history.replaceState(null, "", text ? `/rank?${text}` : "/rank");
  if (chosen.size < 2) return replace(output, empty("Select at least two runs", "Runs are ranked over the cases that all of them have."));
  const box = el("div");
  replace(output, box);
  try {
    const board = await analyze({ kind: "rank", runs: [...chosen], force: Boolean(options.force), rescore: Boolean(options.rescore), ...(options.metric && { metric: options.metric }) }, box, "Ranking…");
    if (own === last && !board) replace(output, empty("Ranking cancelled", "Nothing was computed.", button("Rank again", draw)));
    else if (own === last) replace(output, el("div", { class: "board-head" }, leaderboardHead(board)), sideBySideLink(board), leaderboardParts(board, (run) => `/runs/${run.id}`, (attribute) => sideBySideAddress(board, { attribute })).map(({ id, title, lead, node }) => section(id, title, lead, node)));
  } catch (error) {
    if (own === last) replace(output, problem(error), error.status === 422 && el("p", { class: "bar-actions" },
      button("Rank the shared cases anyway", () => retry("force"), { id: "force" }),
      button("Apply the convention of the first run to all", () => retry("rescore"), { id: "rescore" })));
  }
  return null;
}

// The best runs side by side, by attribute and case.
function sideBySideAddress({ runs }, filters = {}) {
  const [first, ...rest] = runs.slice(0, MAX_COMPARED).map(({ id }) => id);
  const found = new URLSearchParams([["a", first], ...rest.map((id) => ["b", id]), ...Object.entries(filters)]);
  return `/diff?${found}${filters.attribute ? "#changed" : ""}`;
}

function sideBySideLink(board) {
  const text = board.runs.length > MAX_COMPARED ? `The ${MAX_COMPARED} best runs side by side` : "Runs side by side, by attribute and case";
  return el("p", null, el("a", { href: sideBySideAddress(board), id: "side-by-side" }, text));
}

function retry(name) {
  options[name] = "true";
  draw();
}

function choose(run, checked) {
  chosen[checked ? "add" : "delete"](run);
  Object.assign(options, { force: "", rescore: "" });
  draw();
}

function picker(runs) {
  const listed = [...runs, ...[...chosen].filter((id) => !runs.some((run) => run.id === id)).map((id) => ({ id, inputs: [], note: "", started_at: "" }))];
  return el("details", { class: "panel board-picker", open: chosen.size < 2 }, el("summary", null, `Runs (${plural(listed.length, "complete run")})`),
    el("ul", { class: "board-choices" }, listed.map((run) => el("li", null, el("label", null,
      el("input", { type: "checkbox", value: run.id, checked: chosen.has(run.id), on: { change: (event) => choose(run.id, event.target.checked) } }),
      " ", el("bdi", null, runName(run)), " ", el("span", { class: "quiet" }, run.started_at && moment(run.started_at)))))));
}

const metricBox = select("Metric", [["", "primary metric"], ...CHOICES.map((name) => [name, metricName(name).replaceAll("_", " ")])], (value) => { options.metric = value; draw(); }, { id: "metric", value: CHOICES.includes(options.metric) ? options.metric : "" });
replace(document.getElementById("app"), errors, picks, el("div", { class: "controls" }, metricBox), output);
try {
  const { runs } = await request(`/api/runs?status=complete&limit=${MAX_RUNS * 10}`);
  replace(picks, picker(runs.filter((run) => run.valid_id)));
} catch (error) {
  replace(errors, problem(error));
}
draw();
