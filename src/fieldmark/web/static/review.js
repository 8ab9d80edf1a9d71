// The review of a run: one field at a time, by buttons or keys. Decisions are stored beside the run.

import { lastRequest, request } from "./api.js";
import { openedParts } from "./case.js";
import { query } from "./case_links.js";
import { button, choice, data, el, isTyping, labelled, replace, section, select, setOptions } from "./dom.js";
import { capitalized, mark, pathText, plural, rate, whole } from "./labels.js";
import { address, empty, problem, remember, sentence, toast } from "./page.js";
import { effectTable, reviewTable } from "./reviews.js";
import { tableNode } from "./table.js";
import { kindOf, openedCase, textOf } from "./value_encoding.js";
import { bothValues, shown, valueNode } from "./values.js";

const page = data("page");
const { run } = page;
const STATE = ["queue", "attribute", "number", "seed", "other", "at"];
const QUEUES = [["cost", "Most costly mistakes"], ["confidence", "Lowest confidence"], ["disagreement", "Disagreement of runs"], ["random", "Random audit"]];
const SMALL_RUN = 5000;
const ACTIONS = [
  ["accept_truth", "Accept truth", "t", "The ground truth is right"],
  ["accept_candidate", "Accept prediction", "p", "The prediction is right, and the truth is wrong"],
  ["ambiguous", "Both acceptable", "b", "The field is ambiguous: both values are acceptable"],
];

const app = document.getElementById("app");
const state = address(STATE);
state.queue = state.queue || "cost";
let found = null, place = 0, busy = false, made = [];
const documents = new Map(), askQueue = lastRequest(), askEffect = lastRequest();

document.title = `Review ${page.title} · fieldmark`;
const errors = el("div"), card = el("div", { class: "panel review-card" }), context = el("div", { class: "review-context", role: "region", "aria-label": "Documents of the case", tabindex: "0" });
const status = el("p", { role: "status" }), progress = el("progress", { max: 1, "aria-label": "Reviewed fields" });
const effect = el("div"), decisions = el("div"), settings = el("div", { class: "controls" }), notes = el("div");
const correction = el("textarea", { id: "correction", rows: "2", spellcheck: "false", "aria-describedby": "correction-note" });
const correctionNote = el("p", { id: "correction-note", class: "quiet", role: "status" });
const comment = el("textarea", { id: "comment", rows: "2", maxlength: "10000" });
let asJson = false;

// --- the queue -----------------------------------------------------------------------------------

function others() {
  return state.other ? state.other.split(",") : [];
}

const attributes = select("Attribute", [], (value) => change({ attribute: value }));
function drawSettings() {
  setOptions(attributes, [["", "all"], ...(found ? found.attributes : []).map((path) => [path, path])], state.attribute);
  const number = el("input", { type: "number", min: "1", max: "1000", id: "number", value: state.number || "100", on: { change: (event) => change({ number: event.target.value }) } });
  const seed = el("input", { type: "number", min: "0", id: "seed", value: state.seed || "0", on: { change: (event) => change({ seed: event.target.value }) } });
  replace(settings,
    el("div", { class: "control" }, el("span", null, "Queue"), choice("Queue", QUEUES, state.queue, (value) => change({ queue: value }))),
    attributes, labelled("Fields", number), state.queue === "random" && labelled("Seed", seed));
  replace(notes,
    state.queue === "disagreement" && runChoice(),
    (found ? found.notes : []).map((text) => el("p", { class: "quiet" }, sentence(text))));
}

function runChoice() {
  if (!page.others.length) return el("p", { class: "notice" }, "There is no other complete run over the same cases.");
  const chosen = new Set(others());
  const boxes = page.others.map((other) => el("label", { class: "check" },
    el("input", { type: "checkbox", value: other.id, checked: chosen.has(other.id), on: { change: () => {
      if (chosen.has(other.id)) chosen.delete(other.id);
      else chosen.add(other.id);
      change({ other: [...chosen].join(",") });
    } } }), " ", el("bdi", null, shown(other.name)), !other.comparable && el("span", { class: "quiet" }, " (other rules)")));
  return el("fieldset", { class: "review-runs" }, el("legend", null, "Other runs over the same cases"), boxes);
}

