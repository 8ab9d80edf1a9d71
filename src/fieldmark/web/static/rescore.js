// The page that changes the rules of a run: a preview of what would change, and a new run with them.

import { follow } from "./analysis.js";
import { lastRequest, request } from "./api.js";
import { query } from "./case_links.js";
import { button, data, el, labelled, replace, section, select } from "./dom.js";
import { changeNumber, DASH, mark, metricText, NOT_COMPARED, outcomeOf, plural, rate, whole } from "./labels.js";
import { address, debounce, empty, metricName, problem, sentence, toast } from "./page.js";
import { comparatorReference, comparatorSelect, localProblems, ruleEditor } from "./rule_editor.js";
import { presetDialog } from "./rules_dialogs.js";
import * as drafts from "./rules_draft.js";
import { tableNode } from "./table.js";
import { shown } from "./values.js";

const page = data("page");
const METRIC_NAMES = { rqs: "RQS", completeness: "Completeness", hallucination: "Hallucination", accuracy: "Accuracy", safety: "Safety" };
document.title = `Rules of ${page.title} · fieldmark`;

const draft = { ...drafts.fromFile(page.rules || { convention: page.applied }), from: "" };
let reasons = {};
const original = JSON.stringify(drafts.fileOf(draft));
const requestPreview = lastRequest(), requestRules = lastRequest();
const result = el("div", { id: "preview-result" });
const status = el("p", { role: "status", id: "preview-status" });
const problems = el("div"), progress = el("div", { id: "rescored" });
const title = el("input", { type: "text", id: "rescore-title", maxlength: "200", placeholder: `${page.title}, other rules`, autocomplete: "off" });
const start = button("Rescore into a new run", rescore, { class: "primary", id: "rescore" });
const attributes = new Map(page.attributes.map(({ attribute, comparator }) => [attribute.replaceAll("[]", "[*]"), comparator]));
const origin = select("Start from", [["", "the rules of this run"], ["default", page.default_rules || "the default rules"], ...page.rule_sets.map(({ name }) => [`set:${name}`, `rule set ${name}`])], startFrom, { id: "start-from" });
const scoring = drafts.scoringSelects(draft, () => change(() => editor.draw()));
const otherFields = comparatorSelect("Other fields", "", (value) => change(() => {
  const { match: _, ...rest } = draft.rest.defaults || {};
  draft.rest = { ...draft.rest, defaults: { ...(rest.align && { align: rest.align }), ...(value && { match: value }) } };
  if (!Object.keys(draft.rest.defaults).length) delete draft.rest.defaults;
}), { first: [["", "by the convention"]] });
const editor = ruleEditor({
  draft: () => draft, change, reasons: () => reasons, paths: [...attributes.keys()],
  actions: [button("Presets…", () => presetDialog(page.presets, usePreset), { id: "presets" })],
});

function change(action, notice = "") {
  const before = structuredClone(draft);
  action();
  preview();
  if (notice) toast(notice, { undo: () => { Object.assign(draft, before); drawAll(); } });
}

function usePreset(preset) {
  reasons = { ...reasons, ...preset.reasons };
  change(() => { drafts.merge(draft, preset.rules); drawAll(); }, `Preset ${preset.title} added.`);
}

function drawAll() {
  editor.draw();
  drawOthers();
  preview();
}

// Start from the rules of the run, or from a rule set of the workspace.
function drawOthers() {
  const { match } = draft.rest.defaults || {};
  origin.querySelector("select").value = draft.from;
  otherFields.value = (typeof match === "object" ? match.type : match) || "";
  scoring.draw();
}

async function startFrom(from) {
  try {
    const found = from === "" ? { rules: page.rules || {} } : await requestRules(from === "default" ? "/api/strategies" : `/api/rule-sets/${encodeURIComponent(from.slice(4))}`);
    change(() => { Object.assign(draft, drafts.fromFile({ convention: page.applied, ...found.rules }), { from }); drawAll(); }, "Rules replaced.");
  } catch (error) {
    replace(problems, problem(error));
  }
}

// --- preview ---

