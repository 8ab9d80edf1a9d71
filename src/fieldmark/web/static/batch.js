// The batch page: two data sets, and the progress of jobs.

import { isFinished } from "./analysis.js";
import { request } from "./api.js";
import { query, warningLine } from "./case_links.js";
import { ask } from "./dialogs.js";
import { button, choice, data, el, labelled, replace, section, select } from "./dom.js";
import { bytes, moment, plural, rate, whole } from "./labels.js";
import { FAILURE_TEXTS, leftOutText } from "./overview.js";
import { empty, problem, sentence } from "./page.js";
import * as drafts from "./rules_draft.js";
import { shown } from "./values.js";

const page = data("page");
const draft = await drafts.openRules(page);
const sides = { truth: null, candidate: null };
const jobs = el("div", { class: "jobs" });
const errors = el("div");
const jobNodes = new Map();
let eventSource = null;
const start = button("Compare", startBatch, { class: "primary", id: "start", disabled: true });
const title = el("input", { type: "text", id: "batch-title", maxlength: "200", placeholder: "optional", autocomplete: "off" });
const keys = Object.fromEntries([["id_key", "id"], ["expected_key", "expected"], ["candidate_key", "candidate"], ["group_by", "none"], ["sheet", "the first"]].map(([name, fallback]) =>
  [name, el("input", { type: "text", id: name, placeholder: fallback, maxlength: "200", autocomplete: "off", spellcheck: "false" })]));
const by = el("input", { type: "text", id: "by", placeholder: "tag, metadata.KEY or path", maxlength: "1000", autocomplete: "off", spellcheck: "false" });
const choices = { preset: "", candidate_json: "only" };
let pages = "";
const repair = el("input", { type: "checkbox", id: "repair" });
const models = drafts.modelSelects(page.strategies, draft);
const ruleSets = drafts.ruleSetSelect(draft, page.strategies, drawRules, (error) => replace(errors, problem(error)), page);
const scoring = drafts.scoringSelects(draft, drawRules);
const rulesLine = el("p", { class: "form-note rules-line" });
const values = el("input", { type: "checkbox", checked: true, id: "save-values" });

function source(name, heading, hint) {
  const chosen = el("p", { class: "chosen", role: "status" });
  const picker = el("div");
  const file = el("input", { type: "file", id: `${name}-file`, multiple: true, accept: ".json,.jsonl,.ndjson,.csv,.tsv,.yaml,.yml", "aria-label": `${heading} files`, on: { change: () => upload([...file.files]) } });
  const folder = el("input", { type: "file", id: `${name}-folder`, webkitdirectory: true, "aria-label": `${heading} folder`, on: { change: () => upload([...folder.files]) } });
  const uploads = [el("label", { class: "control" }, el("span", null, "File or files"), file), el("label", { class: "control" }, el("span", null, "Or a folder"), folder),
    el("p", { class: "quiet", id: `${name}-limits` }, `One file with all cases, or one file per case, named ID.json with the same ids on both sides. At most ${bytes(page.body_bytes * 0.45)} and ${whole(page.max_files)} files for each side.`)];
  const box = el("div", { class: "source", id: `source-${name}` }, el("h3", null, heading), el("p", { class: "quiet" }, hint),
    page.roots.length > 0 && choice(`Source of ${heading.toLowerCase()}`, [["file", "Upload"], ["path", "Path on the server"]], "file", (value) => (value === "file" ? replace(picker, uploads) : browse(""))),
    picker, chosen);
  replace(picker, uploads);
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => { event.preventDefault(); box.classList.remove("over"); dropped(event.dataTransfer).then(upload, refuse); });

  async function upload(selected) {
    // Hidden files, such as those that systems add to folders, are not documents.
    const files = selected.filter((each) => !each.name.startsWith("."));
    if (!files.length) return selected.length ? refuse(new Error("The folder contains no files.")) : null;
    const size = files.reduce((all, each) => all + each.size, 0), limit = page.body_bytes * 0.45;
    const larger = page.roots.length ? "Select them as a path on the server." : "Larger data can be read only from a root of the server.";
    const directory = files[0].webkitRelativePath?.split("/")[0] || files[0].directory || "";
    const what = files.length === 1 ? files[0].name : plural(files.length, "file");
    if (files.length > page.max_files) return refuse(new Error(`${whole(files.length)} files are too many to upload (limit ${whole(page.max_files)}). ${larger}`));
    if (size > limit) return refuse(new Error(`${what} ${files.length === 1 ? "is" : "are"} too large to upload (${bytes(size)}, limit ${bytes(limit)}). ${larger}`));
    const other = files.length > 1 && files.find((each) => !each.name.endsWith(".json"));
    if (other) return refuse(new Error(`${other.name} is not a .json file. Several files must be named ID.json, with one document each.`));
    replace(errors);
    try {
      if (files.length === 1) set({ text: await files[0].text(), name: files[0].name }, `${files[0].name}, ${bytes(size)}`);
      else set({ files: await Promise.all(files.map(async (each) => ({ name: each.name, text: await each.text() }))), ...(directory && { name: directory }) }, `${directory ? `${directory}, ` : ""}${what}, ${bytes(size)}`);
    } catch {
      refuse(new Error(`${what} could not be read. Select ${files.length === 1 ? "it" : "them"} again.`));
    }
    return null;
  }
  function refuse(error) {
    replace(errors, problem(error));
    return null;
  }
  async function browse(path) {
    try {
      const { entries } = await request(`/api/files?path=${encodeURIComponent(path)}`);
      const parent = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
      replace(picker, el("p", { class: "quiet" }, path || "Roots"), el("ul", { class: "browser", "aria-label": `Files for ${heading.toLowerCase()}` },
        path && el("li", null, button("↑ Parent directory", () => browse(parent))),
        path && el("li", null, button("Select this directory", () => set({ path }, path))),
        entries.map(({ name: entry, directory: isDirectory, bytes: size }) => {
          const entryPath = path ? `${path}/${entry}` : entry;
          return el("li", null, button([el("span", null, isDirectory ? "▸ " : "", shown(entry)), el("span", { class: "quiet" }, isDirectory ? "" : bytes(size))], () => (isDirectory ? browse(entryPath) : set({ path: entryPath }, entryPath))));
        })));
    } catch (error) {
      replace(errors, problem(error));
    }
  }
  function set(value, text) {
    sides[name] = value;
    replace(chosen, el("strong", null, shown(text)), " ", button("Remove", () => { sides[name] = null; file.value = ""; folder.value = ""; replace(chosen); updateStart(); }, { class: "as-link", "aria-label": `Remove ${heading.toLowerCase()} file` }));
    updateStart();
  }
  return box;
}