function change(values) {
  Object.assign(state, values, { at: "" });
  remember(state, { push: true });
  load();
}

async function load() {
  replace(errors);
  if (state.queue === "disagreement" && !others().length) {
    found = null;
    drawSettings();
    progress.hidden = true;
    status.textContent = "";
    replace(card, empty("Choose another run", "The queue lists the fields on which the runs differ most."));
    replace(context);
    return;
  }
  progress.hidden = true;
  status.textContent = "Searching for fields…";
  const parameters = new URLSearchParams(query({ queue: state.queue, attribute: state.attribute, number: state.number, seed: state.queue === "random" ? state.seed : "" }));
  if (state.queue === "disagreement") for (const other of others()) parameters.append("other", other);
  try {
    found = await askQueue(`/api/runs/${run}/review?${parameters}`);
    made = made.map((row) => found.fields.find((each) => each.case === row.case && each.path === row.path && each.values_hash === row.values_hash)).filter(Boolean);
  } catch (error) {
    found = null;
    drawSettings();
    status.textContent = "";
    replace(card, problem(error));
    replace(context);
    return;
  }
  drawSettings();
  const first = found.fields.findIndex(({ decided }) => !decided);
  place = state.at ? Math.min(Math.max(Number(state.at) - 1 || 0, 0), Math.max(found.fields.length - 1, 0)) : Math.max(first, 0);
  show();
}

// --- one field -----------------------------------------------------------------------------------

function current() {
  return found && found.fields[place];
}

function reason(row) {
  const parts = [];
  if (row.cost !== null) parts.push(`costs ${rate(row.cost)} of the score of its case`);
  if (row.weight !== 1) parts.push(`weight ${row.weight}`);
  if (row.confidence !== undefined && row.confidence !== null) parts.push(`confidence ${rate(row.confidence, 4)}`);
  if (row.agreement !== null) parts.push(`${Math.round(row.agreement * 100)}% of the pairs of runs agree`);
  if (row.similarity !== null) parts.push(`similarity ${rate(row.similarity)}`);
  return parts.join(" · ");
}

