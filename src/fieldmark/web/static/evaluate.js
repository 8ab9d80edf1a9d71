// The page that compares two documents as they are typed.

import { follow } from "./analysis.js";
import { lastRequest, request as send } from "./api.js";
import { openedParts } from "./case.js";
import { query } from "./case_links.js";
import { scoreText } from "./cases.js";
import { gauge } from "./charts.js";
import { menu } from "./dialogs.js";
import { entry, readText } from "./document_input.js";
import { button, data, el, replace } from "./dom.js";
import { plural, rate, verdictChip, whole } from "./labels.js";
import { metricTabs } from "./metric_tabs.js";
import { tileGrid } from "./overview.js";
import { address, debounce, download, downloadFrom, empty, problem, remember, sentence, toast } from "./page.js";
import * as drafts from "./rules_draft.js";
import { tableNode } from "./table.js";
import { stored } from "./theme.js";
import { caseMetrics, openedCase } from "./value_encoding.js";
import { shown } from "./values.js";

const page = data("page");
const { strategies, conventions, write } = page;
const draft = await drafts.openRules(page);
const EXAMPLE = {
  expected: { name: "John Smith", email: "john@example.com", bio: "Senior engineer with 10 years of experience...", internal_id: null, status: "active" },
  candidate: { name: "John Smyth", email: "john@example.com", bio: "Experienced senior engineer, 10+ years...", internal_id: "abc123", extra_field: "surprise" },
};

/** @type {Record<string, any>} */
const state = { ...address(["convention", "depth", "tab"]), candidates: [""], expected: "", shown: 0 };
const saved = fromLink() || JSON.parse(stored("fieldmark-documents") || "null");
if (saved && typeof saved.expected === "string" && Array.isArray(saved.candidates)) Object.assign(state, { expected: saved.expected, candidates: saved.candidates.length ? saved.candidates : [""] });
if (state.convention in conventions) draft.convention = state.convention;
if (["top", "leaf"].includes(state.depth)) draft.depth = state.depth;

const output = el("section", { class: "result", "aria-label": "Result", "aria-live": "off" });
const status = el("p", { class: "live quiet", role: "status" });
const inputs = el("div", { class: "entries" }), controls = el("div", { class: "controls" });
const request = lastRequest();
const models = drafts.modelSelects(strategies, draft, () => evaluate());
const ruleSets = drafts.ruleSetSelect(draft, strategies, () => {
  // The new rules come with their convention.
  remember({ convention: "", depth: "" });
  drawRules();
  evaluate();
}, (error) => replace(output, problem(error)), page);
const scoring = drafts.scoringSelects(draft, () => {
  remember({ convention: draft.convention, depth: draft.depth });
  drawRules();
  evaluate();
});
const rulesLine = el("p", { class: "rules-line quiet" });
const outcome = el("div", { class: "saved", role: "status" });
let latest = null;

