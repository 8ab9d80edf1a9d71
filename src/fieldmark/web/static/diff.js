// The page that compares two runs, or several runs with the first.

import { analyze, analyzed, MANY } from "./analysis.js";
import { request } from "./api.js";
import { CHANGE_FILTERS, changedCaseList, changedNames, comparisonHead, comparisonParts, differingCaseList } from "./comparison.js";
import { button, el, replace, section, select, setOptions } from "./dom.js";
import { moment, nameText, plural, rate } from "./labels.js";
import { attributeRanking, leaderboardHead } from "./leaderboard.js";
import { address, debounce, empty, focusLastCase, keepInView, problem, runName, sentence } from "./page.js";
import { tableNode, valuesOf } from "./table.js";
import { shown as safe } from "./values.js";

const MAX_RUNS = 10;
const state = { ...address(["a", "force", "rescore", "order"]), ...address(CHANGE_FILTERS) };
const others = new URLSearchParams(location.search).getAll("b");
const output = el("div"), errors = el("div"), pickers = el("div", { class: "versus-pick" });

function filters() {
  return Object.fromEntries(CHANGE_FILTERS.map((name) => [name, state[name]]));
}

// The parameters of the runs, before any filters.
function runsText(values = {}) {
  const found = new URLSearchParams([["a", state.a], ...others.map((run) => ["b", run])]);
  for (const [name, value] of Object.entries(values)) if (value) found.set(name, value);
  return found.toString();
}

function store({ push = false } = {}) {
  const text = runsText({ force: state.force, rescore: state.rescore, order: state.order, ...filters() });
  history[push ? "pushState" : "replaceState"](null, "", `/diff?${text}${location.hash}`);
}

// The lists of runs, "Before" first; the last list adds a run. They stay when they are drawn again.
const lists = [];

// Choosing a run as "Before" or "After" also chooses the order. A filter may not fit another run.
function choose(runs, place, run) {
  if (!place) state.a = run;
  else if (run) others[place - 1] = run;
  else others.splice(place - 1, 1);
  Object.assign(state, { order: "", attribute: "", direction: "", slice: "", text: "", offset: "" });
  store({ push: true });
  drawPickers(runs);
  draw();
}

function drawPickers(runs) {
  const chosen = [state.a, ...others, ...(others.length < MAX_RUNS - 1 ? [""] : [])];
  const after = (place) => (place > others.length && others.length ? "Add a run" : others.length > 1 ? `After ${place}` : "After");
  chosen.forEach((value, place) => {
    const options = [["", "Select a run"], ...runs.map((run) => [run.id, `${runName(run)}, ${moment(run.started_at)}`])];
    if (value && !runs.some((run) => run.id === value)) options.push([value, value]);
    lists[place] ||= select(el("span"), [], (run) => choose(runs, place, run), { id: place ? `pick-b${place > 1 ? place : ""}` : "pick-a" });
    lists[place].querySelector("span span").textContent = place ? after(place) : "Before";
    setOptions(lists[place], options, value);
  });
  const swap = others.length === 1 && button("Swap", () => { [state.a, others[0]] = [others[0], state.a]; state.order = ""; store(); location.reload(); }, { id: "swap", "aria-label": "Swap the two runs" });
  replace(pickers, lists.slice(0, 2), swap, lists.slice(2, chosen.length));
}

// The number of comparisons that were started; the result of one that is not the last is discarded.
let comparisons = 0;

async function draw() {
  const number = ++comparisons, isLast = () => number === comparisons;
  replace(errors);
  if (!state.a || !others.length) return replace(output, empty("Select two runs", "Changes are shown from the first run to the second."));
  replace(output, el("p", { class: "quiet", role: "status" }, "Comparing…"));
  try {
    const shown = others.length > 1 ? await several() : await two(isLast);
    if (!isLast()) return null;
    replace(output, shown);
    if (location.hash) keepInView(location.hash.slice(1));
  } catch (error) {
    if (!isLast()) return null;
    replace(output, problem(error), error.status === 422 && others.length === 1 && el("p", { class: "bar-actions" },
      button("Compare anyway", () => retry({ force: "true" }), { id: "force" }),
      button("Rescore the second run with the convention of the first", () => retry({ rescore: "true" }), { id: "rescore" })));
  }
  return null;
}

