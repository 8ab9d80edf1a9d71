// The rules page: strategies, thresholds, weights and gates.

import { request } from "./api.js";
import { query } from "./case_links.js";
import { menu } from "./dialogs.js";
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
const draft = await drafts.openRules(page);
let reasons = {};

const problems = el("div", { id: "problems" });
const status = el("span", { role: "status", class: "quiet" });
const gates = el("div"), readOnly = el("p", { class: "form-note" });
const toEvaluate = el("a", { class: "button", id: "to-evaluate" }, "Evaluate with these rules"), toBatch = el("a", { class: "button", id: "to-batch" }, "Batch with these rules");
const save = button("Save", () => saveDraft(), { class: "primary", id: "save" });
const discard = button("Discard changes", reset, { id: "reset" });
const editor = ruleEditor({
  draft: () => draft, change: (...all) => { change(...all); drawScoring(); }, reasons: () => reasons, paths: knownPaths(),
  filter: address(["filter"]).filter, filtered: (value) => remember({ filter: value }),
  actions: [button("Presets…", openPresets, { id: "presets" }), button("Propose from data…", openInfer, { id: "infer" }), button("Import…", openImport, { id: "import" }),
    menu("Export", [button("Rules file", exportRules, { "data-export": "rules" }), button("Strategy file", exportStrategies, { "data-export": "strategies" })], { id: "export" })],
});

const { node: scoring, draw: drawScoring } = scoringControls();
const ruleSets = drafts.ruleSetSelect(draft, workspace, drawAll, (error) => replace(problems, problem(error)), page);
const setName = /** @type {HTMLInputElement} */ (el("input", { type: "text", id: "set-name", "aria-label": "Name of a new rule set", placeholder: "name", maxlength: "60", autocomplete: "off", spellcheck: "false" }));
const deleteSet = button("Delete rule set", removeSet, { id: "delete-set" });
const saveSet = page.can_write && el("form", { class: "set-form", on: { submit: async (event) => {
  event.preventDefault();
  if (!setName.value.trim()) setName.focus();
  else if (await saveDraft(setName.value.trim(), "none")) setName.value = "";
} } }, setName, el("button", { type: "submit", id: "save-set" }, "Save as new rule set"));
const sets = el("div", { class: "controls", id: "rule-sets" });

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
  if (notice) toast(notice, { undo: () => { Object.assign(draft, before); changed(); drawAll(); } });
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
    Object.assign(draft, drafts.load(workspace));
    drafts.rememberSet(name);
    toast(name ? `Saved as rule set ${name}. Evaluate and Batch use it.` : "Saved to strategies.json. Evaluate and Batch use these rules.");
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
  await drafts.useSet(draft, workspace, "");
  drawAll();
  ruleSets.node.querySelector("select").focus();
  return toast(`Rule set ${name} deleted.`, { undo: async () => {
    await request(`/api/rule-sets/${encodeURIComponent(name)}?revision=none`, { method: "PUT", body: rules });
    page.rule_sets.push({ name, fields: (rules.fields || []).length });
    await drafts.useSet(draft, workspace, name);
    drawAll();
  } });
}

// The rule set, and the pages that use it.
function drawSets() {
  ruleSets.draw();
  replace(sets, ruleSets.node, saveSet, page.can_write && workspace.name && deleteSet);
  const address = query({ rules: workspace.name });
  toEvaluate.href = `/${address}`;
  toBatch.href = `/batch${address}`;
  readOnly.textContent = workspace.writable ? "" : !page.can_write ? "The server is read-only, so rules cannot be saved; they stay in this browser." : `The default rules come from ${workspace.file}. Save these rules as a new rule set, or edit that file and restart the server.`;
}

