// The rules page: strategies, thresholds, weights and gates.

import { request } from "./api.js";
import { button, data, el, labelled, replace, section, select } from "./dom.js";
import { capitalized, plural } from "./labels.js";
import { address, debounce, download, problem, remember, toast } from "./page.js";
import { comparatorReference, comparatorSelect, localProblems, numberInput, pathsOf, ruleEditor } from "./rule_editor.js";
import { importDialog, inferDialog, presetDialog } from "./rules_dialogs.js";
import * as drafts from "./rules_draft.js";
import { tableNode } from "./table.js";
import { stored } from "./theme.js";

const page = data("page");
const workspace = page.strategies;
let draft = drafts.load(workspace);
let reasons = {};

const sets = el("div", { class: "controls", id: "rule-sets" });
const problems = el("div", { id: "problems" });
const status = el("span", { role: "status", class: "quiet" });
const scoring = el("div"), gates = el("div");
const save = button("Save to workspace", () => saveDraft(), { class: "primary", id: "save" });
const discard = button("Discard changes", reset, { id: "reset" });
const editor = ruleEditor({
  draft: () => draft, change: (...all) => { change(...all); drawScoring(); }, reasons: () => reasons, paths: knownPaths(),
  filter: address(["filter"]).filter, filtered: (value) => remember({ filter: value }),
  actions: [button("Presets…", openPresets, { id: "presets" }), button("Propose from data…", openInfer, { id: "infer" }), button("Import…", openImport, { id: "import" }), button("Export", exportRules, { id: "export" })],
});

// The fields of the documents on the Evaluate page.
function knownPaths() {
  try {
    return [...pathsOf(JSON.parse(JSON.parse(stored("fieldmark-documents")).expected))];
  } catch {
    return [];
  }
}

function change(action, notice = "") {
  const before = structuredClone(draft);
  action();
  changed();
  if (notice) toast(notice, { undo: () => { draft = before; changed(); drawAll(); } });
}

function changed() {
  if (isDirty()) drafts.save(draft);
  else drafts.discard();
  drawButtons();
  check();
}

// Whether there is anything to save or to discard.
function isDirty() {
  return JSON.stringify({ ...draft, revision: "" }) !== JSON.stringify({ ...drafts.fromWorkspace(workspace), revision: "" });
}

function drawButtons() {
  discard.disabled = !isDirty();
  save.disabled = !workspace.writable || !isDirty() || problems.childElementCount > 0;
}

const check = debounce(250, async () => {
  const own = localProblems(draft);
  if (own.length) return showProblems(own);
  try {
    await request("/api/strategies/check", { method: "POST", body: drafts.fileOf(draft) });
    showProblems([]);
  } catch (error) {
    showProblems(error.problems.length ? error.problems : [{ message: error.message }]);
  }
  return null;
});

function showProblems(found) {
  replace(problems, found.length ? problem({ problems: found }) : null);
  drawButtons();
  status.textContent = found.length ? plural(found.length, "problem") : drafts.isChanged() ? "Unsaved changes, stored in this browser. Evaluate and Batch use them." : "No unsaved changes.";
}

// Without a name, the default rules are saved; a new rule set has the revision `none`.
async function saveDraft(name = workspace.name, revision = draft.revision) {
  try {
    const path = name ? `/api/rule-sets/${encodeURIComponent(name)}` : "/api/strategies";
    const found = await request(`${path}?revision=${encodeURIComponent(revision)}`, { method: "PUT", body: drafts.fileOf(draft) });
    drafts.discard();
    if (name && !page.rule_sets.some((each) => each.name === name)) page.rule_sets.push({ name, fields: draft.rows.length });
    Object.assign(workspace, found);
    draft = drafts.load(workspace);
    remember({ rules: name });
    toast(name ? `Saved as rule set ${name}.` : "Saved to strategies.json.");
    drawAll();
    return true;
  } catch (error) {
    replace(problems, problem(error));
    return false;
  }
}

async function removeSet() {
  const { name, rules } = workspace;
  try {
    await request(`/api/rule-sets/${encodeURIComponent(name)}`, { method: "DELETE" });
  } catch (error) {
    return replace(problems, problem(error));
  }
  page.rule_sets.splice(page.rule_sets.findIndex((each) => each.name === name), 1);
  drafts.discard();
  await useSet("");
  return toast(`Rule set ${name} deleted.`, { undo: async () => {
    await request(`/api/rule-sets/${encodeURIComponent(name)}?revision=none`, { method: "PUT", body: rules });
    page.rule_sets.push({ name, fields: (rules.fields || []).length });
    await useSet(name);
  } });
}

async function useSet(name) {
  Object.assign(workspace, await request(name ? `/api/rule-sets/${encodeURIComponent(name)}` : "/api/strategies"));
  draft = drafts.load(workspace);
  remember({ rules: name });
  drawAll();
}