function cancelled() {
  return empty("Comparison cancelled", "Nothing was computed.", button("Compare again", draw));
}

function retry(options) {
  Object.assign(state, { force: "", rescore: "" }, options);
  store({ push: true });
  draw();
}

/** @param {() => boolean} isLast */
async function two(isLast) {
  const done = await analyze({ kind: "diff", runs: [state.a, ...others], force: Boolean(state.force), rescore: Boolean(state.rescore), ...(state.order && { order: state.order }) }, output, "Comparing…");
  if (!done) return cancelled();
  const asked = runsText({ force: state.force, rescore: state.rescore, order: state.order, changes: "false" });
  const [found, tables] = await Promise.all(["/api/diff", "/api/diff/tables"].map((path) => request(`${path}?${asked}`)));
  if (!isLast()) return null;
  Object.assign(state, { a: found.before.name, order: "" });
  others[0] = found.after.name;
  store();
  for (const [id, run] of [["pick-a", state.a], ["pick-b", others[0]]]) {
    const box = /** @type {HTMLSelectElement | null} */ (document.getElementById(id));
    if (box) box.value = run;
  }
  const shown = { ...found, tables };
  const options = { force: state.force, rescore: state.rescore };
  const list = changedCaseList({
    state, attributes: changedNames(tables.attributes).sort(), slices: valuesOf(tables.slices).map(({ name }) => name).sort(),
    load: (wanted) => request(`/api/diff/cases?${runsText({ ...options, ...pick(wanted), offset: wanted.offset, limit: wanted.limit })}`),
    save: debounce(200, () => store()),
    href: ({ case_id: id }, path) => caseAddress(id, path, options),
  });
  list.ready.then(() => focusLastCase(list.node));
  const links = {
    attribute: (attribute, direction) => `/diff?${runsText({ ...options, attribute, direction })}#changed`,
    slice: (slice, direction) => `/diff?${runsText({ ...options, slice, direction })}#changed`,
  };
  window.onpopstate = () => { Object.assign(state, address(CHANGE_FILTERS)); list.show(filters()); };
  const parts = comparisonParts(shown, links, list.node).map(({ id, title, lead, node }) => section(id, title, lead, node));
  const place = parts.findIndex(({ id }) => id !== "attributes" && id !== "slices");
  const named = [["Before: ", found.before], ["After: ", found.after]].map(([word, { title, started_at: started }]) => [word, title, started]);
  return [printedRuns(named), comparisonHead(shown, links), parts.slice(0, place), weakSlices(found), parts.slice(place)];
}

// The page for printing has no controls, so it names the runs.
function printedRuns(runs) {
  return el("ul", { class: "printed-only", "aria-hidden": "true" }, runs.map(([word, title, started]) => el("li", null, word, el("strong", null, nameText(title)), started && `, ${moment(started)}`)));
}

// The slices that are weaker than the other cases in one of the runs: which are new, and which are gone.
function weakSlices({ cases }) {
  const list = analyzed(async (box) => {
    const searches = [];
    for (const [run, text] of [[state.a, "Searching the first run…"], [others[0], "Searching the second run…"]]) {
      const found = await analyze({ kind: "slices", runs: [run] }, box, text);
      if (!found) return null;
      searches.push(found);
    }
    return [weakSliceTable(searches), searches[1].tested > 0 && el("p", { class: "quiet" }, `${plural(searches[1].tested, "slice")} of ${plural(searches[1].cases, "case")} tested.`), [...new Set(searches.flatMap(({ notes }) => notes))].map((note) => el("p", { class: "quiet" }, safe(sentence(note))))];
  }, { isLarge: cases.paired > MANY, text: "Find weak slices", id: "find-slices" });
  return section("weak-slices", "Weak slices", "Groups of cases by tag, metadata or value with a significantly lower F1 than the other cases, in one of the runs or both.", list);
}

