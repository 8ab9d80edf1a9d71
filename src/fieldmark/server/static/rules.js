// The rules page: strategies, thresholds, weights and gates.

import { request } from "./api.js";
import * as drafts from "./rules_draft.js";
import { importDialog, inferDialog } from "./rules_dialogs.js";
import { button, data, el, labelled, plural, replace, search, section, select, whole } from "./report.js";
import { address, debounce, download, empty, problem, remember, toast } from "./page.js";

const page = data("page");
let workspace = page.strategies;
let draft = drafts.load(workspace);
let filter = address(["filter"]).filter;

const table = el("div", { class: "strategy-table" });
const chips = el("div", { class: "count-chips", "aria-label": "Fields by strategy" });
const problems = el("div", { id: "problems" });
const status = el("span", { role: "status", class: "quiet" });
const scoring = el("div"), gates = el("div");
const save = button("Save to workspace", saveDraft, { class: "primary", id: "save" });

function change(action, notice = "") {
  const before = structuredClone(draft);
  action();
  changed();
  if (notice) toast(notice, { undo: () => { draft = before; changed(); drawAll(); } });
}

function changed() {
  drafts.save(draft);
  drawChips();
  check();
}

const check = debounce(250, async () => {
  const own = localProblems();
  if (own.length) return showProblems(own);
  try {
    await request("/api/strategies/check", { method: "POST", body: drafts.fileOf(draft) });
    showProblems([]);
  } catch (error) {
    showProblems(error.problems.length ? error.problems : [{ message: error.message }]);
  }
  return null;
});

function localProblems() {
  const found = [], seen = new Set();
  for (const { path } of draft.rows) {
    if (!path) found.push({ message: "Every row must have a field." });
    else if (seen.has(path)) found.push({ message: `Duplicate field ${path}.` });
    seen.add(path);
  }
  const checkThreshold = (label, value) => { if (!(value >= 0 && value <= 1)) found.push({ message: `${label} must be between 0 and 1.` }); };
  for (const [name, value] of Object.entries(draft.thresholds)) checkThreshold(`The ${name} threshold`, value);
  for (const row of draft.rows) if (row.threshold !== undefined) checkThreshold(`The threshold of ${row.path}`, row.threshold);
  for (const [name, value] of Object.entries(draft.weights)) if (!(value >= 0 && Number.isFinite(value))) found.push({ message: `The weight of ${name} must be at least 0.` });
  for (const { name, limit } of draft.gates) if (!name || !Number.isFinite(limit)) found.push({ message: "Every gate must have a metric and a limit." });
  return found;
}

function showProblems(found) {
  replace(problems, found.length ? problem({ problems: found }) : null);
  save.disabled = !workspace.writable || found.length > 0;
  status.textContent = found.length ? plural(found.length, "problem") : drafts.isChanged() ? "Unsaved changes, stored in this browser. Evaluate and Batch use them." : "No unsaved changes.";
}

async function saveDraft() {
  try {
    workspace = await request(`/api/strategies?revision=${encodeURIComponent(draft.revision)}`, { method: "PUT", body: drafts.fileOf(draft) });
    draft = drafts.fromWorkspace(workspace);
    drafts.discard();
    toast("Saved to strategies.json.");
    drawAll();
  } catch (error) {
    replace(problems, problem(error));
  }
}

function reset() {
  const before = structuredClone(draft);
  drafts.discard();
  draft = drafts.fromWorkspace(workspace);
  drawAll();
  toast("Changes discarded.", { undo: () => { draft = before; drafts.save(draft); drawAll(); } });
}

// --- strategies ---

function drawChips() {
  const found = drafts.counts(draft);
  replace(chips, found.map(([word, number]) => el("span", { class: "tag", "data-strategy": word }, `${word} ${whole(number)}`)));
}

