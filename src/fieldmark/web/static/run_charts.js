// The charts of a run; scores and trend are loaded after the rest of the page.

import { request } from "./api.js";
import { el, replace, scatterPanel, scorePanel, section } from "./report.js";
import { problem } from "./page.js";
import { trendChart } from "./trend.js";

export function runCharts(run, attributes) {
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
