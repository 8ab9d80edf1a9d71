// The page of one run: metrics, what is wrong, and paginated cases. Recommendations and weak slices
// of a large run are loaded on request.

import { analyze, analyzed, MANY } from "./analysis.js";
import { request } from "./api.js";
import { attributeSection, sliceSection } from "./attributes.js";
import { casesHref, query, warningLine } from "./case_links.js";
import { caseList } from "./case_list.js";
import { confidenceSection } from "./confidence.js";
import { detectionSection } from "./detection.js";
import { ask, editable, menu } from "./dialogs.js";
import { repeatedErrors, strongestFinding } from "./document_tree.js";
import { button, data, el, replace, section } from "./dom.js";
import { moment, nameText, plural, rate, whole } from "./labels.js";
import { evaluatorTable } from "./method.js";
import { qualitySection } from "./metric_tabs.js";
import { adviceList, domains, errorTypes, heatSection, tileGrid, verdictPanel, worstFields } from "./overview.js";
import { downloadFrom, empty, keepInView, problem, sentence, toast } from "./page.js";
import { scatterPanel, scorePanel } from "./score_charts.js";
import { trendChart } from "./trend.js";
import { valueTableSection } from "./value_tables.js";
import { shown } from "./values.js";

const page = data("page");
const { run } = page;
document.title = `${page.title} · fieldmark`;
const EXPORTS = [["html", "HTML report, one file"], ["xlsx", "XLSX workbook"], ["csv-cases", "CSV of cases"], ["csv", "CSV of attributes"], ["csv-outcomes", "CSV of fields"], ["parquet", "Parquet of fields"], ["sqlite", "SQLite database"], ["json", "JSON"], ["eval-results", "eval-results JSON"], ["markdown", "Markdown"], ["markdown-short", "Markdown, short"], ["junit", "JUnit XML"]];
const archivedNote = el("span", { class: "quiet" });
const errors = el("div"), tags = el("span", { class: "chips" });
const isWritable = page.write || !run.saved;

function head() {
  return el("header", { class: "run-head" },
    el("p", null, el("a", { href: "/runs" }, "← All runs")),
    editable({ label: "name", text: run.name, writable: isWritable, failed: (error) => replace(errors, problem(error)),
      shownText: (text) => el("h2", { class: "run-title" }, el("bdi", null, shown(text || page.title))),
      save: async (name) => (await change({ name })).name }),
    el("p", { class: "case-facts" }, el("span", { class: "run-id" }, run.id), el("span", { class: `status status-${run.status}` }, run.status), !run.saved && el("span", { class: "quiet" }, "temporary: deleted when the server stops"),
      el("span", { class: "quiet" }, `${moment(page.date)} · convention ${page.convention}`), parentLink(), archivedNote, tags),
    editable({ label: "note", text: run.note, multiline: true, writable: isWritable, failed: (error) => replace(errors, problem(error)),
      shownText: (text) => text && el("span", { class: "run-note" }, el("bdi", null, shown(text))),
      save: async (note) => (await change({ note })).note }),
    warningLine(page.warnings));
}

// A rescored run names the run that it was computed from, which may have been deleted.
function parentLink() {
  const { run: parent } = run.manifest.rescored_from || {};
  return parent && el("span", { class: "quiet", id: "rescored-from" }, "rescored from ", page.parent_title ? el("a", { href: `/runs/${parent}`, title: parent }, nameText(page.parent_title)) : [shown(parent), " (deleted)"]);
}

function drawTags() {
  archivedNote.textContent = run.archived ? "archived" : "";
  replace(tags, run.tags.map((tag) => el("span", { class: "tag" }, shown(tag), " ", isWritable && button("×", () => tryChange({ remove: [tag] }, `Tag ${tag} removed.`, { add: [tag] }), { class: "as-link", "aria-label": `Remove tag ${tag}` }))));
}

async function change(body) {
  Object.assign(run, await request(`/api/runs/${run.id}/notes`, { method: "PUT", body }));
  replace(errors);
  drawTags();
  return run;
}

async function tryChange(body, notice = "", undoBody = null) {
  try {
    await change(body);
    if (notice) toast(notice, undoBody ? { undo: () => tryChange(undoBody) } : {});
  } catch (error) {
    replace(errors, problem(error));
  }
}