// The files of a drop, also of one folder.
async function dropped(transfer) {
  const entry = transfer.items.length === 1 && transfer.items[0].webkitGetAsEntry?.();
  if (!entry || !entry.isDirectory) return [...transfer.files];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    found.push(...some.filter((each) => each.isFile));
  }
  const files = await Promise.all(found.map((each) => new Promise((resolve, reject) => each.file(resolve, reject))));
  return files.map((each) => Object.assign(each, { directory: entry.name }));
}

function picker(label, name, options) {
  return select(label, options, (value) => { choices[name] = value; }, { id: name });
}

// Page images that are shown beside the fields of a case.
function pagesSelect() {
  return select("Page images in", [["", "none"], ...page.page_roots.map((name) => [name, name])], (value) => { pages = value; }, { id: "pages" });
}

function updateStart() {
  start.disabled = !sides.truth;
}

async function startBatch() {
  replace(errors);
  const written = Object.entries(keys).map(([name, input]) => [name, input.value.trim()]);
  const inputs = Object.fromEntries([...written, ...Object.entries(choices), ["repair", repair.checked]].filter(([, value]) => value));
  start.disabled = true;
  try {
    const job = await request("/api/batch", { method: "POST", body: {
      truth: sides.truth, ...(sides.candidate ? { candidate: sides.candidate } : {}), rules: { ...drafts.fileOf(draft), ...models.chosen() },
      inputs, values: values.checked, pages, title: title.value.trim(), by: by.value.split(",").map((key) => key.trim()).filter(Boolean),
    } });
    showJob(job);
    listen();
  } catch (error) {
    replace(errors, problem(error));
  }
  updateStart();
}

function showJob(job) {
  if (!jobNodes.has(job.id)) {
    const box = el("article", { class: "job", "data-job": job.id });
    if (!jobNodes.size) replace(jobs);
    jobNodes.set(job.id, box);
    jobs.prepend(box);
  }
  drawJob(job);
}

// Only the oldest unfinished job, which is the one that runs, has an event stream: browsers limit the
// connections to a server, and the other requests of all pages need them.
function listen() {
  const next = eventSource ? null : [...jobNodes].find(([, box]) => !isFinished(box.dataset));
  if (!next) return;
  eventSource = new EventSource(`/api/jobs/${next[0]}/events`);
  eventSource.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    drawJob(job);
    if (isFinished(job)) stopListening(0);
  });
  eventSource.addEventListener("error", () => {
    if (eventSource.readyState === EventSource.CLOSED) stopListening(2000);
  });
}

function stopListening(wait) {
  eventSource.close();
  eventSource = null;
  setTimeout(refresh, wait);
}

async function refresh() {
  try {
    const found = await request("/api/jobs");
    found.jobs.reverse().forEach(showJob);
    listen();
  } catch (error) {
    replace(errors, problem(error));
  }
}

