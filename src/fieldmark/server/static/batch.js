// Two data sets, and how far their comparison is.

import { ask } from "./api.js";
import * as drafts from "./draft.js";
import { button, bytes, choice, data, el, labelled, leftOutText, moment, plural, rate, replace, section, shown, whole } from "./report.js";
import { empty, problem, toast } from "./shell.js";

const page = data("page");
const draft = drafts.load(page.strategies);
const sides = { truth: null, candidate: null };
const jobs = el("div", { class: "jobs" });
const trouble = el("div");
const known = new Map();
let listening = null;
const start = button("Compare", begin, { class: "primary", id: "start", disabled: true });
const title = el("input", { type: "text", id: "batch-title", maxlength: "200", placeholder: "what this run is about", autocomplete: "off" });
const keys = Object.fromEntries([["id_key", "id"], ["expected_key", "expected"], ["candidate_key", "candidate"]].map(([name, usual]) =>
  [name, el("input", { type: "text", placeholder: usual, autocomplete: "off", spellcheck: "false" })]));
const values = el("input", { type: "checkbox", checked: true, id: "keep-values" });

function source(name, heading, hint) {
  const chosen = el("p", { class: "chosen", role: "status" }, el("span", { class: "quiet" }, "Nothing chosen."));
  const place = el("div");
  const file = el("input", { type: "file", id: `${name}-file`, accept: ".json,.jsonl,.ndjson,.csv,.tsv", "aria-label": `${heading}: a file`, on: { change: () => take(file.files[0]) } });
  const box = el("div", { class: "source", id: `source-${name}` }, el("h3", null, heading), el("p", { class: "quiet" }, hint),
    page.roots.length > 0 && choice(`Where ${heading} comes from`, [["file", "A file of yours"], ["path", "A path on the server"]], "file", (value) => (value === "file" ? replace(place, file) : browse(""))),
    place, chosen);
  replace(place, file);
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => { event.preventDefault(); box.classList.remove("over"); take(event.dataTransfer.files[0]); });

  async function take(given) {
    if (!given) return;
    if (given.size > page.body_bytes * 0.45) return toast(`${given.name} is ${bytes(given.size)}: start the server with --root and choose it by its path.`);
    set({ text: await given.text(), name: given.name }, `${given.name}, ${bytes(given.size)}`);
    return null;
  }
  async function browse(path) {
    try {
      const found = await ask(`/api/files?path=${encodeURIComponent(path)}`);
      const above = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
      replace(place, el("p", { class: "quiet" }, path || "Roots"), el("ul", { class: "browser", "aria-label": `Files for ${heading}` },
        path && el("li", null, button("↑ up", () => browse(above))),
        path && el("li", null, button("this folder", () => set({ path }, path))),
        found.entries.map(({ name: entry, folder, bytes: size }) => {
          const whole_ = path ? `${path}/${entry}` : entry;
          return el("li", null, button([el("span", null, folder ? "▸ " : "", shown(entry)), el("span", { class: "quiet" }, folder ? "" : bytes(size))], () => (folder ? browse(whole_) : set({ path: whole_ }, whole_))));
        })));
    } catch (error) {
      replace(trouble, problem(error));
    }
  }
  function set(value, text) {
    sides[name] = value;
    replace(chosen, el("strong", null, shown(text)), " ", button("Remove", () => { sides[name] = null; file.value = ""; replace(chosen, el("span", { class: "quiet" }, "Nothing chosen.")); ready(); }, { class: "as-link" }));
    ready();
  }
  return box;
}

function ready() {
  start.disabled = !sides.truth;
}

async function begin() {
  replace(trouble);
  const inputs = Object.fromEntries(Object.entries(keys).map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value));
  start.disabled = true;
  try {
    const job = await ask("/api/batch", { method: "POST", body: {
      truth: sides.truth, ...(sides.candidate ? { candidate: sides.candidate } : {}), ...drafts.requestOf(draft),
      inputs, gates: drafts.gatesOf(draft), values: values.checked, title: title.value.trim(),
    } });
    follow(job);
    listen();
  } catch (error) {
    replace(trouble, problem(error));
  }
  ready();
}

function follow(job) {
  if (!known.has(job.id)) {
    const box = el("article", { class: "job", "data-job": job.id });
    if (!known.size) replace(jobs);
    known.set(job.id, box);
    jobs.prepend(box);
  }
  drawJob(job);
}