function drawSets() {
  const name = el("input", { type: "text", id: "set-name", "aria-label": "Name of a new rule set", placeholder: "name", maxlength: "60", autocomplete: "off", spellcheck: "false" });
  replace(sets,
    drafts.ruleSetSelect(draft, workspace, () => { draft = drafts.load(workspace); drawAll(); }, (error) => replace(problems, problem(error)), page),
    page.can_write && el("form", { class: "chips", on: { submit: (event) => { event.preventDefault(); if (name.value.trim()) saveDraft(name.value.trim(), "none"); } } }, name, el("button", { type: "submit", id: "save-set" }, "Save as new rule set")),
    page.can_write && workspace.name && button("Delete rule set", removeSet, { id: "delete-set" }));
}

function reset() {
  const before = structuredClone(draft);
  drafts.discard();
  draft = drafts.fromWorkspace(workspace);
  drawAll();
  toast("Changes discarded.", { undo: () => { draft = before; drafts.save(draft); drawAll(); } });
}

// --- import, export, proposals ---

function openImport() {
  importDialog((found) => addRules(found.rules, "imported"));
}

function openInfer() {
  inferDialog((rules, why) => addRules(rules, "proposed", why));
}

function openPresets() {
  presetDialog(page.presets, (preset) => addRules(preset.rules, `of the preset “${preset.title}” added`, preset.reasons));
}

function addRules(rules, verb, why = {}) {
  reasons = { ...reasons, ...why };
  change(() => { drafts.merge(draft, rules); drawAll(); }, `${plural((rules.fields || []).length, "rule")} ${verb}.`);
}

async function exportRules() {
  try {
    const { rules } = await request("/api/strategies/check", { method: "POST", body: drafts.fileOf(draft) });
    // The provider is the server's: the name of the file says which one the rules were made with.
    download(workspace.provider === "lexical" ? "rules.json" : `rules.${workspace.provider}.json`, `${JSON.stringify(rules, null, 2)}\n`);
  } catch (error) {
    replace(problems, problem(error));
  }
}

// --- scoring ---

// Which thresholds of the file have an effect: they are for comparators without their own.
function usedThresholds() {
  const { match } = draft.rest.defaults || {};
  const others = (typeof match === "object" ? match.type : match) || (draft.convention === "four_phase" ? "auto" : "");
  const words = new Set([others, ...draft.rows.filter(({ threshold }) => threshold === undefined).map((row) => row.match)]);
  const uses = { fuzzy: ["fuzzy", "FUZZY"], semantic: ["semantic", "SEMANTIC", "auto"] };
  return Object.keys(uses).filter((name) => uses[name].some((word) => words.has(word)));
}

function drawScoring() {
  const defaults = draft.rest.defaults || {};
  const others = labelled("Other fields", comparatorSelect("Other fields", (typeof defaults.match === "object" ? defaults.match.type : defaults.match) || "", (value) => change(() => {
    const { match, ...rest } = draft.rest.defaults || {};
    draft.rest = { ...draft.rest, defaults: { ...(rest.align && { align: rest.align }), ...(value && { match: value }) } };
    if (!Object.keys(draft.rest.defaults).length) delete draft.rest.defaults;
    drawScoring();
  }), { first: [["", "by the convention"]] }));
  const form = select("RQS form", [["subtract", "subtract hallucination"], ["complement", "add 1 − hallucination"]], (value) => change(() => { draft.form = value; drawScoring(); }), { value: draft.form });
  const sum = Object.values(draft.weights).reduce((all, each) => all + (Number(each) || 0), 0);
  replace(scoring,
    el("div", { class: "panel" }, el("div", { class: "form-grid" }, drafts.scoringSelects(draft, () => { change(() => {}); editor.draw(); drawScoring(); }), others, form,
      usedThresholds().map((name) => {
        const label = `${name[0].toUpperCase()}${name.slice(1)} threshold`;
        return labelled(label, numberInput(label, draft.thresholds[name], { min: 0, max: 1, step: 0.01 }, (value) => change(() => { draft.thresholds[name] = value ?? drafts.THRESHOLDS[name]; editor.draw(); })));
      }), providerSelect()),
    workspace.provider === "lexical" && usedThresholds().includes("semantic") && el("p", { class: "form-note" }, "Texts are compared by meaning with the provider lexical, which needs no model. A server with a rules file can have another one."),
    el("h3", null, "Weights of the response quality score (RQS)"),
    el("div", { class: "form-grid" }, Object.keys(drafts.WEIGHTS).map((name) =>
      labelled(capitalized(name), numberInput(`Weight of ${name}`, draft.weights[name], { min: 0, step: 0.05 }, (value) => change(() => { draft.weights[name] = value ?? 0; drawScoring(); }))))),
    el("p", { class: "form-note" }, `The weights add up to ${sum.toFixed(2)}. The maximum RQS is ${maximumRqs().toFixed(2)}.`),
    el("h3", null, "Safety"),
    safetyFields()));
}