// The box is rebuilt only when the state changes, so that a button does not disappear during a click.
function drawJob(job) {
  const box = jobNodes.get(job.id);
  if (box.dataset.state !== job.state) {
    box.dataset.state = job.state;
    replace(box,
      el("div", null, el("p", { class: "job-title" }, shown(job.title)), el("p", { class: "quiet job-status", role: "status" })),
      el("div", { class: "job-actions" }, actions(job)),
      el("div", { class: "wide" }, warningLine(job.result?.summary?.warnings || [])),
      !isFinished(job) && el("progress", { "aria-label": "Progress", max: 1 }),
      job.error && el("div", { class: "wide" }, problem({ message: job.error.message, problems: job.error.problems || [] })));
  }
  box.querySelector(".job-status").textContent = statusText(job);
  const bar = box.querySelector("progress");
  if (bar && job.bytes_total) bar.value = job.bytes_read / job.bytes_total;
}

function statusText({ state, cases, bytes_read: read, bytes_total: all, result, created_at: createdAt }) {
  if (state === "waiting") return "Waiting for other jobs to finish.";
  if (state === "running") return `${plural(cases, "case")} compared${all ? `, ${Math.floor(100 * read / all)}%` : ""}.`;
  if (state === "cancelled") return result ? `Cancelled after ${plural(cases, "case")}, which ${cases === 1 ? "is" : "are"} kept in an interrupted run.${result.saved ? "" : " Temporary: deleted when the server stops."}` : "Cancelled. Nothing was kept.";
  if (state === "failed") return "Failed.";
  const { summary, headline, passed, saved, notes } = result;
  const metrics = headline.map(({ label, value, most, note, digits }) => `${label} ${rate(value, digits)}${most ? ` of ${Number(most.toFixed(4))}` : ""}${note ? ` (${note})` : ""}`);
  const left = leftOutText(summary.cases);
  const mean = summary.convention.options.primary === "rqs" && !Object.keys(summary.evaluators).length ? " With this convention, the score of a case is its response quality score (RQS), and the mean score is the mean of these." : "";
  const gates = passed ? (summary.gates.length ? " All gates passed." : "") : ` Failed: ${summary.failures.map((failure) => FAILURE_TEXTS[failure].replace(/^./, (first) => first.toLowerCase())).join("; ")}.`;
  return `${plural(summary.cases.total, "case")}: ${metrics.join(", ")}. Convention ${summary.convention.name}.${mean}${left && ` ${sentence(left)}`}${gates}${saved ? "" : " Temporary: deleted when the server stops."} ${notes.map((note) => `${sentence(note)} `).join("")}${moment(createdAt)}`;
}

function actions(job) {
  if (job.result) return el("a", { class: "button", href: `/runs/${job.result.run}` }, job.state === "done" ? "Open run" : "Open compared cases");
  return !isFinished(job) && button("Cancel", async () => {
    if (!await ask("Cancel this job?", `“${job.title}” will be stopped. The cases compared so far are kept in an interrupted run without metrics; of a run that is rescored, nothing is kept.`, "Cancel job", { cancel: "Keep running" })) return;
    try {
      drawJob(await request(`/api/jobs/${job.id}`, { method: "DELETE" }));
    } catch (error) {
      replace(errors, problem(error));
    }
  }, { "aria-label": `Cancel ${job.title}` });
}

// What is in the rules; another rule set replaces the rules of this page.
function drawRules() {
  scoring.draw();
  models.draw();
  replace(rulesLine, drafts.rulesText(draft, page.strategies), " ", el("a", { href: `/rules${query({ rules: page.strategies.name })}` }, "Edit rules"));
}
drawRules();
replace(document.getElementById("app"),
  el("p", { class: "lead" }, `Compare two data sets: files in JSONL, JSON, CSV or YAML format${page.roots.length ? ", or on the server also in XLSX or Parquet format," : ""} with one row per case, or one JSON file per case. Rows are paired by id, or by position if they have no ids.`),
  !page.write && el("p", { class: "notice" }, "The server is read-only. Runs are temporary and are deleted when the server stops."),
  errors,
  el("div", { class: "sources" }, source("truth", "Ground truth", "The correct documents. Rows can also contain both sides."), source("candidate", "Predictions", "The extracted documents.")),
  el("div", { class: "panel batch-options" }, el("div", { class: "form-grid" },
    ruleSets.node, scoring.nodes, models.nodes, labelled("Name of the run", title), labelled("Id key", keys.id_key), labelled("Ground truth key", keys.expected_key), labelled("Prediction key", keys.candidate_key),
    picker("Export of another tool", "preset", [["", "no"], ...page.presets.map((name) => [name, name])]),
    picker("JSON in model output", "candidate_json", [["only", "the only one"], ["last", "the last"]]),
    labelled("Group rows by", keys.group_by), labelled("Sheet of workbooks", keys.sheet), labelled("Slices by", by), page.page_roots.length > 0 && pagesSelect()),
  el("p", { class: "form-note" }, el("label", null, repair, " Repair model output that is almost JSON; such predictions are counted")),
  el("p", { class: "form-note" }, el("label", null, values, " Save both documents in the run so that cases can be opened")),
  rulesLine),
  el("div", { class: "save-bar" }, start),
  section("jobs", "Jobs", null, jobs));
replace(jobs, empty("No jobs yet", "Jobs that you start appear here with their progress."));
refresh();