function weakSliceTable(searches) {
  const [before, after] = searches.map(({ slices }) => new Map(slices.map((each) => [each.name, each])));
  const rows = [...new Set([...after.keys(), ...before.keys()])].map((name) => ({ name, before: before.get(name), after: after.get(name) }));
  if (!rows.length) return el("p", null, searches.some(({ tested }) => tested) ? "No slice is significantly weaker than the other cases in either run." : "There are no slices to test.");
  const f1 = (weak) => (weak ? [el("span", { class: "f1" }, rate(weak.f1)), el("span", { class: "detail" }, `others ${rate(weak.others_f1)}`)] : el("span", { class: "quiet" }, "not weak"));
  const link = ({ name, before: old, after: recent }) => {
    const { slice } = recent || old;
    return el(slice.length === 1 ? "a" : "span", slice.length === 1 ? { href: `/runs/${recent ? others[0] : state.a}?${new URLSearchParams({ slice: `${slice[0].key}=${slice[0].value}` })}#cases` } : null, el("bdi", { class: "literal" }, safe(name)));
  };
  return tableNode({
    caption: "Weak slices of both runs", step: 20, rows,
    columns: [
      { key: "name", title: "Slice", cell: link },
      { key: "cases", title: "Cases", format: "count", value: (row) => (row.after || row.before).cases },
      { key: "before", title: "F1 before", format: "number", value: (row) => row.before?.f1, cell: (row) => f1(row.before) },
      { key: "after", title: "F1 after", format: "number", value: (row) => row.after?.f1, cell: (row) => f1(row.after) },
      { title: "Conclusion", cell: (row) => (!row.before ? el("span", { class: "worse" }, "new") : !row.after ? el("span", { class: "better" }, "no longer weak") : "weak in both") },
    ],
  });
}

/** @param {Record<string, any>} filters */
function pick({ attribute, direction, slice, text }) {
  return { attribute, direction, slice, text };
}

// The case page has no attribute that the list does not have.
function caseAddress(id, path, options) {
  return `/diff/case?${runsText({ ...options, ...pick(state), path })}&case=${encodeURIComponent(id)}`;
}

async function several() {
  const runs = [state.a, ...others];
  const board = await analyze({ kind: "rank", runs }, output, "Comparing…");
  if (!board) return cancelled();
  const titles = new Map(board.runs.map(({ id, name }) => [id, name]));
  const list = differingCaseList({
    state, names: runs.map((run) => titles.get(run)), attributes: board.attributes.map(({ attribute }) => attribute).sort(),
    load: ({ attribute, text, offset, limit }) => request(`/api/diff/cases?${runsText({ attribute, text, offset, limit })}`),
    save: debounce(200, () => store()),
    href: ({ case_id: id }) => caseAddress(id, "", {}),
  });
  list.ready.then(() => focusLastCase(list.node));
  return [
    printedRuns(runs.map((run) => ["", titles.get(run)])),
    el("div", { class: "board-head" }, leaderboardHead(board)),
    el("p", null, el("a", { href: `/rank?${new URLSearchParams(runs.map((run) => ["run", run]))}` }, "Ranking with intervals and pairwise tests")),
    section("attributes", "Attributes", "F1 of every run by attribute, the largest difference first. The highest F1 is bold; differences are not tested.",
      attributeRanking(board, (attribute) => `/diff?${runsText({ attribute })}#changed`, runs)),
    section("changed", "Cases", "Cases in which the runs differ, the largest difference of scores first. Open a case to see the ground truth and all predictions.", list.node)];
}

replace(document.getElementById("app"), pickers, errors, output);
window.addEventListener("popstate", () => {
  const found = new URLSearchParams(location.search);
  if (found.get("a") !== state.a || found.getAll("b").join() !== others.join()) location.reload();
});
try {
  const { runs } = await request("/api/runs?status=complete&limit=500");
  drawPickers(runs.filter((run) => run.valid_id));
} catch (error) {
  replace(errors, problem(error));
}
draw();
