// One case: its documents side by side and the results of its evaluators.

const INPUTS = {
  missing: "This case has no prediction.",
  parse_error: "The prediction is not valid JSON.",
  invalid_truth: "The ground truth is not valid.",
  failed: "The target failed to produce a prediction.",
};

const PARSED_FROM = {
  fence: "The prediction was extracted from a fenced code block.",
  text: "The prediction was extracted from surrounding text.",
  repaired: "The prediction was not valid JSON and was repaired.",
};

function caseView(rank, { run, opened, go }) {
  const line = run.cases.lines[rank];
  const [id, score, verdict, status, input, tags, mistakes, vacuous] = line;
  const view = opened[rank];
  const last = run.cases.lines.length - 1;
  return el("article", { class: "case", "aria-labelledby": "case-title" },
    el("nav", { class: "case-nav", "aria-label": "Cases" },
      el("a", { href: "#cases" }, "← All cases"),
      el("span", { class: "case-place quiet" }, `${whole(rank + 1)} of ${whole(last + 1)}, worst first`),
      button("Previous", () => go(rank - 1), { disabled: rank === 0, "aria-keyshortcuts": "k" }),
      button("Next", () => go(rank + 1), { disabled: rank === last, "aria-keyshortcuts": "j" })),
    el("header", { class: "case-head" },
      el("h1", { id: "case-title", tabindex: "-1" }, el("bdi", { class: "literal" }, shown(id))),
      el("p", { class: "case-facts" },
        verdictChip(verdict, status),
        el("span", { class: "case-score" }, "score ", el("strong", null, scoreText(score, vacuous))),
        mistakeChips(mistakes, { word: true }),
        tags.map((tag) => el("span", { class: "tag" }, shown(tag))))),
    input !== "ok" && el("p", { class: "notice" }, INPUTS[input] || `Input: ${reasonText(input)}`),
    view && view.note && el("p", { class: "notice" }, el("bdi", { class: "literal" }, shown(view.note))),
    view && view.parsed_from && el("p", { class: "quiet" }, PARSED_FROM[view.parsed_from] || ""),
    view && view.fallback && el("p", { class: "notice" }, "A list in this case was too long for its aligner and was aligned by a faster one."),
    view && view.cut && el("p", { class: "notice" }, "This case is large, so only its mistakes are shown. results.jsonl contains the whole case."),
    view ? metricTabs(view.metrics, { documents: () => openedParts(view), tab: hashQuery().get("tab"), changeTab: (tab) => rememberInHash("tab", tab === "documents" ? "" : tab) })
      : el("p", { class: "notice" }, notOpened(run.cases)));
}

// What follows the question mark in the hash of the address, such as `#case-3?tab=accuracy`.
function hashQuery() {
  return new URLSearchParams(location.hash.split("?")[1] || "");
}

function rememberInHash(name, value) {
  const [place] = location.hash.split("?"), found = hashQuery();
  if (value) found.set(name, value);
  else found.delete(name);
  history.replaceState(null, "", `${place}${found.size ? `?${found}` : ""}`);
}

// The parts of a case. `pages` are its pages, or a promise of them, if there may be any.
function openedParts(view, pages = view.pages) {
  const [control, tree] = view.tree.length ? documentTree(view.tree) : [null, el("p", { class: "quiet" }, "No field of this case was compared.")];
  const valueless = view.tree.length > 0 && view.tree.every((node) => kindOf(node[2]) === "hidden");
  const documents = el("section", { class: valueless ? "documents valueless" : "documents", "aria-label": "Documents" },
    el("div", { class: "documents-head" }, el("h2", null, valueless ? "Fields" : "Documents"), control),
    valueless && el("p", { class: "quiet" }, "This run was saved without values, so only paths and scores are shown."), tree);
  const page = (pages || view.regions) && pageSection(view.regions, pages, tree);
  return [
    repeatedErrors(view.repeated),
    pages ? el("div", { class: "beside" }, documents, page) : [documents, page],
    view.evaluators && el("section", null, el("h2", null, "Evaluators"), evaluatorCards(view.evaluators)),
    !view.evaluators && view.reasoning && el("section", null, el("h2", null, "Reasoning"), el("p", { class: "reasoning" }, el("bdi", { class: "literal" }, shown(view.reasoning)))),
  ];
}

function notOpened({ opened, total }) {
  return `The documents of this case are not included. This report includes up to ${whole(opened)} of ${plural(total, "case")}, worst first. results.jsonl in the run directory contains all cases.`;
}
