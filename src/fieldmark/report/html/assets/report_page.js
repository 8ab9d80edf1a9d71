// Builds the page, and switches between the report and a single case.

import { attributeSection, sliceSection } from "./attributes.js";
import { caseView } from "./case.js";
import { filtersIn, hashParts, query } from "./case_links.js";
import { caseBrowser } from "./cases.js";
import { comparedCase, comparisonSection } from "./comparison.js";
import { confidenceSection } from "./confidence.js";
import { detectionSection } from "./detection.js";
import { data, el, hashAddress, isTyping, replace } from "./dom.js";
import { explainPanel, highlightField, placeExplanation, reportFacts } from "./field_links.js";
import { moment } from "./labels.js";
import { methodSection } from "./method.js";
import { qualitySection } from "./metric_tabs.js";
import { adviceSection, heatSection, overview, worstFields } from "./overview.js";
import { reviewSection } from "./reviews.js";
import { chartSection } from "./score_charts.js";
import { showHighlighted } from "./side_by_side.js";
import { themeButton } from "./theme.js";
import { openedCase, rowsOf } from "./value_encoding.js";
import { valueTableSection } from "./value_tables.js";
import { shown } from "./values.js";

function start() {
  const run = data("run"), opened = openedCases("opened"), before = run.comparison ? openedCases("before") : {};
  run.cases.lines = rowsOf(run.cases.lines).map((line, rank) => ({ ...line, rank }));
  document.title = `${run.title} · fieldmark`;
  const list = caseBrowser(run, opened);
  const caseLink = (rank, filters) => `#case-${rank + 1}${query(filters)}`;
  const sections = [
    { id: "overview", title: "Overview", node: overview(run) },
    ...(run.comparison ? [{ id: "comparison", title: "Comparison", node: comparisonSection(run, opened, before) }] : []),
    { id: "mistakes", title: "Worst fields", node: worstFields(run, caseLink) },
    ...(run.advice ? [{ id: "advice", title: "Recommendations", node: adviceSection(run) }] : []),
    { id: "attributes", title: "Attributes", node: attributeSection(run) },
    { id: "charts", title: "Charts", node: chartSection(run, { scores: run.scores, attributeHref: (attribute) => hashAddress("cases", { attribute }) }) },
    ...(run.slices ? [{ id: "slices", title: "Slices", node: sliceSection(run) }] : []),
    ...(run.detection ? [{ id: "detection", title: "Detection", node: detectionSection(run) }] : []),
    ...(run.confidence ? [{ id: "confidence", title: "Confidence", node: confidenceSection(run) }] : []),
    { id: "quality", title: "Quality", node: qualitySection(run) },
    ...(run.value_tables ? [{ id: "values", title: "Values", node: valueTableSection(run) }] : []),
    { id: "heat", title: "Heat map", node: heatSection(run, caseLink) },
    { id: "cases", title: "Cases", node: list.node },
    ...(run.reviews ? [{ id: "review", title: "Review", node: reviewSection(run.reviews) }] : []),
    { id: "method", title: "Method", node: methodSection(run) },
  ];
  const report = el("main", { id: "report" }, sections.map(({ node }) => node));
  const single = el("main", { id: "single", hidden: true });
  const links = sections.map(({ id, title }) => el("a", { href: `#${id}` }, title));
  replace(document.getElementById("app"),
    el("a", { class: "skip", href: "#overview" }, "Skip to content"),
    el("header", { class: "top" },
      el("div", { class: "top-inner" },
        el("p", { class: "brand" }, el("span", { class: "title" }, el("bdi", null, shown(run.title))),
          el("span", { class: "quiet" }, `${moment(run.date)} · convention ${run.convention}`)),
        themeButton()),
      el("nav", { class: "sections", "aria-label": "Sections" }, links)),
    report, single,
    el("footer", { class: "bottom quiet" }, "Created with fieldmark. Keyboard shortcuts: / searches cases, j and k go to the next and previous case, Escape returns to the list."));
  let drawn = -1;
  function showLocation() {
    const { name, text } = hashParts();
    const rank = rankIn(name);
    const isCase = rank >= 0 && rank < run.cases.lines.length;
    const isCompared = isCase && name.startsWith("diff-") && before[rank] !== undefined;
    const filters = filtersIn(text), path = new URLSearchParams(text).get("path") || "";
    if ((isCase && !isCompared) || name === "cases") list.apply(filters);
    report.hidden = isCase;
    single.hidden = !isCase;
    document.documentElement.classList.toggle("in-case", isCase);
    if (isCase) {
      replace(single, isCompared ? comparedCase(rank, { run, opened, before, path }) : caseView(rank, { run, opened, list }));
      if (drawn !== rank) window.scrollTo(0, 0);
      drawn = rank;
      document.getElementById("case-title").focus({ preventScroll: true });
      if (isCompared) showHighlighted(single);
      else {
        const field = highlightField(single, { path, attribute: filters.attribute, error: filters.error });
        if (field) placeExplanation(field, explainPanel(field.dataset.field, reportFacts(run, run.cases.lines[rank], field)));
      }
    } else {
      document.getElementById(name)?.scrollIntoView();
      // Back in the list, the row of the case that was shown has the focus.
      const row = drawn >= 0 && /** @type {HTMLAnchorElement[]} */ ([...report.querySelectorAll("#cases a[href], #comparison-changed a[href]")]).find((each) => rankIn(each.hash.slice(1).split("?")[0]) === drawn && (name !== "comparison-changed" || each.closest("#comparison-changed")));
      if (row) {
        row.focus({ preventScroll: true });
        row.scrollIntoView({ block: "center" });
      }
      drawn = -1;
    }
    current(isCompared ? "comparison" : isCase ? "cases" : null);
  }
  function current(id) {
    for (const link of links) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  window.addEventListener("hashchange", showLocation);
  document.addEventListener("keydown", keys);
  watchSections(report, current);
  showLocation();
}

// The cases with documents by their rank; their rows are read when a case is used.
function openedCases(id) {
  const views = data(id), cases = {};
  for (const rank of Object.keys(views)) {
    let opened = null;
    Object.defineProperty(cases, rank, { enumerable: true, get: () => { opened ??= openedCase(views[rank]); return opened; } });
  }
  return cases;
}

// Marks the section in view in the navigation.
function watchSections(report, current) {
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.id);
    const first = Array.from(report.children).find((each) => seen.has(each.id));
    if (first && !report.hidden) current(first.id);
  }, { rootMargin: "-30% 0px -60% 0px" });
  for (const each of report.children) watcher.observe(each);
}

// The rank of the case that the hash names, or -1.
function rankIn(name) {
  const found = /^(?:case|diff)-(\d+)$/.exec(name);
  return found ? Number(found[1]) - 1 : -1;
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) {
    if (event.key === "Escape" && event.target.type === "search") event.target.blur();
    return;
  }
  const isCase = rankIn(hashParts().name) >= 0;
  const link = isCase && { j: "#next", k: "#previous", Escape: ".case-nav a" }[event.key];
  if (event.key === "/") {
    event.preventDefault();
    if (isCase) location.hash = "cases";
    setTimeout(() => document.getElementById("case-filter").focus(), 0);
  } else if (link) {
    const target = /** @type {HTMLAnchorElement | null} */ (document.querySelector(`#single ${link}`));
    if (target) location.hash = target.hash;
  }
}

start();