const preview = debounce(300, async () => {
  const own = localProblems(draft);
  replace(problems, own.length > 0 && problem({ problems: own }));
  start.disabled = own.length > 0;
  if (own.length) return stale("The preview is of the last valid rules.");
  status.textContent = "Comparing…";
  result.classList.add("stale");
  try {
    const found = await requestPreview(`/api/runs/${page.run}/preview`, { method: "POST", body: { rules: drafts.fileOf(draft) } });
    result.classList.remove("stale");
    status.textContent = conclusion(found);
    replace(result, previewTables(found));
  } catch (error) {
    replace(problems, problem(error));
    start.disabled = true;
    stale("The preview is of the last valid rules.");
  }
  return null;
});

function stale(text) {
  result.classList.add("stale");
  status.textContent = result.childElementCount ? text : "";
}

function conclusion({ changed_fields: fields, changed_cases: cases, compared, cases: all, sample }) {
  const changed = fields || cases ? `${plural(fields, "field")} in ${whole(cases)} of ${plural(compared, "case")} would change` : `Nothing would change in ${plural(compared, "case")}`;
  return `${changed}${sample ? `, a random sample of ${plural(all, "case")}` : ""}.`;
}

function previewTables({ metrics, attributes: changed, examples, changed_fields: fields, errors, warnings, sample }) {
  return [
    sample && el("p", { class: "notice" }, "The metrics are computed from the sample. The new run compares all cases."),
    errors > 0 && el("p", { class: "notice" }, `${plural(errors, "field")} could not be compared: no model is called for a preview.`),
    warnings.length > 0 && el("details", { class: "notice", id: "preview-warnings" }, el("summary", null, plural(warnings.length, "warning")), el("ul", null, warnings.map((text) => el("li", null, shown(sentence(text)))))),
    fields > 0 && el("p", { class: "quiet" }, "Higher or lower metrics by other rules do not mean that the predictions are better or worse."),
    el("div", { class: "columns" },
      previewTable("Metrics before and after", [
        { key: "name", title: "Metric", cell: ({ name }) => METRIC_NAMES[name] || metricName(name) },
        { key: "before", title: "Before", format: "number", cell: ({ name, before }) => metricText(name, before) },
        { key: "after", title: "After", format: "number", cell: ({ name, after }) => metricText(name, after) },
        { title: "Change", format: "number", cell: ({ before, after }) => (before === null || after === null ? DASH : changeNumber(after - before)) },
      ], Object.entries(metrics).map(([name, sides]) => ({ name, ...sides }))),
      changed.length > 0 && previewTable("Attributes that change", [
        { key: "attribute", title: "Attribute", format: "path" },
        { key: "fields", title: "Fields", format: "count" },
        { key: "before", title: "F1 before", format: "number", value: ({ f1 }) => f1.before },
        { key: "after", title: "F1 after", format: "number", value: ({ f1 }) => f1.after },
      ], changed.slice(0, 12), changed.length > 12 && `and ${plural(changed.length - 12, "more attribute")}`)),
    examples.length > 0 && previewTable("Examples", [
      { key: "case_id", title: "Case", cell: (row) => el("a", { href: `/runs/${page.run}/cases/${row.case}${query({ path: row.path })}` }, shown(row.case_id)) },
      { key: "path", title: "Field", format: "path" },
      { title: "Expected", css: "long-value labelled", cell: (row) => valueText(row, "expected") },
      { title: "Predicted", css: "long-value labelled", cell: (row) => valueText(row, "candidate") },
      { title: "Before", css: "labelled", cell: ({ before }) => outcomeNode(before) },
      { title: "After", css: "labelled", cell: ({ after }) => outcomeNode(after) },
    ], examples.slice(0, 20), fields > Math.min(20, examples.length) && `${whole(Math.min(20, examples.length))} of ${plural(fields, "changed field")}`),
  ];
}

function previewTable(caption, columns, rows, more = "") {
  return el("div", null, el("h3", null, caption), tableNode({ caption, columns, rows, isSorted: false }), more && el("p", { class: "quiet" }, more));
}

function outcomeNode(side) {
  return [mark(side === null ? NOT_COMPARED : outcomeOf(side.outcome), { word: true }), side && el("span", { class: "detail" }, shown(side.comparator), side.similarity !== null && ` ${rate(side.similarity)}`)];
}