function show({ focus = false } = {}) {
  drawProgress();
  const row = current();
  if (!row) {
    replace(card, empty("Nothing to review", state.attribute ? "Choose another attribute or another queue." : "This queue has no fields. Choose another queue."));
    replace(context);
    return;
  }
  state.at = String(place + 1);
  remember({ at: state.at });
  const { expected, candidate } = row.shown;
  const [ours, theirs] = bothValues(expected, candidate);
  const review = row.review;
  const locked = !page.writable;
  correction.disabled = comment.disabled = locked;
  correction.value = "";
  comment.value = review && review.comment ? review.comment : "";
  correctionNote.textContent = "";
  correction.removeAttribute("aria-invalid");
  asJson = ![expected, candidate].some((slot) => kindOf(slot) === "string") && ![expected, candidate].every((slot) => ["missing", "null"].includes(kindOf(slot)));
  replace(card,
    el("header", { class: "review-head" },
      el("h2", { id: "review-title", tabindex: "-1" }, pathText(row.path)),
      el("p", { class: "case-facts" }, mark(row.mark, { word: true }),
        el("span", null, "case ", el("a", { href: `/runs/${run}/cases/${row.case}${query({ path: row.path })}` }, el("bdi", { class: "literal" }, shown(row.case_id)))),
        el("span", { class: "quiet" }, reason(row)))),
    el("div", { class: "columns" },
      el("div", { class: "label-side" }, el("h3", null, "Ground truth"), ours),
      el("div", { class: "label-side" }, el("h3", null, "Prediction"), theirs)),
    row.votes.length > 0 && tableNode({
      caption: "Values of all runs", css: "review-votes", isSorted: false, rows: row.votes,
      columns: [{ key: "run", title: "Run", cell: (vote) => el("bdi", null, shown(vote.run)) }, { key: "value", title: "Value", cell: ({ value }) => valueNode(value) }],
    }),
    review && el("p", { class: "notice review-made" }, decisionText(row), " ", !locked && button(["Undo ", el("kbd", null, "U")], undo, { class: "as-link", id: "undo", "aria-keyshortcuts": "u" })),
    el("div", { class: "review-actions", role: "group", "aria-label": "Decision" },
      ACTIONS.map(([decision, text, key, hint]) => button([text, " ", el("kbd", null, key.toUpperCase())], () => decide(decision), { id: decision, disabled: locked, title: hint, "aria-keyshortcuts": key, "aria-pressed": String(Boolean(row.decided && review.decision === decision)) }))),
    el("div", { class: "columns" }, el("form", { class: "review-correction", on: { submit: (event) => { event.preventDefault(); correct(); } } },
      el("label", { for: "correction" }, "Correction ", el("kbd", null, "E")),
      choice("Type of the correction", [["text", "Text"], ["json", "JSON"]], asJson ? "json" : "text", (value) => { asJson = value === "json"; validate(); }),
      correction, correctionNote,
      el("button", { type: "submit", id: "save-correction", disabled: locked }, "Save correction")),
    el("form", { class: "review-comment-form", on: { submit: (event) => { event.preventDefault(); decide("comment"); } } },
      el("label", { for: "comment" }, "Comment, saved with the decision ", el("kbd", null, "C")), comment,
      el("button", { type: "submit", id: "save-comment", disabled: locked }, "Save comment only"))),
    el("div", { class: "review-steps" },
      button(["Previous ", el("kbd", null, "K")], () => go(place - 1), { id: "previous", disabled: place === 0, "aria-keyshortcuts": "k" }),
      button(["Next ", el("kbd", null, "J")], () => go(place + 1), { id: "next", disabled: place + 1 >= found.fields.length, "aria-keyshortcuts": "j" }),
      button(["Next undecided ", el("kbd", null, "N")], () => nextUndecided(), { id: "next-undecided", "aria-keyshortcuts": "n" })));
  if (focus) document.getElementById("review-title").focus({ preventScroll: true });
  drawContext(row);
}

function decisionText(row) {
  const { decision, by, values } = row.review;
  const words = { accept_truth: "Truth accepted", accept_candidate: "Prediction accepted", correction: "Corrected", ambiguous: "Both acceptable", comment: "Comment" };
  const texts = (values || []).map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" or ");
  const made = [`${words[decision]}`, texts && [": ", el("bdi", { class: "literal" }, shown(texts.slice(0, 300)))], ` by `, shown(by), "."];
  return row.decided || decision === "comment" ? made : [made, " The values have changed since, so the decision does not count."];
}

function drawProgress() {
  const total = found.fields.length;
  const done = found.fields.filter(({ decided }) => decided).length;
  progress.hidden = total === 0;
  progress.max = total || 1;
  progress.value = done;
  status.textContent = total ? `Field ${whole(place + 1)} of ${whole(total)}${found.total > total ? ` (${whole(found.total)} in all)` : ""} · ${whole(done)} decided${done === total ? ": all of them" : ""}` : "";
}

async function drawContext(row) {
  if (!documents.has(row.case)) {
    replace(context, el("p", { class: "quiet" }, "Loading the documents…"));
    if (documents.size > 20) documents.clear();
    documents.set(row.case, request(`/api/runs/${run}/cases/${row.case}`));
  }
  try {
    const opened = await documents.get(row.case);
    if (current() !== row) return;
    replace(context, opened.documents
      ? openedParts(openedCase(opened.documents))
      : el("p", { class: "notice" }, "This case is too large to show. results.jsonl contains the whole case."));
    showField(row);
  } catch (error) {
    documents.delete(row.case);
    if (current() === row) replace(context, problem(error));
  }
}

