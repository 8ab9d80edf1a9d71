// Two documents, compared while they are typed.

import { ask } from "./api.js";
import * as drafts from "./draft.js";
import { entry, readText } from "./entry.js";
import { button, data, el, replace, select, whole } from "./report.js";
import { results } from "./results.js";
import { address, empty, later, problem, remember, stored, toast } from "./shell.js";

const { strategies, conventions } = data("page");
const draft = drafts.load(strategies);
const EXAMPLE = {
  expected: { name: "John Smith", email: "john@example.com", bio: "Senior engineer with 10 years of experience...", internal_id: null, status: "active" },
  candidate: { name: "John Smyth", email: "john@example.com", bio: "Experienced senior engineer, 10+ years...", internal_id: "abc123", extra_field: "surprise" },
};

const state = { ...address(["convention", "tab"]), candidates: [""], expected: "", shown: 0 };
const kept = fromLink() || JSON.parse(stored("fieldmark-documents") || "null");
if (kept && typeof kept.expected === "string" && Array.isArray(kept.candidates)) Object.assign(state, { expected: kept.expected, candidates: kept.candidates.length ? kept.candidates : [""] });
if (conventions.includes(state.convention)) draft.convention = state.convention;

const answer = el("section", { class: "answer", "aria-label": "Result", "aria-live": "off" });
const status = el("p", { class: "live quiet", role: "status" });
const places = el("div", { class: "entries" });
let running = null;

function fromLink() {
  const found = /^#d=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  try {
    const bytes = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.codePointAt(0));
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
  replace(places,
    entry({ id: "expected", label: "Expected", hint: "the verified document", text: state.expected, change: (text) => { state.expected = text; changed(); } }),
    el("div", { class: "candidates" }, state.candidates.map((text, place) => entry({
      id: place ? `candidate-${place + 1}` : "candidate",
      label: several ? `Candidate ${place + 1}` : "Candidate", hint: "what was extracted", text,
      change: (fresh) => { state.candidates[place] = fresh; changed(); },
      remove: several ? () => removeCandidate(place) : null,
    }))));
}

function removeCandidate(place) {
  const before = [...state.candidates];
  state.candidates.splice(place, 1);
  drawEntries();
  changed();
  toast(`Candidate ${place + 1} removed.`, { undo: () => { state.candidates = before; drawEntries(); changed(); } });
}

function put(expected, candidates, said) {
  const before = { expected: state.expected, candidates: [...state.candidates] };
  Object.assign(state, { expected, candidates, shown: 0 });
  drawEntries();
  changed();
  if (said && (before.expected || before.candidates.some(Boolean))) toast(said, { undo: () => { Object.assign(state, before); drawEntries(); changed(); } });
}

function controls() {
  const chosen = select("Convention", conventions.map((name) => [name, name.replaceAll("_", " ")]), (value) => {
    draft.convention = value;
    remember({ convention: value });
    evaluate();
  });
  chosen.querySelector("select").value = draft.convention;
  chosen.querySelector("select").id = "convention";
  return el("div", { class: "controls" }, chosen,
    button("Add a candidate", () => { state.candidates.push(""); drawEntries(); document.getElementById(`candidate-${state.candidates.length}`).focus(); }, { id: "add-candidate" }),
    button("Example", () => put(JSON.stringify(EXAMPLE.expected, null, 2), [JSON.stringify(EXAMPLE.candidate, null, 2)], "The example took the place of your documents."), { id: "example" }),
    button("Clear", () => put("", [""], "Both documents are cleared."), { id: "clear" }),
    button("Copy link", copyLink, { id: "copy-link" }),
    el("p", { class: "rules-line quiet" }, rulesLine(), " ", el("a", { href: "/rules" }, "Change the rules")),
    status);
}

function rulesLine() {
  const chips = drafts.counts(draft).map(([word, number]) => `${whole(number)} ${word}`).join(", ");
  return chips ? `Rules: ${chips}.` : "No field has a rule of its own: the convention decides.";
}

async function copyLink() {
  const text = link();
  if (text.length > 30_000) return toast("The documents are too long for a link.");
  try {
    await navigator.clipboard.writeText(text);
    toast("The link holds both documents; it works in this browser while the server runs.");
  } catch {
    history.replaceState(null, "", text);
    toast("The address of this page now holds both documents.");
  }
  return null;
}

const evaluate = later(250, async () => {
  const sides = [["Expected", state.expected], ...state.candidates.map((text, place) => [state.candidates.length > 1 ? `Candidate ${place + 1}` : "Candidate", text])];
  if (sides.some(([, text]) => !text.trim())) {
    status.textContent = "";
    return replace(answer, empty("Nothing to compare yet", "Paste or drop the verified document and the extracted one. Results appear as you type."));
  }
  const read = sides.map(([name, text]) => [name, readText(text)]);
  const broken = read.find(([, found]) => found.error);
  if (broken) {
    status.textContent = `${broken[0]}: ${broken[1].error}`;
    return answer.classList.add("stale");
  }
  if (running) running.abort();
  running = new AbortController();
  status.textContent = "Comparing …";
  const begun = performance.now();
  try {
    const found = await ask("/api/evaluate", { method: "POST", text: body(read.map(([, each]) => each.json)), signal: running.signal });
    status.textContent = `Compared in ${Math.round(performance.now() - begun)} ms.`;
    answer.classList.remove("stale");
    replace(answer, found.warnings.map((text) => el("p", { class: "notice" }, text)), results(found, state, { changeTab, changeShown: () => evaluate() }));
  } catch (error) {
    if (error.name === "AbortError") return null;
    status.textContent = "";
    answer.classList.remove("stale");
    replace(answer, problem(error), /rules/.test(error.code) && el("p", null, el("a", { href: "/rules" }, "Mend the rules")));
  }
  return null;
});

function changeTab(tab) {
  state.tab = tab;
  remember({ tab: tab === "documents" ? "" : tab });
}

// The texts go as they were written: a number that a script cannot hold stays what it is.
function body([expected, ...candidates]) {
  const rest = JSON.stringify({ ...drafts.requestOf(draft), view: true }).slice(1);
  const side = candidates.length > 1 ? `"candidates":[${candidates.join(",")}]` : `"candidate":${candidates[0]}`;
  return `{"expected":${expected},${side},${rest}`;
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") evaluate();
});

drawEntries();
replace(document.getElementById("app"), el("p", { class: "lead" }, "Compare what was extracted with what a person verified, field by field."), controls(), places, answer);
evaluate();