function reset() {
  const before = structuredClone(draft);
  drafts.discard();
  Object.assign(draft, drafts.fromWorkspace(workspace));
  drawAll();
  toast("Changes discarded.", { undo: () => { Object.assign(draft, before); drafts.save(draft); drawAll(); } });
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
    const { provider, provider_rules: own } = workspace;
    download("rules.json", `${JSON.stringify({ ...(own && !rules.provider && { provider: own }), ...rules }, null, 2)}\n`);
    if (rules.provider) toast(`The rules file names the provider ${rules.provider.type || rules.provider}.`);
    else if (own) toast(`The rules file names the provider ${provider} ${own.model}, without keys and headers.`);
    else if (provider !== "lexical") toast(`The rules file does not contain the provider ${provider} of the server.`);
  } catch (error) {
    replace(problems, problem(error));
  }
}

function exportStrategies() {
  const { strategies, omitted, reduced } = drafts.strategyFile(draft);
  download("strategies.json", `${JSON.stringify(strategies, null, 2)}\n`);
  const left = [omitted.length && `the rules of ${omitted.join(", ")}`, reduced.length && `the options of ${reduced.join(", ")}`].filter(Boolean);
  toast(`${plural(Object.keys(strategies).length, "field")} exported.${left.length ? ` A strategy file cannot contain ${left.join(" or ")}. A rules file can.` : ""}`);
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

function setOthers(word) {
  change(() => {
    const { align } = draft.rest.defaults || {};
    draft.rest = { ...draft.rest, defaults: { ...(align && { align }), ...(word && { match: word }) } };
    if (!Object.keys(draft.rest.defaults).length) delete draft.rest.defaults;
    drawScoring();
  });
}

function setRest(name, value) {
  const { [name]: _, ...rest } = draft.rest;
  draft.rest = value ? { ...rest, [name]: value } : rest;
}

function setUnsafeWords(text) {
  const words = text.split(",").map((word) => word.trim()).filter(Boolean);
  draft.rest = { ...draft.rest, safety: { type: "wordlist", words } };
}

// The controls stay when they are drawn again, with the focus.
function scoringControls() {
  const listOf = (box) => box.querySelector("select");
  const scoringLists = drafts.scoringSelects(draft, () => { change(() => {}); editor.draw(); drawScoring(); });
  const others = comparatorSelect("Other fields", "", setOthers, { first: [["", "by the convention"]] });
  const form = select("RQS form", [["subtract", "subtract hallucination"], ["complement", "add 1 − hallucination"]], (value) => change(() => { draft.form = value; drawScoring(); }));
  const numbers = (kind, label, props, missing) => Object.fromEntries(Object.keys(drafts[kind.toUpperCase()]).map((name) =>
    [name, numberInput(label(name), draft[kind][name], props, (value) => change(() => { draft[kind][name] = value ?? missing(name); editor.draw(); drawScoring(); }))]));
  const thresholdName = (name) => `${capitalized(name)} threshold`;
  const thresholds = numbers("thresholds", thresholdName, { min: 0, max: 1, step: 0.01 }, (name) => drafts.THRESHOLDS[name]);
  const weights = numbers("weights", (name) => `Weight of ${name}`, { min: 0, step: 0.05 }, () => 0);
  const thresholdBoxes = Object.fromEntries(Object.entries(thresholds).map(([name, input]) => [name, labelled(thresholdName(name), input)]));
  // Requests can choose the built-in provider instead of the provider of the server, and nothing else.
  const provider = workspace.provider !== "lexical" && select("Provider for semantic comparison", [["", `${workspace.provider} (of the server)`], ["lexical", "lexical (no model)"]], (value) => change(() => setRest("provider", value)), { id: "provider" });
  const judge = select("Safety judge", [["", workspace.safety === "none" ? "none" : `${workspace.safety} (of the server)`], ...(workspace.safety === "none" ? [] : [["none", "none"]]), ["wordlist", "list of unsafe words"]], (value) => change(() => {
    setRest("safety", value === "wordlist" ? { type: "wordlist", words: [] } : value);
    drawScoring();
  }), { id: "safety" });
  const unsafeWords = /** @type {HTMLInputElement} */ (el("input", { type: "text", id: "unsafe-words", on: { change: ({ target }) => change(() => setUnsafeWords(target.value)) } }));
  const unsafeBox = labelled("Unsafe words, separated by commas", unsafeWords);
  const scoringForm = el("div", { class: "form-grid" }), safetyForm = el("div", { class: "form-grid" });
  const modelNote = el("p", { class: "form-note" }, "Texts are compared by meaning with the provider lexical, which needs no model. To use a model, start the server with --rules and a file that names its provider.");
  const weightNote = el("p", { class: "form-note" }), safetyNote = el("p", { class: "form-note" });
  function draw() {
    const { match } = draft.rest.defaults || {}, { safety } = draft.rest, used = usedThresholds();
    const current = safety === undefined ? "" : safety.type || safety;
    scoringLists.draw();
    others.value = (typeof match === "object" ? match.type : match) || "";
    listOf(form).value = draft.form;
    if (provider) listOf(provider).value = draft.rest.provider || "";
    listOf(judge).value = current;
    for (const [kind, inputs] of Object.entries({ thresholds, weights })) for (const [name, input] of Object.entries(inputs)) input.value = draft[kind][name];
    unsafeWords.value = current === "wordlist" ? (safety.words || []).join(", ") : "";
    replace(scoringForm, scoringLists.nodes, othersBox, form, used.map((name) => thresholdBoxes[name]), provider);
    modelNote.hidden = workspace.provider !== "lexical" || !used.includes("semantic");
    replace(safetyForm, judge, current === "wordlist" && unsafeBox);
    const sum = Object.values(draft.weights).reduce((all, each) => all + (Number(each) || 0), 0);
    weightNote.textContent = `The weights add up to ${sum.toFixed(2)}. The maximum RQS is ${maximumRqs().toFixed(2)}.`;
    safetyNote.textContent = current === "wordlist" ? "Predictions with one of these words are unsafe." : (current || workspace.safety) !== "none" ? "This judge judges the predictions of Evaluate and Batch." : "Safety is not judged: it counts as 1 in the response quality score.";
  }
  const othersBox = labelled("Other fields", others);
  return { draw, node: el("div", { class: "panel" }, scoringForm, modelNote,
    el("h3", null, "Weights of the response quality score (RQS)"),
    el("div", { class: "form-grid" }, Object.entries(weights).map(([name, input]) => labelled(capitalized(name), input))), weightNote,
    el("h3", null, "Safety"), safetyForm, safetyNote) };
}

function maximumRqs() {
  const { accuracy, completeness, safety, hallucination } = draft.weights;
  return Math.min(1, Math.max(0, accuracy + completeness + safety + (draft.form === "complement" ? hallucination : 0)));
}

const addGate = button("Add gate", () => {
  change(() => draft.gates.push({ name: "rqs", kind: "min", limit: 0.7 }));
  drawGates();
  /** @type {HTMLElement} */ (gates.querySelector("tbody tr:last-child input")).focus();
}, { id: "add-gate" });

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
  addGate);
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
  page.default_rules && el("p", { class: "notice", id: "rules-file" }, `The default rules come from ${page.default_rules}, which the server was started with. Changes apply in this browser${page.can_write ? "; to keep them, save them as a rule set" : ""}.`),
  page.unknown_rules && el("p", { class: "notice" }, `There is no rule set ${page.unknown_rules}. These are the default rules.`),
  el("datalist", { id: "metrics" }, metrics.map((name) => el("option", { value: name }))),
  problems,
  sets,
  section("strategies", "Rules of fields", "Paths name nested fields: vendor.name, lines[*].amount, **.date. Exact paths take precedence over patterns, and later rules over earlier ones.", editor.node, comparatorReference()),
  section("scoring", "Scoring", "Thresholds are between 0 and 1. Weights are at least 0.", scoring),
  section("gates", "Gates", "Limits that a batch must meet to pass.", gates),
  el("div", { class: "save-bar" }, save, discard, toEvaluate, toBatch, status), readOnly);
drawAll();