// Highlights the field in the documents, or the innermost part that contains it, and scrolls to it
// without moving the page.
function showField(row) {
  const extra = kindOf(row.shown.expected) === "missing";
  const nodes = /** @type {HTMLElement[]} */ ([...context.querySelectorAll("[data-path]")]);
  const inside = (path) => path !== "" && row.path.startsWith(path) && /^[.[]?$/.test(row.path.slice(path.length, path.length + 1));
  const around = nodes.filter(({ dataset }) => inside(dataset.path)).sort((one, two) => two.dataset.path.length - one.dataset.path.length
    || Number("extra" in two.dataset === extra) - Number("extra" in one.dataset === extra));
  const node = around[0];
  if (!node) return;
  for (let above = node.parentElement; above !== context; above = above.parentElement) if (above instanceof HTMLDetailsElement) above.open = true;
  node.closest(".tree")?.classList.toggle("only-mistakes", node.closest(".tree").classList.contains("only-mistakes") && node.getClientRects().length > 0);
  node.classList.add("review-field");
  node.setAttribute("aria-current", "true");
  context.scrollTop += node.getBoundingClientRect().top - context.getBoundingClientRect().top - context.clientHeight / 2;
}

function go(to) {
  if (!found || to < 0 || to >= found.fields.length) return;
  place = to;
  show({ focus: true });
}

function nextUndecided() {
  if (!found) return;
  const after = found.fields.findIndex((row, position) => position > place && !row.decided);
  const first = found.fields.findIndex((row) => !row.decided);
  if (after >= 0) go(after);
  else if (first >= 0) go(first);
  else { show({ focus: true }); loadEffect(); }
}

// --- decisions -----------------------------------------------------------------------------------

// The correction as JSON text, so that long numbers stay as they were typed.
function validate() {
  const text = correction.value;
  correction.removeAttribute("aria-invalid");
  correctionNote.textContent = "";
  if (!asJson) return JSON.stringify(text);
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    correction.setAttribute("aria-invalid", "true");
    correctionNote.textContent = text.trim() ? `Not valid JSON: ${error.message}. Choose Text for a plain text.` : "Type a JSON value; null means that the field is empty.";
    return null;
  }
}

function correct() {
  const value = validate();
  if (value === null) { correction.focus(); return; }
  if (!asJson && !correction.value.trim()) {
    correction.setAttribute("aria-invalid", "true");
    correctionNote.textContent = "Type the right value. For an empty field, choose JSON and type null.";
    correction.focus();
    return;
  }
  decide("correction", value);
}

async function decide(decision, value = null) {
  const row = current();
  if (!row || busy || !page.writable) return;
  if (decision === "comment" && !comment.value.trim()) { comment.focus(); return; }
  busy = true;
  replace(errors);
  const body = JSON.stringify({ case: row.case, path: row.path, candidate_path: row.candidate_path, values_hash: row.values_hash, decision, comment: comment.value, replaces: row.review ? row.review.id : "" });
  const text = value === null ? body : `${body.slice(0, -1)},"value":${value}}`;
  try {
    const saved = await request(`/api/runs/${run}/review`, { method: "POST", text });
    const before = row.review;
    row.review = decision === "comment" && before && before.decision !== "comment" ? { ...before, id: saved.id, comment: saved.comment } : saved;
    made = [...made.filter((each) => each !== row), row];
    row.decided = decision === "comment" ? row.decided : true;
    stale();
    if (decision === "comment") show({ focus: true });
    else nextUndecided();
  } catch (error) {
    replace(errors, problem(error));
    errors.scrollIntoView({ block: "nearest" });
  } finally {
    busy = false;
  }
}

// Withdraw the decision on this field, or the last one that was made on this page.
async function undo() {
  if (!found || busy || !page.writable) return;
  if (!current()?.review) {
    const last = found.fields.findLastIndex((each) => each === made.at(-1));
    if (last < 0) return;
    place = last;
    state.at = String(place + 1);
  }
  const row = current();
  made = made.filter((each) => each !== row);
  busy = true;
  replace(errors);
  try {
    await request(`/api/runs/${run}/review/${row.review.id}`, { method: "DELETE" });
    toast("The decision was withdrawn.");
    stale();
    busy = false;
    await load();
    document.getElementById("review-title")?.focus({ preventScroll: true });
  } catch (error) {
    replace(errors, problem(error));
  } finally {
    busy = false;
  }
}

// --- the effect ----------------------------------------------------------------------------------

let effectTimer = null;

function metricTitle(name) {
  return capitalized(page.titles[name] || name);
}