function drawTable() {
  const searched = filter.trim().toLowerCase();
  const rows = draft.rows.map((row, index) => [row, index]).filter(([row]) => String(row.path).toLowerCase().includes(searched));
  if (!draft.rows.length) return replace(table, empty("No strategies", "Fields without a strategy are compared with the comparator for other fields.",
    button("Add field", addRow), button("Import…", openImport), button("Propose from data…", openInfer)));
  return replace(table, el("div", { class: "table-scroll" }, el("table", null,
    el("caption", { class: "spoken" }, "Field strategies"),
    el("thead", null, el("tr", null, ["Field", "Strategy", "Threshold", "Weight", "Other settings", ""].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, rows.map(([row, index]) => rowNode(row, index)), !rows.length && el("tr", null, el("td", { colspan: 6, class: "quiet" }, "No matching fields."))))));
}

function rowNode(row, index) {
  const strategy = el("select", { "aria-label": `Strategy of ${row.path || "the new field"}`, on: { change: (event) => change(() => { setStrategy(row, event.target.value); drawTable(); }) } },
    el("optgroup", { label: "Strategies" }, drafts.WORDS.map((word) => el("option", { value: word }, word))),
    el("optgroup", { label: "Comparators" }, page.comparators.map((name) => el("option", { value: name }, name))));
  strategy.value = row.match || "";
  const hasThreshold = /^(fuzzy|semantic|auto|iou|distance)$/i.test(row.match || "");
  const defaultThreshold = draft.thresholds[row.match === "auto" ? "semantic" : String(row.match).toLowerCase()] ?? "";
  return el("tr", null,
    el("td", null, el("input", { type: "text", value: row.path, "aria-label": "Field", placeholder: "vendor.name", spellcheck: "false", on: { change: (event) => change(() => { row.path = event.target.value.trim(); }) } })),
    el("td", null, strategy),
    el("td", { class: "narrow" }, hasThreshold ? numberInput(`Threshold of ${row.path}`, row.threshold, { min: 0, max: 1, step: 0.01, placeholder: defaultThreshold }, (value) => change(() => setOption(row, "threshold", value))) : null),
    el("td", { class: "narrow" }, numberInput(`Weight of ${row.path}`, row.weight, { min: 0, step: 0.5, placeholder: 1 }, (value) => change(() => setOption(row, "weight", value)))),
    el("td", { class: "quiet" }, otherSettings(row)),
    el("td", null, button("Remove", () => change(() => { draft.rows.splice(index, 1); drawTable(); }, `${row.path || "Field"} removed.`), { "aria-label": `Remove ${row.path || "this row"}` })));
}

function otherSettings(row) {
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
    const number = event.target.value === "" ? null : Number(event.target.value);
    event.target.setAttribute("aria-invalid", String(!event.target.validity.valid && event.target.validity.badInput || (number !== null && ((props.min !== undefined && number < props.min) || (props.max !== undefined && number > props.max)))));
    set(number);
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
  importDialog((found) => addRules(found.rules, "imported"));
}

function openInfer() {
  inferDialog((found) => addRules(found.rules, "proposed"));
}

function addRules(rules, verb) {
  change(() => { drafts.merge(draft, rules); drawAll(); }, `${plural((rules.fields || []).length, "rule")} ${verb}.`);
}

async function exportRules() {
  try {
    const { rules } = await request("/api/strategies/check", { method: "POST", body: drafts.fileOf(draft) });
    download("rules.json", `${JSON.stringify(rules, null, 2)}\n`);
  } catch (error) {
    replace(problems, problem(error));
  }
}

// --- scoring ---

function drawScoring() {
  const defaults = draft.rest.defaults || {};
  const others = select("Other fields", [["", "by the convention"], ...drafts.WORDS.map((word) => [word, word]), ...page.comparators.map((name) => [name, name])], (value) => change(() => {
    const { match, ...rest } = draft.rest.defaults || {};
    draft.rest = { ...draft.rest, defaults: { ...(rest.align && { align: rest.align }), ...(value && { match: value }) } };
    if (!Object.keys(draft.rest.defaults).length) delete draft.rest.defaults;
  }));
  others.querySelector("select").value = (typeof defaults.match === "object" ? defaults.match.type : defaults.match) || "";
  const form = select("RQS form", [["subtract", "subtract hallucination"], ["complement", "add 1 − hallucination"]], (value) => change(() => { draft.form = value; }));
  form.querySelector("select").value = draft.form;
  const sum = Object.values(draft.weights).reduce((all, each) => all + (Number(each) || 0), 0);
  const range = { min: 0, max: 1, step: 0.01 };
  replace(scoring,
    el("div", { class: "panel" }, el("div", { class: "form-grid" }, drafts.scoringSelects(draft, () => change(() => {})), others, form,
      labelled("Fuzzy threshold", numberInput("Fuzzy threshold", draft.thresholds.fuzzy, range, (value) => change(() => { draft.thresholds.fuzzy = value ?? drafts.THRESHOLDS.fuzzy; drawTable(); }))),
      labelled("Semantic threshold", numberInput("Semantic threshold", draft.thresholds.semantic, range, (value) => change(() => { draft.thresholds.semantic = value ?? drafts.THRESHOLDS.semantic; drawTable(); })))),
    el("h3", null, "Weights of the response quality score (RQS)"),
    el("div", { class: "form-grid" }, Object.keys(drafts.WEIGHTS).map((name) =>
      labelled(name[0].toUpperCase() + name.slice(1), numberInput(`Weight of ${name}`, draft.weights[name], { min: 0, step: 0.05 }, (value) => change(() => { draft.weights[name] = value ?? 0; drawScoring(); }))))),
    el("p", { class: "form-note" }, `The weights add up to ${sum.toFixed(2)}. The maximum RQS is ${maximumRqs().toFixed(2)}. Provider for semantic comparison: ${workspace.provider}.`),
    el("h3", null, "Safety"),
    labelled("Unsafe words, separated by commas", el("input", {
      type: "text", id: "unsafe-words", value: ((draft.rest.safety || {}).words || []).join(", "),
      on: { change: (event) => change(() => setUnsafeWords(event.target.value)) },
    })),
    el("p", { class: "form-note" }, `Predictions with one of these words are unsafe. Without words, the safety judge of the server is used: ${workspace.safety}.`)));
}

// A prediction with one of the words is unsafe; without words, the safety judge of the server is used.
function setUnsafeWords(text) {
  const words = text.split(",").map((word) => word.trim()).filter(Boolean);
  const { safety: _, ...rest } = draft.rest;
  draft.rest = words.length ? { ...rest, safety: { type: "wordlist", words } } : rest;
}

function maximumRqs() {
  const { accuracy, completeness, safety, hallucination } = draft.weights;
  return Math.min(1, Math.max(0, accuracy + completeness + safety + (draft.form === "complement" ? hallucination : 0)));
}

function drawGates() {
  replace(gates, draft.gates.length > 0 && el("div", { class: "table-scroll strategy-table" }, el("table", null,
    el("caption", { class: "spoken" }, "Gates"),
    el("thead", null, el("tr", null, ["Metric", "Must be", "Limit", ""].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, draft.gates.map((gate, index) => gateNode(gate, index))))),
  button("Add gate", () => { change(() => draft.gates.push({ name: "rqs", kind: "min", limit: 0.7 })); drawGates(); }, { id: "add-gate" }));
}

function gateNode(gate, index) {
  const kind = el("select", { "aria-label": "Minimum or maximum", on: { change: (event) => change(() => { gate.kind = event.target.value; }) } },
    el("option", { value: "min" }, "at least"), el("option", { value: "max" }, "at most"));
  kind.value = gate.kind;
  return el("tr", null,
    el("td", null, el("input", { type: "text", value: gate.name, list: "metrics", "aria-label": "Metric", on: { change: (event) => change(() => { gate.name = event.target.value.trim(); }) } })),
    el("td", null, kind),
    el("td", { class: "narrow" }, numberInput("Limit", gate.limit, { step: 0.01 }, (value) => change(() => { gate.limit = value ?? NaN; }))),
    el("td", null, button("Remove", () => { change(() => { draft.gates.splice(index, 1); drawGates(); }, "Gate removed."); }, { "aria-label": `Remove gate for ${gate.name}` })));
}

function drawAll() {
  drawTable();
  drawChips();
  drawScoring();
  drawGates();
  check();
}

const metrics = ["rqs", "completeness", "hallucination", "accuracy", "safety", "micro_f1", "macro_f1_by_attribute", "macro_f1_by_case", "mean_score"];
const filterBox = search("Filter", "field name", (value) => { filter = value; remember({ filter: value }); drawTable(); }, { id: "rule-filter", value: filter });
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "Set how fields are compared and how results are scored. Evaluate and Batch use these rules."),
  workspace.file && el("p", { class: "notice", id: "rules-file" }, `The default rules are those of ${workspace.file}, which the server was started with. Changes apply in this browser; Export writes them to a file.`),
  el("datalist", { id: "metrics" }, metrics.map((name) => el("option", { value: name }))),
  problems,
  section("strategies", "Strategies", null,
    el("div", { class: "controls" }, filterBox, button("Add field", addRow, { id: "add-row" }), button("Import…", openImport, { id: "import" }), button("Propose from data…", openInfer, { id: "infer" }),
      button("Export", exportRules, { id: "export" })),
    chips, table),
  section("scoring", "Scoring", "Thresholds are between 0 and 1. Weights are at least 0.", scoring),
  section("gates", "Gates", "Limits that a batch must meet to pass.", gates),
  el("div", { class: "save-bar" }, save, button("Discard changes", reset, { id: "reset" }), !workspace.writable && el("span", { class: "quiet" }, workspace.file ? `To change the default rules, edit ${workspace.file} and restart the server.` : "The server is read-only, so rules cannot be saved to the workspace."), status));
drawAll();