function valueText(change, side) {
  if (!(side in change)) return el("span", { class: "quiet" }, "missing");
  const text = typeof change[side] === "string" ? change[side] : JSON.stringify(change[side]);
  return el("bdi", { class: "literal" }, shown(text.length > 120 ? `${text.slice(0, 120)}…` : text));
}

// --- a new run ---

async function rescore() {
  start.disabled = true;
  replace(problems);
  try {
    await follow(await request(`/api/runs/${page.run}/rescore`, { method: "POST", body: { rules: drafts.fileOf(draft), title: title.value.trim() } }), drawJob);
  } catch (error) {
    replace(problems, problem(error));
  }
  start.disabled = false;
}

function drawJob({ id, state, cases, bytes_read: read, bytes_total: all, result: made, error }) {
  const heading = { waiting: "Waiting for other jobs…", running: `Comparing: ${plural(cases, "case")}${all ? `, ${Math.floor(100 * read / all)}%` : ""}…`, done: "A new run was made. The old run is unchanged.", failed: "Rescoring failed. No run was made.", cancelled: "Cancelled. No run was made." };
  replace(progress, el("div", { class: "panel job", role: "status", tabindex: "-1" },
    el("p", { class: "job-title" }, heading[state]),
    ["waiting", "running"].includes(state) && el("div", { class: "job-actions" }, button("Cancel", () => request(`/api/jobs/${id}`, { method: "DELETE" }).catch((reason) => replace(problems, problem(reason))), { id: "cancel-rescore" })),
    ["waiting", "running"].includes(state) && el("progress", { "aria-label": "Progress", ...(all && { max: all, value: read }) }),
    state === "failed" && problem(error),
    state === "done" && [
      el("p", null, made.headline.map(({ label, value, digits }) => `${label} ${rate(value, digits)}`).join(", "), ".", !made.passed && " The run did not pass.", !made.saved && " Temporary: deleted when the server stops."),
      el("p", { class: "empty-actions job-actions" }, el("a", { class: "button", id: "open-rescored", href: `/runs/${made.run}` }, "Open new run"),
        el("a", { class: "button", href: `/diff${query({ a: page.run, b: made.run, force: true })}` }, "Compare with the old run"),
        button("Undo", () => undo(made.run), { id: "undo-rescore", "aria-label": "Undo: delete the new run" }))]));
  progress.scrollIntoView({ block: "nearest" });
  // The button that had the focus is disabled while the job runs.
  if (document.activeElement === document.body || document.activeElement === start) progress.querySelector("div").focus({ preventScroll: true });
}

async function undo(run) {
  try {
    await request(`/api/runs/${run}`, { method: "DELETE" });
    replace(progress);
    toast("The new run was deleted. The old run is unchanged.");
    start.focus();
  } catch (error) {
    replace(problems, problem(error));
  }
}

const head = el("header", { class: "run-head" }, el("p", null, el("a", { href: `/runs/${page.run}` }, "← ", el("bdi", null, shown(page.title)))), el("h2", { class: "run-title" }, "Rules of ", el("bdi", null, shown(page.title))));
const app = document.getElementById("app");
if (page.problem) {
  replace(app, head, empty("These rules cannot be changed here", sentence(page.problem), el("a", { class: "button", href: `/runs/${page.run}` }, "Back to the run")));
} else {
  replace(app, head,
    el("p", { class: "lead" }, "Change a rule to see what would change. The documents of the run are compared again; the run itself is never changed."),
    page.rules === null && el("p", { class: "notice" }, "The rules of this run are not stored: they were Python objects, or the run was made by an earlier version. The preview compares it with the rules below."),
    problems,
    section("rules", "Rules of fields", null, el("div", { class: "form-grid" }, origin, scoring.nodes, labelled("Other fields", otherFields)), editor.node, comparatorReference()),
    section("preview", "Preview", null, result),
    el("div", { class: "save-bar" }, labelled("Title of the new run", title), start, button("Discard changes", () => { Object.assign(draft, drafts.fromFile(JSON.parse(original)), { from: "" }); drawAll(); }, { id: "reset" }), status),
    progress);
  drawOthers();
  const { path } = address(["path"]);
  if (path) editor.addRow(path.replaceAll(/\[\d*\]/g, "[*]"), attributes.get(path.replaceAll(/\[\d*\]/g, "[*]")) || "exact");
  else preview();
}