function stale() {
  clearTimeout(effectTimer);
  if (page.cases <= SMALL_RUN) effectTimer = setTimeout(loadEffect, 600);
  else replace(effect, button("Compute the metrics with the reviewed truth", loadEffect, { id: "compute-effect" }));
}

async function loadEffect() {
  clearTimeout(effectTimer);
  if (!effect.firstChild) replace(effect, el("p", { class: "quiet", role: "status" }, "Comparing the reviewed cases…"));
  try {
    const result = await askEffect(`/api/runs/${run}/review/effect`);
    const counts = Object.entries(result.decisions).filter(([, number]) => number);
    replace(effect,
      counts.length > 0 && el("p", null, counts.map(([name, number], position) => `${position ? ", " : ""}${whole(number)} ${name.replaceAll("_", " ").replace("candidate", "prediction")}`)),
      result.unapplied > 0 && el("p", { class: "notice" }, `${plural(result.unapplied, "decision")} made on other values ${result.unapplied === 1 ? "does" : "do"} not count.`),
      result.effect ? effectTable(result.effect, metricTitle) : result.note && el("p", { class: "notice" }, `The metrics with the reviewed truth are not known: ${result.note}.`),
      counts.length > 0 && el("p", { class: "bar-actions" },
        el("a", { class: "button", href: `/api/runs/${run}/review/export/truth.jsonl`, download: "" }, "Download corrected truth"),
        result.rules && el("a", { class: "button", href: `/api/runs/${run}/review/export/rules.json`, download: "" }, "Download its rules"),
        el("a", { class: "button", href: `/api/runs/${run}/review/export/labels.jsonl`, download: "" }, `Download ${plural(result.labels, "label")}`)));
    replace(decisions, result.reviews.length ? reviewTable(result.reviews) : el("p", { class: "quiet" }, "No field was reviewed yet."));
  } catch (error) {
    replace(effect, problem(error));
  }
}

// --- the page ------------------------------------------------------------------------------------

const KEYS = {
  t: () => decide("accept_truth"),
  p: () => decide("accept_candidate"),
  b: () => decide("ambiguous"),
  e: () => { if (!correction.disabled) { if (!correction.value && current()) correction.value = textOf(current().shown.expected).replace(/^null$/, ""); correction.focus(); correction.select(); } },
  c: () => comment.focus(),
  u: () => undo(),
  j: () => go(place + 1),
  k: () => go(place - 1),
  n: () => nextUndecided(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Enter" && event.target === correction) { event.preventDefault(); correct(); }
    return;
  }
  if (isTyping(event)) {
    if (event.key === "Escape") document.getElementById("review-title")?.focus();
    if (event.key === "Enter" && !event.shiftKey && event.target === correction) { event.preventDefault(); correct(); }
    return;
  }
  if (KEYS[event.key] && found) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
correction.addEventListener("input", () => { if (correction.hasAttribute("aria-invalid")) validate(); });
window.addEventListener("popstate", () => { Object.assign(state, address(STATE)); state.queue = state.queue || "cost"; load(); });

if (!page.complete) {
  replace(app, el("p", { class: "back-link" }, el("a", { href: `/runs/${run}` }, "← Back to the run")), empty("The run is not complete", "Only a complete run can be reviewed."));
} else {
  replace(app,
    el("p", { class: "back-link" }, el("a", { href: `/runs/${run}` }, "← Back to the run")),
    el("p", { class: "lead" }, "Decide who is right, field by field. Decisions are stored beside the run with your user name; the ground truth is not overwritten."),
    !page.writable && el("p", { class: "notice", id: "read-only" }, "This server is read-only: decisions cannot be saved. Restart it with ", el("code", null, "fieldmark serve --write"), "."),
    settings, notes, errors,
    el("div", { class: "review-progress" }, progress, status),
    card, context,
    section("effect", "Metrics with the reviewed truth", null, effect),
    section("decisions", "Decisions", null, decisions));
  drawSettings();
  load();
  if (page.cases <= SMALL_RUN) loadEffect();
  else replace(effect, button("Compute the metrics with the reviewed truth", loadEffect, { id: "compute-effect" }));
}