async function remove() {
  if (!await ask("Delete this run?", `“${page.title}” and all its results will be deleted from disk. This cannot be undone.`, "Delete run")) return;
  try {
    await request(`/api/runs/${run.id}`, { method: "DELETE" });
    location.href = `/runs?deleted=${encodeURIComponent(page.title)}`;
  } catch (error) {
    replace(errors, problem(error));
  }
}

function toggleArchive() {
  const archived = !run.archived;
  tryChange({ archived }, archived ? "Run archived. Lists and trends omit it." : "Run restored.", { archived: !archived });
}

// A download is fetched first, so that a refusal is shown instead of saved as a file.
async function saveExport(kind, label) {
  replace(errors, el("p", { class: "quiet", role: "status" }, `Preparing ${label}…`));
  try {
    await downloadFrom(`/api/runs/${run.id}/exports/${kind}`);
    replace(errors);
  } catch (error) {
    replace(errors, problem(error));
  }
}

function actions() {
  const tag = el("input", { type: "text", "aria-label": "New tag", placeholder: "tag", maxlength: "100", id: "new-tag" });
  return el("div", { class: "bar-actions" },
    page.tiles && menu("Download", EXPORTS.map(([kind, label]) => button(label, () => saveExport(kind, label), { "data-export": kind })), { id: "downloads" }),
    el("a", { class: "button", href: `/diff?b=${run.id}` }, "Compare with another run"),
    page.tiles && el("a", { class: "button", id: "edit-rules", href: `/runs/${run.id}/rules` }, "Edit rules"),
    page.tiles && el("a", { class: "button", href: `/runs/${run.id}/review` }, "Review"),
    page.tiles && el("a", { class: "button", href: `/runs?series=${run.id}#trend` }, "Trend"),
    isWritable && el("form", { class: "chips", on: { submit: (event) => { event.preventDefault(); if (tag.value.trim()) { tryChange({ add: [tag.value.trim()] }); tag.value = ""; } } } }, tag, el("button", { type: "submit" }, "Add tag")),
    isWritable && menu("More", [
      button(run.archived ? "Restore from the archive" : "Archive", toggleArchive, { id: "archive" }),
      button("Delete…", remove, { class: "danger", id: "delete" }),
    ], { id: "more", "aria-label": "More actions" }));
}

// Repeated errors are shown in `notice` if they are loaded with the page.
function recommendations(notice) {
  const list = analyzed(async (box) => {
    const found = await analyze({ kind: "improve", runs: [run.id] }, box, "Analyzing mistakes…");
    if (!found) return null;
    const repeated = repeatedErrors(found.repeated);
    if (!isLarge) replace(notice, repeated);
    const clusters = found.clusters.map((cluster) => ({ ...cluster, rules: cluster.rule_sentences, attributes: Object.entries(cluster.attributes).map(([attribute, mistakes]) => ({ attribute, mistakes })) }));
    return [isLarge && repeated, clusters.length ? adviceList(clusters) : empty("No recommendations", "This run has no mistakes.")];
  }, { isLarge, text: "Show recommendations", id: "improve" });
  return section("advice", "Recommendations", "Groups of similar mistakes, most frequent first. Different values without a common pattern are last.", list);
}

function pText(p) {
  return p < 0.001 ? "p <0.001" : `p = ${rate(p)}`;
}

function weakSlice({ text, slice, cases, p_adjusted: p, attributes, overlap }) {
  const name = slice.length === 1 ? `${slice[0].key}=${slice[0].value}` : null;
  return el("li", null,
    el(name ? "a" : "span", name ? { href: casesHref({ slice: name }) } : null, el("bdi", { class: "literal" }, shown(text))), " ", el("span", { class: "quiet" }, pText(p)),
    attributes.length > 0 && el("p", { class: "chips" }, el("span", { class: "quiet" }, "Weak attributes:"), attributes.map(({ attribute, wrong, others }) => el("a", { class: "tag", href: casesHref({ attribute, slice: name }) },
      shown(attribute), ` wrong in ${Math.round(100 * wrong)}% of its cases, ${Math.round(100 * others)}% of the others`))),
    overlap && el("p", { class: "quiet" }, overlap.cases === cases ? "All its cases" : `${whole(overlap.cases)} of its ${plural(cases, "case")}`, " are also in ", el("bdi", { class: "literal" }, shown(overlap.text)), "."));
}

function weakAttribute({ text, attribute, key, value, p_adjusted: p }) {
  return el("li", null, el("a", { href: casesHref({ attribute, slice: `${key}=${value}` }) }, el("bdi", { class: "literal" }, shown(text))), " ", el("span", { class: "quiet" }, pText(p)));
}

