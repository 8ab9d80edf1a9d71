// The page of one case: both documents side by side, and links to the previous and next case.

import { lastRequest, request } from "./api.js";
import { ruleLink } from "./attributes.js";
import { caseArticle, caseFacts, caseNotices, neighborLink, openedParts } from "./case.js";
import { query } from "./case_links.js";
import { FILTERS } from "./case_list.js";
import { data, el, replace } from "./dom.js";
import { explainPanel, highlightField, placeExplanation } from "./field_links.js";
import { nameText, NOT_COMPARED, whole } from "./labels.js";
import { metricTabs } from "./metric_tabs.js";
import { address, caseAddress, clickedLink, followKeys, problem, remember, rememberCase } from "./page.js";
import { openedCase } from "./value_encoding.js";

const { run, title, case: number, convention, pages: hasPages } = data("page");
const app = document.getElementById("app");
/** @type {Record<string, any>} */
const state = { ...address(FILTERS), offset: "" };
const filters = query(state);
const explain = lastRequest();

function addressOf(target) {
  return target === null ? null : `/runs/${run}/cases/${target}${filters}`;
}

async function casePages() {
  const path = `/api/runs/${run}/cases/${number}/pages`;
  const { pages, problems } = await request(path);
  const why = (src) => request(src).then(() => "", (error) => (error.code === "unreadable" ? "This browser cannot read it." : error.message));
  return { pages: pages.map((page, place) => ({ ...page, src: `${path}/${place + 1}`, why: () => why(`${path}/${place + 1}`) })), problems };
}

function view(found) {
  const documents = openedCase(found.documents);
  return caseArticle("h2", found.id, [
    el("a", { href: `/runs/${run}${filters}#cases`, id: "back" }, filters ? "← Filtered cases" : "← All cases"),
    el("span", { class: "case-place quiet" }, found.position ? `${whole(found.position)} of ${whole(found.total)}${filters ? " filtered cases" : ""}` : "not among the filtered cases"),
    neighborLink("Previous", addressOf(found.previous), "k"), neighborLink("Next", addressOf(found.next), "j"),
  ], [
    el("p", { class: "quiet case-run" }, "Run ", nameText(title)),
    el("p", { class: "case-facts" }, caseFacts(found, ` (${convention})`)),
  ], [
    caseNotices(found, documents),
    documents ? caseTabs(documents) : el("p", { class: "notice" }, "This case is too large to show. results.jsonl contains the whole case."),
  ]);
}

function caseTabs(documents) {
  let box = null;
  return metricTabs(documents.metrics, {
    documents: () => {
      box ??= addRuleLinks(el("div", { class: "case" }, openedParts(documents, hasPages ? casePages() : null, (path) => `/runs/${run}/cases/${number}${query({ ...state, path })}`)));
      return box;
    },
    tab: address(["tab"]).tab, changeTab: (tab) => remember({ tab: tab === "documents" ? "" : tab }),
    loadAgreement: () => request(`/api/runs/${run}/cases/${number}/consistency`),
  });
}

// Every mistake, and the field that the address names, has a link to its rule.
function addRuleLinks(box) {
  const named = address(["path"]).path;
  for (const field of box.querySelectorAll(".field[data-path], td[data-path]")) {
    const { path } = field.dataset;
    const isMistake = field.matches(".has-mistake, .cell-wrong, .cell-format, .cell-missing, .cell-extra, .cell-error");
    if (isMistake || path === named) (field.querySelector(".field-key") || field).append(ruleLink(`/runs/${run}/rules`, path));
  }
  return box;
}

// Highlight the field that the URL names, or the fields of the attribute in the filter of the cases.
async function showField() {
  const field = highlightField(app, { attribute: state.attribute, error: state.error, path: address(["path"]).path });
  placeExplanation(null);
  // A field that no rule selects has no outcome to explain.
  if (!field || Number(field.dataset.outcome) === NOT_COMPARED) return;
  const { field: path } = field.dataset;
  try {
    placeExplanation(field, explainPanel(path, (await explain(`/api/runs/${run}/cases/${number}/explain${query({ path })}`)).facts));
  } catch (error) {
    placeExplanation(field, problem(error));
  }
}
// Another field of the same case needs no new page.
app.addEventListener("click", (event) => {
  const link = clickedLink(event, "a.field-link");
  if (!link) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  showField();
});
window.addEventListener("popstate", showField);
followKeys();
try {
  const found = await request(`/api/runs/${run}/cases/${number}${filters}`);
  document.title = `${found.id} · fieldmark`;
  replace(app, view(found));
  rememberCase(caseAddress(location.href));
  showField();
} catch (error) {
  replace(app, problem(error), el("p", null, el("a", { href: `/runs/${run}` }, "← Back to the run")));
}
