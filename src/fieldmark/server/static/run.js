// The page of one run: metrics, paginated cases, and recommendations on request.

import { request } from "./api.js";
import { caseList } from "./case_list.js";
import { adviceList, attributeSection, button, casesHref, confidenceSection, data, detectionSection, domains, el, errorTypes, evaluatorTable, moment, plural, rate, replace, section, shown, sliceSection, tileGrid, verdictPanel, warningLine, whole } from "./report.js";
import { empty, problem, toast } from "./page.js";
import { runCharts } from "./run_charts.js";
import { runMistakes } from "./run_mistakes.js";

const page = data("page");
const { run } = page;
document.title = `${page.title} · fieldmark`;
const errors = el("div"), tags = el("span", { class: "chips" });
const isWritable = page.write || !run.saved;

function head() {
  return el("header", { class: "run-head" },
    el("p", null, el("a", { href: "/runs" }, "← All runs")),
    el("h2", { class: "run-title" }, el("bdi", null, shown(page.title))),
    el("p", { class: "case-facts" }, el("span", { class: "run-id" }, run.id), el("span", { class: `status status-${run.status}` }, run.status), !run.saved && el("span", { class: "quiet" }, "temporary: deleted when the server stops"),
      el("span", { class: "quiet" }, `${moment(page.date)} · convention ${page.convention.replaceAll("_", " ")}`), parentLink(), tags),
    warningLine(page.warnings));
}

// A rescored run names the run that it was computed from, which may have been deleted.
function parentLink() {
  const { run: parent } = run.manifest.rescored_from || {};
  return parent && el("span", { class: "quiet", id: "rescored-from" }, "rescored from ", page.has_parent ? el("a", { href: `/runs/${parent}` }, shown(parent)) : [shown(parent), " (deleted)"]);
}

function drawTags() {
  replace(tags, run.tags.map((tag) => el("span", { class: "tag" }, shown(tag), " ", isWritable && button("×", () => change({ remove: [tag] }, `Tag ${tag} removed.`, { add: [tag] }), { class: "as-link", "aria-label": `Remove tag ${tag}` }))));
}

async function change(body, notice, undoBody) {
  try {
    Object.assign(run, await request(`/api/runs/${run.id}/notes`, { method: "PUT", body }));
    drawTags();
    if (notice) toast(notice, undoBody ? { undo: () => change(undoBody, "") } : {});
  } catch (error) {
    replace(errors, problem(error));
  }
}

function actions() {
  const tag = el("input", { type: "text", "aria-label": "New tag", placeholder: "tag", maxlength: "100", id: "new-tag" });
  return el("div", { class: "bar-actions" },
    el("a", { class: "button", href: `/api/runs/${run.id}/report.html`, download: `${run.id}.html` }, "Download report"),
    el("a", { class: "button", href: `/diff?b=${run.id}` }, "Compare with another run"),
    page.tiles && el("a", { class: "button", id: "edit-rules", href: `/runs/${run.id}/rules` }, "Edit rules"),
    page.tiles && el("a", { class: "button", href: `/runs/${run.id}/review` }, "Review"),
    page.tiles && el("a", { class: "button", href: `/runs?series=${run.id}#trend` }, "Trend"),
    isWritable && el("form", { class: "chips", on: { submit: (event) => { event.preventDefault(); if (tag.value.trim()) { change({ add: [tag.value.trim()] }, ""); tag.value = ""; } } } }, tag, el("button", { type: "submit" }, "Add tag")));
}

function recommendations() {
  const list = el("div");
  async function load() {
    replace(list, el("p", { class: "quiet", role: "status" }, "Analyzing mistakes…"));
    try {
      const found = await request(`/api/runs/${run.id}/improve`);
      replace(list, found.clusters.length ? adviceList(found.clusters.map((each) => [each.pattern, each.title, each.hint, each.mistakes, Object.entries(each.attributes)]))
        : empty("No recommendations", "This run has no mistakes."));
    } catch (error) {
      replace(list, problem(error));
    }
  }
  replace(list, button("Show recommendations", load, { id: "improve" }));
  return section("advice", "Recommendations", "Groups of similar mistakes, most frequent first.", list);
}

function weakSlices() {
  const list = el("div");
  async function load() {
    replace(list, el("p", { class: "quiet", role: "status" }, "Searching…"));
    try {
      const found = await request(`/api/runs/${run.id}/slices`);
      const searched = `${plural(found.tested, "slice")} of ${plural(found.cases, "case")} tested.`;
      replace(list, found.slices.length ? el("ol", { class: "advice" }, found.slices.map(({ text, slice, p_adjusted: p }) => el("li", null, el(slice.length === 1 ? "a" : "span", slice.length === 1 ? { href: casesHref({ slice: `${slice[0].key}=${slice[0].value}` }) } : null, el("bdi", { class: "literal" }, shown(text))), " ", el("span", { class: "quiet" }, p < 0.001 ? "p <0.001" : `p = ${rate(p)}`))))
        : el("p", null, "No slice is significantly weaker than the other cases."),
      el("p", { class: "quiet" }, searched), found.notes.map((note) => el("p", { class: "quiet" }, shown(note))));
    } catch (error) {
      replace(list, problem(error));
    }
  }
  replace(list, button("Find weak slices", load, { id: "find-slices" }));
  return section("weak-slices", "Weak slices", "Groups of cases by tag, metadata or value whose F1 is significantly lower than that of the other cases.", list);
}

drawTags();
const app = document.getElementById("app");
if (!page.tiles) {
  replace(app, head(), errors, actions(), empty("The run is not complete", page.resume_note));
} else {
  const view = { ...page, totals: page.totals, edit_rules: `/runs/${run.id}/rules` };
  replace(app, head(), errors, actions(), verdictPanel(view), tileGrid(view.tiles, view.formula),
    el("div", { class: "columns" }, errorTypes(view), domains(view)),
    runCharts(run.id, page.attributes),
    page.evaluators.length > 0 && section("evaluators", "Evaluators", null, evaluatorTable(page.evaluators)),
    page.slices.length > 0 && sliceSection(page),
    page.detection.length > 0 && detectionSection(page),
    page.confidence && confidenceSection(page),
    weakSlices(), recommendations(), runMistakes(run.id, page), attributeSection(view), caseList(run.id, page));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