// The strongest finding is shown in `notice` if it is loaded with the page.
function weakSlices(notice) {
  const list = analyzed(async (box) => {
    const found = await analyze({ kind: "slices", runs: [run.id] }, box, "Searching…");
    if (!found) return null;
    if (!isLarge) replace(notice, strongestFinding(found.finding));
    const nothing = !found.slices.length && !found.attributes.length;
    return [nothing && el("p", null, found.tested ? "No slice is significantly weaker than the other cases, in F1 or an attribute." : "There are no slices to test."),
      found.attributes.length > 0 && [el("h3", null, "Attributes"), el("ol", { class: "advice" }, found.attributes.map(weakAttribute))],
      found.slices.length > 0 && [el("h3", null, "F1"), el("ol", { class: "advice" }, found.slices.map(weakSlice))],
      found.tested > 0 && el("p", { class: "quiet" }, `${plural(found.tested, "slice")} of ${plural(found.cases, "case")} tested.`), found.notes.map((note) => el("p", { class: "quiet" }, shown(sentence(note))))];
  }, { isLarge, text: "Find weak slices", id: "find-slices" });
  return section("weak-slices", "Weak slices", "Groups of cases by tag, metadata or value in which an attribute is wrong significantly more often, or the F1 is significantly lower, than in the other cases.", list);
}

const isLarge = page.totals && page.totals.total > MANY;
drawTags();
const app = document.getElementById("app");
if (!page.tiles) {
  replace(app, head(), errors, actions(), empty("The run is not complete", page.resume_note),
    run.status !== "corrupt" && caseList(run.id, page));
} else {
  const view = { ...page, totals: page.totals, edit_rules: `/runs/${run.id}/rules` };
  const { worst, rest } = runMistakes(run.id, page), notice = el("div", { id: "repeated-errors" }), finding = el("div", { id: "strongest-finding" });
  replace(app, head(), errors, actions(), verdictPanel(view), finding, notice, tileGrid(view.tiles, view.formula),
    el("div", { class: "columns" }, errorTypes(view), domains(view)),
    worst, recommendations(notice), weakSlices(finding), attributeSection(view),
    runCharts(run.id, page.attributes), qualitySection(view),
    page.evaluators.length > 0 && section("evaluators", "Evaluators", null, evaluatorTable(page.evaluators)),
    page.slices.length > 0 && sliceSection(page),
    page.detection.length > 0 && detectionSection(page),
    page.confidence && confidenceSection(page),
    rest, caseList(run.id, page));
  if (location.hash) keepInView(location.hash.slice(1));
}

function runCharts(run, attributes) {
  const scores = el("div"), trend = el("div", { id: "run-trend" });
  load(scores, async () => scorePanel(await request(`/api/runs/${run}/scores`)));
  load(trend, async () => {
    const found = await request(`/api/trend?run=${run}`);
    return found.steps.filter(({ value }) => value !== null).length > 1 && trendChart(found, "Mean score", { heading: "Trend", own: run });
  });
  return section("charts", "Charts", null,
    el("div", { class: "columns" }, scores, scatterPanel(attributes, (attribute) => `?attribute=${encodeURIComponent(attribute)}#cases`)), trend);
}

async function load(place, make) {
  try {
    replace(place, await make());
  } catch (error) {
    replace(place, problem(error));
  }
}

function runMistakes(run, page) {
  const place = el("div", { id: "run-mistakes" }), rest = el("div");
  async function load() {
    replace(place, el("p", { class: "quiet", role: "status" }, "Reading all mistakes…"));
    try {
      const found = await request(`/api/runs/${run}/mistakes`);
      const lines = Object.fromEntries(found.cases.map((line) => [line.rank, line]));
      const view = { ...page, ...found, cases: { lines } };
      const link = (rank, filters) => `/runs/${run}/cases/${lines[rank].number}${query(filters)}`;
      replace(place, worstFields(view, link));
      replace(rest, found.value_tables.length > 0 && valueTableSection(view), heatSection(view, link));
    } catch (error) {
      replace(place, problem(error));
    }
  }
  if (page.totals.total <= MANY) load();
  else replace(place, section("mistakes", "Worst fields", "Mistakes by attribute with examples, tables of values and the heat map. All cases are read for it.", button("Show worst fields", load, { id: "show-mistakes" })));
  return { worst: place, rest };
}
