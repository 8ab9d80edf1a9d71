// Builds the page, and switches between the report and a single case.

function start() {
  const run = data("run"), opened = data("opened"), before = run.comparison ? data("before") : {};
  document.title = `${run.title} · fieldmark`;
  const openCase = (rank) => { location.hash = `case-${rank + 1}`; };
  const sections = [
    ["overview", "Overview", () => overview(run)],
    ["charts", "Charts", () => chartSection(run, { scores: run.scores, attributeHref: (attribute) => hashAddress("cases", { attribute }) })],
    ...(run.comparison ? [["comparison", "Comparison", () => comparisonSection(run, before)]] : []),
    ...(run.slices ? [["slices", "Slices", () => sliceSection(run)]] : []),
    ...(run.detection ? [["detection", "Detection", () => detectionSection(run)]] : []),
    ...(run.confidence ? [["confidence", "Confidence", () => confidenceSection(run)]] : []),
    ["quality", "Quality", () => qualitySection(run)],
    ["mistakes", "Worst fields", () => worstFields(run)],
    ["attributes", "Attributes", () => attributeSection(run)],
    ["heat", "Heat map", () => heatSection(run, openCase)],
    ["cases", "Cases", () => caseSection(run, opened)],
    ...(run.reviews ? [["review", "Review", () => reviewSection(run.reviews)]] : []),
    ["method", "Method", () => methodSection(run)],
  ];
  const report = el("main", { id: "report" }, sections.map(([, , make]) => make()));
  const single = el("main", { id: "single", hidden: true });
  const links = sections.map(([id, label]) => el("a", { href: `#${id}` }, label));
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
  function showLocation() {
    const found = /^#(case|diff)-(\d+)(?:\?|$)/.exec(location.hash);
    const rank = found ? Number(found[2]) - 1 : -1;
    const isCase = rank >= 0 && rank < run.cases.lines.length;
    const isCompared = isCase && found[1] === "diff" && before[rank] !== undefined;
    report.hidden = isCase;
    single.hidden = !isCase;
    document.documentElement.classList.toggle("in-case", isCase);
    if (isCase) {
      replace(single, isCompared ? comparedCase(rank, { run, opened, before, ...hashFilters(["path"]) }) : caseView(rank, { run, opened, go: openCase }));
      window.scrollTo(0, 0);
      document.getElementById("case-title").focus({ preventScroll: true });
      if (isCompared) showHighlighted(single);
    } else if (location.hash.length > 1) {
      const target = document.getElementById(location.hash.slice(1).split("?")[0]);
      if (target) target.scrollIntoView();
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
  document.addEventListener("keydown", (event) => keys(event, run, openCase));
  watchSections(report, current);
  showLocation();
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

function keys(event, run, openCase) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape" && event.target.type === "search") event.target.blur();
    return;
  }
  const found = /^#(case|diff)-(\d+)(?:\?|$)/.exec(location.hash);
  const rank = found ? Number(found[2]) - 1 : null;
  if (event.key === "/") {
    event.preventDefault();
    if (rank !== null) location.hash = "cases";
    setTimeout(() => document.getElementById("case-filter").focus(), 0);
  } else if (rank !== null && event.key === "Escape") {
    location.hash = found[1] === "diff" ? "comparison-changed" : "cases";
  } else if (rank !== null && (event.key === "j" || event.key === "k")) {
    const next = rank + (event.key === "j" ? 1 : -1);
    if (next >= 0 && next < run.cases.lines.length) openCase(next);
  }
}

start();