// Requests can choose the built-in provider instead of the provider of the server, and nothing else.
function providerSelect() {
  if (workspace.provider === "lexical") return null;
  return select("Provider for semantic comparison", [["", `${workspace.provider} (of the server)`], ["lexical", "lexical (no model)"]], (value) => change(() => {
    const { provider: _, ...rest } = draft.rest;
    draft.rest = value ? { ...rest, provider: value } : rest;
  }), { id: "provider", value: draft.rest.provider || "" });
}

function safetyFields() {
  const { safety } = draft.rest;
  const current = safety === undefined ? "" : safety.type || safety;
  const judge = select("Safety judge", [["", workspace.safety === "none" ? "none" : `${workspace.safety} (of the server)`], ...(workspace.safety === "none" ? [] : [["none", "none"]]), ["wordlist", "list of unsafe words"]], (value) => change(() => {
    const { safety: _, ...rest } = draft.rest;
    draft.rest = { ...rest, ...(value && { safety: value === "none" ? "none" : { type: "wordlist", words: [] } }) };
    drawScoring();
    if (value === "wordlist") document.getElementById("unsafe-words").focus();
  }), { id: "safety", value: current });
  return [el("div", { class: "form-grid" }, judge,
    current === "wordlist" && labelled("Unsafe words, separated by commas", el("input", { type: "text", id: "unsafe-words", value: (safety.words || []).join(", "), on: { change: (event) => change(() => setUnsafeWords(event.target.value)) } }))),
    el("p", { class: "form-note" }, current === "wordlist" ? "Predictions with one of these words are unsafe." : current || workspace.safety !== "none" ? "Predictions are judged by this judge in Evaluate and Batch." : "Safety is not judged: it counts as 1 in the response quality score.")];
}

function setUnsafeWords(text) {
  const words = text.split(",").map((word) => word.trim()).filter(Boolean);
  draft.rest = { ...draft.rest, safety: { type: "wordlist", words } };
}

function maximumRqs() {
  const { accuracy, completeness, safety, hallucination } = draft.weights;
  return Math.min(1, Math.max(0, accuracy + completeness + safety + (draft.form === "complement" ? hallucination : 0)));
}

function drawGates() {
  const kindSelect = (gate) => {
    const kind = el("select", { "aria-label": "Minimum or maximum", on: { change: (event) => change(() => { gate.kind = event.target.value; }) } },
      el("option", { value: "min" }, "at least"), el("option", { value: "max" }, "at most"));
    kind.value = gate.kind;
    return kind;
  };
  replace(gates, draft.gates.length > 0 && el("div", { class: "strategy-table" }, tableNode({
    caption: "Gates", isSorted: false, rowHead: null, rows: draft.gates, step: Infinity,
    columns: [
      { key: "name", title: "Metric", cell: (gate) => el("input", { type: "text", value: gate.name, list: "metrics", "aria-label": "Metric", on: { change: (event) => change(() => { gate.name = event.target.value.trim(); }) } }) },
      { key: "kind", title: "Must be", cell: kindSelect },
      { key: "limit", title: "Limit", css: "narrow", cell: (gate) => numberInput("Limit", gate.limit, { step: 0.01 }, (value) => change(() => { gate.limit = value ?? NaN; })) },
      { title: "", cell: (gate) => button("Remove", () => change(() => { draft.gates.splice(draft.gates.indexOf(gate), 1); drawGates(); }, "Gate removed."), { "aria-label": `Remove gate for ${gate.name}` }) },
    ],
  })),
  button("Add gate", () => { change(() => draft.gates.push({ name: "rqs", kind: "min", limit: 0.7 })); drawGates(); }, { id: "add-gate" }));
}

function drawAll() {
  drawSets();
  editor.draw();
  drawScoring();
  drawGates();
  drawButtons();
  check();
}

const metrics = ["rqs", "completeness", "hallucination", "accuracy", "safety", "micro_f1", "macro_f1_by_attribute", "macro_f1_by_case", "mean_score"];
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "Set how fields are compared and how results are scored. Evaluate and Batch use these rules."),
  workspace.file && el("p", { class: "notice", id: "rules-file" }, `The default rules come from ${workspace.file}, which the server was started with. Changes apply in this browser; Export writes them to a file.`),
  page.unknown_rules && el("p", { class: "notice" }, `There is no rule set ${page.unknown_rules}. These are the default rules.`),
  el("datalist", { id: "metrics" }, metrics.map((name) => el("option", { value: name }))),
  problems,
  sets,
  section("strategies", "Rules of fields", "Paths name nested fields: vendor.name, lines[*].amount, **.date. Exact paths take precedence over patterns, and later rules over earlier ones.", editor.node, comparatorReference()),
  section("scoring", "Scoring", "Thresholds are between 0 and 1. Weights are at least 0.", scoring),
  section("gates", "Gates", "Limits that a batch must meet to pass.", gates),
  el("div", { class: "save-bar" }, save, discard, !workspace.writable && el("span", { class: "quiet" }, workspace.file ? `To change the default rules, edit ${workspace.file} and restart the server.` : "The server is read-only, so rules cannot be saved to the workspace."), status));
drawAll();
