// The list of cases of a run, which the server filters, sorts and paginates.

import { lastRequest, query } from "./api.js";
import { ERROR_NAMES, ERROR_TYPES, OUTCOMES, button, el, gauge, mistakeChips, plural, reasonText, replace, scoreText, search, section, select, shown, sortableTable, verdictChip, whole } from "./report.js";
import { address, debounce, empty, problem, remember } from "./page.js";

const STEP = 50;
export const FILTERS = ["text", "verdict", "error", "attribute", "sort", "offset"];

export function caseList(run, page) {
  const state = address(FILTERS), request = lastRequest();
  const list = el("div"), pages = el("div", { class: "pages" });
  const number = el("span", { class: "quiet", role: "status" }, "Loading cases…");
  const changed = debounce(200, () => { remember(state); draw(); });
  const set = (name) => (value) => { state[name] = value; state.offset = ""; changed(); };

  async function draw() {
    const offset = Number(state.offset) || 0;
    try {
      const found = await request(`/api/runs/${run}/cases${query({ ...state, offset, limit: STEP })}`);
      number.textContent = plural(found.total, "case");
      replace(list, found.cases.length ? caseTable(run, found.cases, state) : empty("No matching cases", "Change the filters to see other cases."));
      replace(pages, found.total > STEP && [
        button("Previous", () => go(offset - STEP), { disabled: offset === 0 }),
        el("span", { class: "quiet" }, `${whole(offset + 1)} to ${whole(Math.min(offset + STEP, found.total))} of ${whole(found.total)}`),
        button("Next", () => go(offset + STEP), { disabled: offset + STEP >= found.total })]);
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
  function filterSelect(label, name, options) {
    const box = select(label, options, set(name));
    box.querySelector("select").value = state[name];
    box.querySelector("select").id = `case-${name}`;
    return box;
  }
  const wrong = page.attributes.filter((row) => row[4].some(Boolean)).map((row) => [row[0], row[0]]);
  const controls = el("div", { class: "controls" },
    search("Search", "id or tag", set("text"), { id: "case-filter", value: state.text }),
    filterSelect("Verdict", "verdict", [["", "any"], ...["fail", "partial", "pass", "error"].map((word) => [word, word])]),
    filterSelect("Mistake", "error", [["", "any or none"], ...ERROR_NAMES.map((name, index) => [name, OUTCOMES[ERROR_TYPES[index]].word])]),
    filterSelect("Attribute with a mistake", "attribute", [["", "any or none"], ...wrong]),
    filterSelect("Sort by", "sort", [["", "worst first"], ["number", "input order"], ["id", "id"], ["mistakes", "fewest mistakes first"]]),
    number);
  window.addEventListener("popstate", () => { Object.assign(state, address(FILTERS)); draw(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); document.getElementById("case-filter").focus(); }
  });
  draw();
  return section("cases", "Cases", "Open a case to compare its documents side by side.", controls, list, pages);
}

function caseTable(run, cases, state) {
  const filters = query({ ...state, offset: "" });
  const table = sortableTable({
    caption: "Cases", step: STEP,
    columns: [
      { name: "case", label: "Case", cell: (row) => [el("a", { href: `/runs/${run}/cases/${row.number}${filters}` }, el("bdi", { class: "literal" }, row.id === "" ? "(no id)" : shown(row.id))), row.tags.map((tag) => el("span", { class: "tag" }, shown(tag)))] },
      { name: "verdict", label: "Verdict", cell: (row) => verdictChip(row.verdict, row.status) },
      { name: "score", label: "Score", numeric: true, cell: (row) => scoreText(row.score, row.vacuous) },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(row.vacuous ? null : row.score, null) },
      { name: "mistakes", label: "Mistakes", cell: (row) => mistakeChips(ERROR_NAMES.map((name) => row.errors_by_type[name])) },
      { name: "input", label: "Input", cell: (row) => (row.input === "ok" ? el("span", { class: "zero" }, "ok") : reasonText(row.input)) },
    ],
  });
  table.show(cases);
  return table.node;
}