function fromLink() {
  const found = /^#d=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  try {
    const bytes = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (char) => char.codePointAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function link() {
  const bytes = new TextEncoder().encode(JSON.stringify({ expected: state.expected, candidates: state.candidates }));
  let text = "";
  for (const each of bytes) text += String.fromCharCode(each);
  return `${location.origin}/${location.search}#d=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

function changed() {
  stored("fieldmark-documents", JSON.stringify({ expected: state.expected, candidates: state.candidates }));
  evaluate();
}

function drawEntries() {
  const several = state.candidates.length > 1;
  replace(inputs,
    entry({ id: "expected", label: "Ground truth", hint: "the correct document", text: state.expected, change: (text) => { state.expected = text; changed(); } }),
    el("div", { class: "candidates" }, state.candidates.map((text, index) => entry({
      id: index ? `candidate-${index + 1}` : "candidate",
      label: predictionName(index), hint: "the extracted document", text,
      change: (value) => { state.candidates[index] = value; changed(); },
      remove: several ? () => removeCandidate(index) : null,
    }))));
}

function predictionName(index) {
  return state.candidates.length > 1 ? `Prediction ${index + 1}` : "Prediction";
}

function removeCandidate(index) {
  const before = [...state.candidates];
  state.candidates.splice(index, 1);
  drawEntries();
  changed();
  toast(`Prediction ${index + 1} removed.`, { undo: () => { state.candidates = before; drawEntries(); changed(); } });
}

function setDocuments(expected, candidates, notice) {
  const before = { expected: state.expected, candidates: [...state.candidates] };
  Object.assign(state, { expected, candidates, shown: 0 });
  drawEntries();
  changed();
  if (before.expected || before.candidates.some(Boolean)) toast(notice, { undo: () => { Object.assign(state, before); drawEntries(); changed(); } });
}

// Which rules are used, with the lists that depend on them.
function drawRules() {
  scoring.draw();
  models.draw();
  replace(rulesLine, drafts.rulesText(draft, strategies), " ", el("a", { href: `/rules${query({ rules: strategies.name })}` }, "Edit rules"));
}

function drawControls() {
  replace(controls, ruleSets.node, scoring.nodes, models.nodes,
    button("Add prediction", () => { state.candidates.push(""); drawEntries(); document.getElementById(`candidate-${state.candidates.length}`).focus(); }, { id: "add-candidate" }),
    button("Load example", () => setDocuments(JSON.stringify(EXAMPLE.expected, null, 2), [JSON.stringify(EXAMPLE.candidate, null, 2)], "Documents replaced with the example."), { id: "example" }),
    button("Clear", () => setDocuments("", [""], "Documents cleared."), { id: "clear" }),
    button("Copy link", copyLink, { id: "copy-link" }),
    button("Save to history", saveRun, { id: "save-run", title: write ? null : "The server is read-only: the run is deleted when it stops." }),
    menu("Export", [
      button("JSON", exportJson, { "data-export": "json" }), button("Copy JSON", copyJson, { id: "copy-json" }),
      button("XLSX workbook", () => exportFile("xlsx"), { "data-export": "xlsx" }), button("HTML report", () => exportFile("html"), { "data-export": "html" }),
    ], { id: "export" }),
    rulesLine, status);
  drawRules();
}

// Save the documents as a run with one case for each prediction.
async function saveRun() {
  const documents = readAll();
  if (!documents) return;
  const [expected, ...candidates] = documents;
  // Two sides, because runs are comparable if their ground truth is the same.
  const side = (key, value) => `{"rows":[${candidates.map((candidate, index) => `{"id":${JSON.stringify(candidates.length > 1 ? `prediction ${index + 1}` : "prediction")},"${key}":${value ?? candidate}}`).join(",")}]}`;
  const rest = JSON.stringify({ rules: requestRules(), title: `Evaluation ${new Date().toISOString().slice(0, 16).replace("T", " ")}` }).slice(1);
  try {
    const job = await send("/api/batch", { method: "POST", text: `{"truth":${side("expected", expected)},"candidate":${side("candidate", null)},${rest}` });
    const { state, result, error } = await follow(job, () => replace(outcome, "Saving…"));
    if (state !== "done") return replace(outcome, problem(error || { message: "The run was cancelled." }));
    return replace(outcome, result.saved ? "Saved as " : "Kept until the server stops, because it is read-only: ", el("a", { href: `/runs/${result.run}` }, shown(job.title)), ".");
  } catch (error) {
    return replace(outcome, problem(error));
  }
}

async function exportFile(kind) {
  const documents = readAll();
  if (!documents) return;
  replace(outcome, "Preparing the file…");
  try {
    await downloadFrom("/api/evaluate/export", { method: "POST", text: body(documents).replace(/,"view":true}$/, `,"kind":"${kind}"}`) });
    replace(outcome);
  } catch (error) {
    replace(outcome, problem(error));
  }
}

function exportJson() {
  if (resultJson()) download("evaluation.json", resultJson());
}

async function copyJson() {
  if (!resultJson()) return;
  try {
    await navigator.clipboard.writeText(resultJson());
    toast("Result copied as JSON.");
  } catch {
    replace(outcome, problem({ message: "The clipboard is not available. Export the JSON file instead." }));
  }
}

function resultJson() {
  if (!latest) replace(outcome, problem({ message: "There is no result yet. Enter the ground truth and a prediction first." }));
  return latest && `${JSON.stringify(exported(latest, latest.ranking || latest.result), null, 2)}\n`;
}

// A result with the depth and the providers that it was made with.
function exported({ depth, providers }, result) {
  return { ...result, depth, providers };
}

// All documents as JSON, the ground truth first; null if one of them is missing or invalid.
function readAll() {
  const read = [state.expected, ...state.candidates].map((text) => (text.trim() ? readText(text) : { error: "missing" }));
  if (!read.some(({ error }) => error)) return read.map(({ json }) => json);
  replace(outcome, problem({ message: "Enter the ground truth and all predictions as valid JSON first." }));
  return null;
}

async function copyLink() {
  if (![state.expected, ...state.candidates].some((text) => text.trim())) return toast("There is nothing to link to: enter a document first.");
  const text = link();
  if (text.length > 30_000) return toast("The documents are too large for a link.");
  try {
    await navigator.clipboard.writeText(text);
    toast("Link copied. It contains the documents and works in this browser while the server is running.");
  } catch {
    history.replaceState(null, "", text);
    toast("The clipboard is not available. The address of this page now contains the documents.");
  }
  return null;
}

const evaluate = debounce(250, async () => {
  const sides = [["Ground truth", state.expected], ...state.candidates.map((text, index) => [predictionName(index), text])];
  if (sides.some(([, text]) => !text.trim())) {
    status.textContent = "";
    latest = null;
    replace(outcome);
    output.classList.remove("stale");
    return replace(output, empty("Nothing to compare yet", "Paste or drop the ground truth and a prediction. Results are updated as you type."));
  }
  const documents = sides.map(([name, text]) => ({ name, ...readText(text) }));
  const invalid = documents.find(({ error }) => error);
  if (invalid) {
    status.textContent = `${invalid.name}: ${invalid.error}`;
    return output.classList.add("stale");
  }
  status.textContent = "Comparing…";
  const started = performance.now();
  try {
    latest = null;
    const found = await request("/api/evaluate", { method: "POST", text: body(documents.map(({ json }) => json)) });
    status.textContent = `Compared in ${Math.round(performance.now() - started)} ms.`;
    output.classList.remove("stale");
    latest = found;
    replace(outcome);
    replace(output, found.warnings.map((text) => el("p", { class: "notice" }, shown(sentence(text)))), results(found, state, { changeTab, changeShown: () => evaluate() }));
  } catch (error) {
    status.textContent = "";
    output.classList.remove("stale");
    replace(output, problem(error), /rules/.test(error.code) && el("p", null, el("a", { href: "/rules" }, "Edit rules")));
  }
  return null;
});

function changeTab(tab) {
  state.tab = tab;
  remember({ tab: tab === "documents" ? "" : tab });
}

function requestRules() {
  return { ...drafts.fileOf(draft), ...models.chosen() };
}

/**
 * The documents are sent as text, because JavaScript cannot represent all JSON numbers exactly.
 * @param {string[]} documents
 */
function body([expected, ...candidates]) {
  const rest = JSON.stringify({ rules: requestRules(), view: true }).slice(1);
  const side = candidates.length > 1 ? `"candidates":[${candidates.join(",")}]` : `"candidate":${candidates[0]}`;
  return `{"expected":${expected},${side},${rest}`;
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") evaluate();
});

drawEntries();
drawControls();
replace(document.getElementById("app"), el("p", { class: "lead" }, "Compare a prediction with ground truth, field by field."), controls, inputs, outcome, output);
evaluate();

function results(found, state, { changeTab, changeShown }) {
  const ranking = found.ranking || null;
  const all = ranking ? ranking.results : [found.result];
  if (state.shown >= all.length) state.shown = 0;
  const result = all[state.shown], view = found.views[state.shown];
  return [
    ranking && rankTable(ranking, state, changeShown),
    headline(result),
    metricTiles(view, ranking),
    metricTabs(caseMetrics(view.metrics), {
      documents: () => documents(view), tab: state.tab, changeTab, ranking,
      others: [
        ["recommendations", "Recommendations", view.recommendations.length, () => advice(view.recommendations)],
        ["json", "JSON", null, () => el("pre", { class: "json-out", tabindex: "0", "aria-label": "Result as JSON" }, JSON.stringify(exported(found, result), null, 2))],
      ],
    }),
  ];
}

function headline(result) {
  return el("p", { class: "result-head", id: "headline" },
    verdictChip(result.verdict, result.status, result.vacuous), el("strong", null, result.reasoning), " ", result.vacuous && el("span", { class: "tile-note" }, "vacuous"), " ",
    el("span", { class: "quiet" }, `convention ${result.convention} · score ${rate(result.score, 4)} · ${Object.entries({ TP: "tp", TN: "tn", FP: "fp", FN: "fn" }).map(([word, name]) => `${word}\u00a0${result.counts[name]}`).join(" ")}`));
}

// Four digits, so that the documented example shows its RQS of 0.7375 without rounding.
function metricTiles({ tiles, formula }, ranking) {
  const consistency = ranking && { label: "Consistency", value: ranking.consistency, meaning: "agreement between predictions" };
  return tileGrid([...tiles, consistency].filter(Boolean), formula, 4);
}

function documents(view) {
  if (!view.documents) return el("p", { class: "notice" }, "These documents are too large to show. The other tabs contain all results.");
  return el("div", { class: "case" }, openedParts({ ...openedCase(view.documents), reasoning: "" }));
}

function advice(recommendations) {
  if (!recommendations.length) return empty("No recommendations", "All compared fields match.");
  return el("ol", { class: "advice" }, recommendations.map(({ title, hint, mistakes, fields }) => el("li", null,
    el("h3", null, title, " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))),
    el("p", null, hint),
    el("p", { class: "chips" }, fields.map((path) => el("span", { class: "tag" }, shown(path)))))));
}

function rankTable(ranking, state, changeShown) {
  const rows = ranking.order.map((index) => ({ index, rank: ranking.ranks[index], ...ranking.results[index] }));
  const table = tableNode({
    caption: "Predictions, best first", step: 50, rows,
    rowProps: ({ index }) => ({ "aria-current": index === state.shown ? "true" : null }),
    columns: [
      { key: "index", title: "Prediction", cell: ({ index }) => el("button", { type: "button", class: "as-link", "aria-pressed": String(index === state.shown), on: { click: () => { state.shown = index; changeShown(); } } }, `Prediction ${index + 1}`) },
      { key: "rank", title: "Rank", format: "count", cell: ({ rank }) => [whole(rank), rows.filter((row) => row.rank === rank).length > 1 && " (tie)"] },
      { title: "Verdict", cell: ({ verdict, status, vacuous }) => verdictChip(verdict, status, vacuous) },
      { key: "score", title: "Score", format: "number", cell: ({ score, vacuous }) => scoreText(score, vacuous) },
      { title: "", css: "bar-cell", cell: ({ score, vacuous }) => gauge(vacuous ? null : score, null) },
    ],
  });
  return el("section", { class: "ranking" }, el("h2", null, "Ranking"),
    el("p", { class: "quiet" }, `Best score ${rate(ranking.best)}, mean ${rate(ranking.mean)}, standard deviation ${rate(ranking.deviation)}.`), table);
}