// One job is listened to at a time, the oldest that is not over: it is the one at work, and a browser
// has only a few connections to a server, which the other requests of all its pages need.
function listen() {
  const next = listening ? null : [...known].find(([, box]) => !isOver(box.dataset));
  if (!next) return;
  listening = new EventSource(`/api/jobs/${next[0]}/events`);
  listening.addEventListener("job", (event) => {
    const found = JSON.parse(event.data);
    drawJob(found);
    if (isOver(found)) hushed(0);
  });
  listening.addEventListener("error", () => {
    if (listening.readyState === EventSource.CLOSED) hushed(2000);
  });
}

function hushed(wait) {
  listening.close();
  listening = null;
  setTimeout(refresh, wait);
}

async function refresh() {
  try {
    const found = await ask("/api/jobs");
    found.jobs.reverse().forEach(follow);
    listen();
  } catch (error) {
    replace(trouble, problem(error));
  }
}

function isOver({ state }) {
  return ["done", "cancelled", "failed"].includes(state);
}

// The box is made anew only with a new state: a button must not go away under the hand that presses it.
function drawJob(job) {
  const box = known.get(job.id);
  if (box.dataset.state !== job.state) {
    box.dataset.state = job.state;
    replace(box,
      el("div", null, el("p", { class: "job-title" }, shown(job.title)), el("p", { class: "quiet job-said", role: "status" })),
      el("div", { class: "job-actions" }, actions(job)),
      !isOver(job) && el("progress", { "aria-label": "Progress", max: 1 }),
      job.error && el("div", { class: "wide" }, problem({ message: job.error.message, problems: job.error.problems || [] })));
  }
  box.querySelector(".job-said").textContent = said(job);
  const bar = box.querySelector("progress");
  if (bar && job.bytes_total) bar.value = job.bytes_read / job.bytes_total;
}

function said({ state, cases, result, made }) {
  if (state === "waiting") return "Waiting for its turn.";
  if (state === "running") return `${plural(cases, "case")} done.`;
  if (state === "cancelled") return `Cancelled after ${plural(cases, "case")}.`;
  if (state === "failed") return "Failed.";
  const { summary, passed, kept, notes } = result;
  const left = leftOutText(summary.cases);
  const gates = summary.gates.length ? ` ${passed ? "Every gate is met." : "A gate is not met."}` : "";
  return `${plural(summary.cases.total, "case")}, mean score ${rate(summary.mean_score)}, RQS ${rate(summary.quality.rqs)}.${left && ` ${left}`}${gates}${kept ? "" : " Kept until the server ends."} ${notes.map((note) => `${note}. `).join("")}${moment(made)}`;
}

function actions(job) {
  if (job.state === "done") return el("a", { class: "button", href: `/runs/${job.result.run}` }, "Open the run");
  return !isOver(job) && button("Cancel", async () => {
    try {
      drawJob(await ask(`/api/jobs/${job.id}`, { method: "DELETE" }));
    } catch (error) {
      replace(trouble, problem(error));
    }
  }, { "aria-label": `Cancel ${job.title}` });
}

const ruled = drafts.counts(draft).map(([word, number]) => `${whole(number)} ${word}`).join(", ");
replace(document.getElementById("app"),
  el("p", { class: "lead" }, "Compare two data sets: JSONL, JSON or CSV, one row a case. Rows pair by id, or by position when there are none."),
  !page.write && el("p", { class: "notice" }, "This server only reads: runs made here last until it ends. Start it with --write to keep them."),
  trouble,
  el("div", { class: "sources" }, source("truth", "Truth", "What people verified. Its rows may hold both sides."), source("candidate", "Candidate", "What was extracted.")),
  el("div", { class: "panel batch-options" }, el("div", { class: "form-grid" },
    labelled("Title", title), labelled("Key of the id", keys.id_key), labelled("Key of the expected document", keys.expected_key), labelled("Key of the candidate document", keys.candidate_key)),
  el("p", { class: "form-note" }, el("label", null, values, " Keep both documents in the run, so that cases can be opened")),
  el("p", { class: "form-note" }, `Convention ${draft.convention.replaceAll("_", " ")}; ${ruled || "no field has a rule of its own"}; ${plural(draft.gates.length, "gate")}. `, el("a", { href: "/rules" }, "Change the rules"))),
  el("div", { class: "save-bar" }, start),
  section("jobs", "Jobs", null, jobs));
replace(jobs, empty("No jobs yet", "What you start here shows its progress, and can be stopped."));
refresh();
