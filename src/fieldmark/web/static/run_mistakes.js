// The worst fields of a run, and the rest, which are values and heat map; of a large run on request.

import { query, request } from "./api.js";
import { button, el, heatSection, replace, section, valueTableSection, worstFields } from "./report.js";
import { problem } from "./page.js";

// Runs with more cases are read only on request.
export const MANY = 2000;

export function runMistakes(run, page) {
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
