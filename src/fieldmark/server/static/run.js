// One run: the figures at once, the cases page by page, and what to mend on request.

import { ask } from "./api.js";
import { caseList } from "./case_list.js";
import { attributeSection, button, data, detectionSection, domains, el, errorTypes, evaluatorTable, moment, plural, replace, section, shown, tileGrid, verdictPanel, whole } from "./report.js";
import { empty, problem, toast } from "./shell.js";

const page = data("page");
const { run } = page;
document.title = `${page.title} · fieldmark`;
const trouble = el("div"), tags = el("span", { class: "chips" });
const mayWrite = page.write || !run.kept;

function head() {
  return el("header", { class: "run-head" },
    el("p", null, el("a", { href: "/runs" }, "← All runs")),
    el("h2", { class: "run-title" }, el("bdi", null, shown(page.title))),
    el("p", { class: "case-facts" }, el("span", { class: "run-id" }, run.id), el("span", { class: `status status-${run.status}` }, run.status), !run.kept && el("span", { class: "quiet" }, "kept until the server ends"),
      el("span", { class: "quiet" }, `${moment(page.made)} · ${page.convention.replaceAll("_", " ")}`), tags),
    (page.warnings || []).map((text) => el("p", { class: "notice" }, shown(text))));
}

function drawTags() {
  replace(tags, run.tags.map((tag) => el("span", { class: "tag" }, shown(tag), " ", mayWrite && button("×", () => change({ remove: [tag] }, `The tag ${tag} is removed.`, { add: [tag] }), { class: "as-link", "aria-label": `Remove the tag ${tag}` }))));
}

async function change(body, said, back) {
  try {
    Object.assign(run, await ask(`/api/runs/${run.id}/notes`, { method: "PUT", body }));
    drawTags();
    if (said) toast(said, back ? { undo: () => change(back, "") } : {});
  } catch (error) {
    replace(trouble, problem(error));
  }
}

function actions() {
  const tag = el("input", { type: "text", "aria-label": "A new tag", placeholder: "tag", maxlength: "100", id: "new-tag" });
  return el("div", { class: "bar-actions" },
    el("a", { class: "button", href: `/api/runs/${run.id}/report.html`, download: `${run.id}.html` }, "Download the report"),
    el("a", { class: "button", href: `/diff?b=${run.id}` }, "Compare with another run"),
    mayWrite && el("form", { class: "chips", on: { submit: (event) => { event.preventDefault(); if (tag.value.trim()) { change({ add: [tag.value.trim()] }, ""); tag.value = ""; } } } }, tag, el("button", { type: "submit" }, "Add tag")));
}

function advice() {
  const place = el("div");
  async function load() {
    replace(place, el("p", { class: "quiet", role: "status" }, "Looking through the cases …"));
    try {
      const found = await ask(`/api/runs/${run.id}/improve`);
      replace(place, found.clusters.length ? el("ol", { class: "advice" }, found.clusters.slice(0, 12).map(({ title, hint, mistakes, attributes }) => el("li", null,
        el("h3", null, title, " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))), el("p", null, hint),
        el("p", { class: "chips" }, Object.entries(attributes).slice(0, 8).map(([path, times]) => el("a", { class: "tag", href: `?attribute=${encodeURIComponent(path)}#cases` }, shown(path), ` × ${whole(times)}`))))))
        : empty("Nothing to mend", "Every field of this run is right."));
    } catch (error) {
      replace(place, problem(error));
    }
  }
  replace(place, button("Find what to mend first", load, { id: "improve" }));
  return section("advice", "Recommendations", "Mistakes that look alike, the most frequent first.", place);
}

drawTags();
const app = document.getElementById("app");
if (!page.tiles) {
  replace(app, head(), actions(), empty(`The run is ${run.status}`, page.going_on));
} else {
  const view = { ...page, totals: page.totals };
  replace(app, head(), trouble, actions(), verdictPanel(view), tileGrid(view.tiles),
    el("div", { class: "columns" }, errorTypes(view), domains(view)),
    page.evaluators.length > 0 && section("evaluators", "Evaluators", null, evaluatorTable(page.evaluators)),
    page.detection.length > 0 && detectionSection(page),
    advice(), attributeSection(view), caseList(run.id, page));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
