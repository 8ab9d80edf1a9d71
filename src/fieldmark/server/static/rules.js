// How fields are compared and counted: the table of strategies, thresholds, weights and gates.

import { ask } from "./api.js";
import * as drafts from "./draft.js";
import { importDialog, inferDialog } from "./rules_dialogs.js";
import { button, data, el, labelled, plural, replace, search, section, select, whole } from "./report.js";
import { address, download, empty, later, problem, remember, toast } from "./shell.js";

const page = data("page");
let workspace = page.strategies;
let draft = drafts.load(workspace);
let filter = address(["filter"]).filter;

const table = el("div", { class: "strategy-table" });
const chips = el("div", { class: "count-chips", "aria-label": "Fields by strategy" });
const problems = el("div", { id: "problems" });
const status = el("span", { role: "status", class: "quiet" });
const scoring = el("div"), gates = el("div");
const save = button("Save to the workspace", saveDraft, { class: "primary", id: "save" });

function change(act, said = "") {
  const before = structuredClone(draft);
  act();
  changed();
  if (said) toast(said, { undo: () => { draft = before; changed(); drawAll(); } });
}

function changed() {
  drafts.keep(draft);
  drawChips();
  check();
}

const check = later(250, async () => {
  const own = localProblems();
  if (own.length) return tell(own);
  try {
    await ask("/api/strategies/check", { method: "POST", body: { ...drafts.requestOf(draft), gates: drafts.gatesOf(draft) } });
    tell([]);
  } catch (error) {
    tell(error.problems.length ? error.problems : [{ message: error.message }]);
  }
  return null;
});

function localProblems() {
  const found = [], seen = new Set();
  for (const { path } of draft.rows) {
    if (!path) found.push({ message: "A row has no field." });
    else if (seen.has(path)) found.push({ message: `${path} is there twice.` });
    seen.add(path);
  }
  const share = (word, value) => { if (!(value >= 0 && value <= 1)) found.push({ message: `${word} must lie between 0 and 1.` }); };
  for (const [name, value] of Object.entries(draft.thresholds)) share(`The ${name} threshold`, value);
  for (const row of draft.rows) if (row.threshold !== undefined) share(`The threshold of ${row.path}`, row.threshold);
  for (const [name, value] of Object.entries(draft.weights)) if (!(value >= 0 && Number.isFinite(value))) found.push({ message: `The weight of ${name} must be a number of at least 0.` });
  for (const { name, limit } of draft.gates) if (!name || !Number.isFinite(limit)) found.push({ message: "A gate needs a figure and a limit." });
  return found;
}

function tell(found) {
  replace(problems, found.length ? problem({ problems: found }) : null);
  save.disabled = !workspace.writable || found.length > 0;
  status.textContent = found.length ? plural(found.length, "problem") : drafts.isChanged() ? "Changed in this browser, and used by Evaluate and Batch." : "As saved in the workspace.";
}

async function saveDraft() {
  try {
    workspace = await ask("/api/strategies", { method: "PUT", body: { ...drafts.requestOf(draft), rules: drafts.rulesOf(draft) ?? {}, gates: drafts.gatesOf(draft), revision: draft.revision } });
    draft = { ...draft, ...pick(drafts.fromWorkspace(workspace), ["rows", "revision"]) };
    drafts.discard();
    toast("Saved to strategies.json.");
    drawAll();
  } catch (error) {
    replace(problems, problem(error));
  }
}

