// The list of cases of a run, which the server filters, sorts and paginates.

import { lastRequest } from "./api.js";
import { CASE_FILTERS, query } from "./case_links.js";
import { caseColumns, caseFilters, sliceOptions, wrongAttributes } from "./cases.js";
import { el, pager, replace, section } from "./dom.js";
import { plural, whole } from "./labels.js";
import { address, clickedLink, debounce, empty, focusLastCase, focusOnSlash, keepInView, problem, remember } from "./page.js";
import { tableNode } from "./table.js";

const STEP = 50;
export const FILTERS = [...CASE_FILTERS, "offset"];

export function caseList(run, page) {
  const state = address(FILTERS), request = lastRequest();
  const list = el("div"), pages = el("div", { class: "pages" }), searched = el("p", { class: "quiet", id: "searched" });
  const changed = debounce(200, () => { remember(state); draw(); });
  const filters = caseFilters(state, {
    attributes: wrongAttributes(page), slices: sliceOptions(page), patterns: page.patterns,
    sorts: [["", "worst first"], ["number", "input order"], ["id", "id"], ["mistakes", "fewest mistakes first"]],
  }, () => { state.offset = ""; changed(); });
  filters.number.textContent = "Loading cases…";

  // A filtered list says how many cases there are without the filters.
  function countText(number) {
    const total = page.totals ? page.totals.total : number;
    return number < total ? `${whole(number)} of ${plural(total, "case")}` : plural(number, "case");
  }
  async function draw() {
    const offset = Number(state.offset) || 0;
    try {
      let found, more;
      do {
        found = await request(`/api/runs/${run}/cases${query({ ...state, offset, limit: STEP })}`);
        more = found.searched && found.searched.cases < found.searched.total;
        filters.number.textContent = more ? `${countText(found.total)} so far…` : countText(found.total);
        filters.addTags(found.tags);
        replace(searched, found.searched && searchedText(found.searched, state.text));
        replace(list, found.cases.length ? caseTable(run, found.cases, state) : more ? null : empty("No matching cases", "Change the filters to see other cases."));
      } while (more);
      replace(pages, pager({ offset, step: STEP, total: found.total, go }));
    } catch (error) {
      replace(list, problem(error));
    }
  }
  function go(offset) {
    state.offset = Math.max(0, offset) || "";
    remember(state, { push: true });
    draw();
    document.getElementById("cases").scrollIntoView();
  }
  function reload() {
    Object.assign(state, address(FILTERS));
    filters.refresh();
    draw();
  }
  window.addEventListener("popstate", reload);
  // A link of the page to other cases needs no new page.
  document.addEventListener("click", (event) => {
    const link = clickedLink(event);
    if (!link) return;
    const target = new URL(link.getAttribute("href"), location.href);
    if (target.origin !== location.origin || target.pathname !== location.pathname || target.hash !== "#cases") return;
    event.preventDefault();
    history.pushState(null, "", target);
    reload();
    keepInView("cases");
    document.getElementById("case-filter").focus({ preventScroll: true });
  });
  focusOnSlash("case-filter");
  draw().then(() => focusLastCase(list));
  return section("cases", "Cases", "Open a case to compare its documents side by side.", filters.node, searched, list, pages);
}

function searchedText({ cases, total, values }, text) {
  const where = !text ? "" : values ? "Ids, tags, paths and values of " : "Ids, tags and paths (the run was saved without values) of ";
  return cases < total ? `${where}${whole(cases)} of ${plural(total, "case")} searched so far…` : where && `${where}${plural(total, "case")} searched.`;
}

function caseTable(run, cases, state) {
  const filters = query({ ...state, offset: "" });
  return tableNode({
    caption: "Cases", step: STEP, isSorted: false, rows: cases,
    columns: caseColumns(cases, ({ number }) => `/runs/${run}/cases/${number}${filters}`, { filters: state, fieldOf: cases.some(({ field }) => field) ? ({ field }) => field : null }),
  });
}