function pick(from, names) {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

function reset() {
  const before = structuredClone(draft);
  drafts.discard();
  draft = drafts.fromWorkspace(workspace);
  drawAll();
  toast("Back to what the workspace holds.", { undo: () => { draft = before; drafts.keep(draft); drawAll(); } });
}

// --- the table ---

function drawChips() {
  const found = drafts.counts(draft);
  replace(chips, found.length ? found.map(([word, number]) => el("span", { class: "tag", "data-strategy": word }, `${word} ${whole(number)}`)) : el("span", { class: "quiet" }, "No strategies yet."));
}

function drawTable() {
  const wanted = filter.trim().toLowerCase();
  const rows = draft.rows.map((row, place) => [row, place]).filter(([row]) => String(row.path).toLowerCase().includes(wanted));
  if (!draft.rows.length) return replace(table, empty("No field has a strategy of its own", "Fields without one are compared as the convention says: under four phase by what their value looks like.",
    button("Add a field", addRow), button("Import …", openImport), button("Propose from data …", openInfer)));
  return replace(table, el("div", { class: "table-scroll" }, el("table", null,
    el("caption", { class: "spoken" }, "Field strategies"),
    el("thead", null, el("tr", null, ["Field", "Strategy", "Threshold", "Weight", "More", ""].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, rows.map(([row, place]) => rowNode(row, place)), !rows.length && el("tr", null, el("td", { colspan: 6, class: "quiet" }, "No field matches."))))));
}

function rowNode(row, place) {
  const strategy = el("select", { "aria-label": `Strategy of ${row.path || "the new field"}`, on: { change: (event) => change(() => { setStrategy(row, event.target.value); drawTable(); }) } },
    el("optgroup", { label: "Strategies" }, drafts.WORDS.map((word) => el("option", { value: word }, word))),
    el("optgroup", { label: "Match types" }, page.comparators.map((name) => el("option", { value: name }, name))));
  strategy.value = row.match || "";
  const hasThreshold = /^(fuzzy|semantic|auto|iou|distance)$/i.test(row.match || "");
  const usual = drafts.THRESHOLDS[String(row.match).toLowerCase()] === undefined ? "" : draft.thresholds[String(row.match).toLowerCase()];
  return el("tr", null,
    el("td", null, el("input", { type: "text", value: row.path, "aria-label": "Field", placeholder: "vendor.name", spellcheck: "false", on: { change: (event) => change(() => { row.path = event.target.value.trim(); }) } })),
    el("td", null, strategy),
    el("td", { class: "narrow" }, hasThreshold ? numberInput(`Threshold of ${row.path}`, row.threshold, { min: 0, max: 1, step: 0.01, placeholder: usual }, (value) => change(() => setOption(row, "threshold", value))) : null),
    el("td", { class: "narrow" }, numberInput(`Weight of ${row.path}`, row.weight, { min: 0, step: 0.5, placeholder: 1 }, (value) => change(() => setOption(row, "weight", value)))),
    el("td", { class: "quiet" }, more(row)),
    el("td", null, button("Remove", () => change(() => { draft.rows.splice(place, 1); drawTable(); }, `${row.path || "The row"} removed.`), { "aria-label": `Remove ${row.path || "this row"}` })));
}

function more(row) {
  const { path, match, threshold, weight, ...rest } = row;
  return Object.entries(rest).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
}

function setStrategy(row, word) {
  row.match = word;
  for (const name of Object.keys(row)) if (!["path", "match", "weight", "required"].includes(name)) delete row[name];
}

function setOption(row, name, value) {
  if (value === null) delete row[name];
  else row[name] = value;
}

function numberInput(label, value, props, set) {
  return el("input", { type: "number", "aria-label": label, value: value ?? "", ...props, on: { change: (event) => {
    const fresh = event.target.value === "" ? null : Number(event.target.value);
    event.target.setAttribute("aria-invalid", String(!event.target.validity.valid && event.target.validity.badInput || (fresh !== null && ((props.min !== undefined && fresh < props.min) || (props.max !== undefined && fresh > props.max)))));
    set(fresh);
  } } });
}

function addRow() {
  change(() => draft.rows.unshift({ path: "", match: "EXACT" }));
  filter = "";
  drawTable();
  table.querySelector("tbody input").focus();
}

// --- import, export, proposals ---

function openImport() {
  importDialog((found) => change(() => take(found), `${plural(found.rows.length, "field")} imported.`));
}

function openInfer() {
  inferDialog((found) => change(() => take(found), `${plural(found.rows.length, "rule")} proposed.`));
}

function take({ rows, rules }) {
  const fresh = new Map(rows.map((row) => [row.path, row]));
  draft.rows = [...draft.rows.filter((row) => !fresh.has(row.path)), ...rows];
  const rest = drafts.restOf(rules);
  draft.rest = { ...draft.rest, ...rest };
  drawTable();
}

async function exportAs(form) {
  try {
    const found = await ask(`/api/strategies/export?form=${form}`, { method: "POST", body: { value: drafts.rulesOf(draft) ?? {} } });
    download(form === "rules" ? "rules.json" : "strategies.json", `${JSON.stringify(found, null, 2)}\n`);
  } catch (error) {
    replace(problems, problem(error));
  }
}

// --- scoring ---

function drawScoring() {
  const convention = select("Convention", page.conventions.map((name) => [name, name.replaceAll("_", " ")]), (value) => change(() => { draft.convention = value; }));
  convention.querySelector("select").value = draft.convention;
  const form = select("RQS form", [["subtract", "subtract hallucination"], ["complement", "add what is not invented"]], (value) => change(() => { draft.form = value; }));
  form.querySelector("select").value = draft.form;
  const sum = Object.values(draft.weights).reduce((all, each) => all + (Number(each) || 0), 0);
  const share = { min: 0, max: 1, step: 0.01 };
  replace(scoring,
    el("div", { class: "panel" }, el("div", { class: "form-grid" }, convention, form,
      labelled("Fuzzy threshold", numberInput("Fuzzy threshold", draft.thresholds.fuzzy, share, (value) => change(() => { draft.thresholds.fuzzy = value ?? drafts.THRESHOLDS.fuzzy; drawTable(); }))),
      labelled("Semantic threshold", numberInput("Semantic threshold", draft.thresholds.semantic, share, (value) => change(() => { draft.thresholds.semantic = value ?? drafts.THRESHOLDS.semantic; drawTable(); })))),
    el("h3", null, "Weights of the response quality score"),
    el("div", { class: "form-grid" }, Object.keys(drafts.WEIGHTS).map((name) =>
      labelled(name[0].toUpperCase() + name.slice(1), numberInput(`Weight of ${name}`, draft.weights[name], { min: 0, step: 0.05 }, (value) => change(() => { draft.weights[name] = value ?? 0; drawScoring(); }))))),
    el("p", { class: "form-note" }, `The weights add up to ${sum.toFixed(2)}; the most that RQS can reach is ${most().toFixed(2)}. Meaning is judged by ${workspace.provider}.`)));
}

function most() {
  const { accuracy, completeness, safety, hallucination } = draft.weights;
  return Math.min(1, Math.max(0, accuracy + completeness + safety + (draft.form === "complement" ? hallucination : 0)));
}

function drawGates() {
  replace(gates, draft.gates.length > 0 && el("div", { class: "table-scroll strategy-table" }, el("table", null,
    el("caption", { class: "spoken" }, "Gates"),
    el("thead", null, el("tr", null, ["Figure", "Must be", "Limit", ""].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, draft.gates.map((gate, place) => gateNode(gate, place))))),
  button("Add a gate", () => { change(() => draft.gates.push({ name: "rqs", kind: "min", limit: 0.7 })); drawGates(); }, { id: "add-gate" }));
}

function gateNode(gate, place) {
  const kind = el("select", { "aria-label": "Least or most", on: { change: (event) => change(() => { gate.kind = event.target.value; }) } },
    el("option", { value: "min" }, "at least"), el("option", { value: "max" }, "at most"));
  kind.value = gate.kind;
  return el("tr", null,
    el("td", null, el("input", { type: "text", value: gate.name, list: "figures", "aria-label": "Figure", on: { change: (event) => change(() => { gate.name = event.target.value.trim(); }) } })),
    el("td", null, kind),
    el("td", { class: "narrow" }, numberInput("Limit", gate.limit, { step: 0.01 }, (value) => change(() => { gate.limit = value ?? NaN; }))),
    el("td", null, button("Remove", () => { change(() => { draft.gates.splice(place, 1); drawGates(); }, "The gate is removed."); }, { "aria-label": `Remove the gate on ${gate.name}` })));
}

function drawAll() {
  drawTable();
  drawChips();
  drawScoring();
  drawGates();
  check();
}

const figures = ["rqs", "completeness", "hallucination", "accuracy", "safety", "micro_f1", "macro_f1_by_attribute", "macro_f1_by_case", "mean_score"];
const filterBox = search("Filter", "part of a field", (value) => { filter = value; remember({ filter: value }); drawTable(); }, { id: "rule-filter", value: filter });
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "How each field is compared, and what the results are worth. Evaluate and Batch use what is here."),
  el("datalist", { id: "figures" }, figures.map((name) => el("option", { value: name }))),
  problems,
  section("strategies", "Strategies", null,
    el("div", { class: "controls" }, filterBox, button("Add a field", addRow, { id: "add-row" }), button("Import …", openImport, { id: "import" }), button("Propose from data …", openInfer, { id: "infer" }),
      button("Export flat", () => exportAs("flat"), { id: "export-flat" }), button("Export nested", () => exportAs("nested"), { id: "export-nested" }), button("Export rules", () => exportAs("rules"), { id: "export-rules" })),
    chips, table),
  section("scoring", "Scoring", "Thresholds between 0 and 1; weights of at least 0.", scoring),
  section("gates", "Gates", "What a batch must reach to pass.", gates),
  el("div", { class: "save-bar" }, save, button("Reset", reset, { id: "reset" }), !workspace.writable && el("span", { class: "quiet" }, "Read-only: start the server with --write to save."), status));
drawAll();
