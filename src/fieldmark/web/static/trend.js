// A line chart of a metric over runs.

import { behind, intervalText, trendPlot } from "./charts.js";
import { el } from "./dom.js";
import { metricText, plural } from "./labels.js";
import { empty } from "./page.js";

// `own` is the run whose page shows the chart; its dot is large.
export function trendChart({ steps, best, excluded, conclusion, runs_without_gain: without, convention }, label, { heading = "", own = "" } = {}) {
  const known = steps.filter(({ value }) => value !== null);
  if (known.length < 2) return empty("Not enough runs for a trend", "A trend requires at least two complete runs with the same ground truth, rules and convention.");
  const values = known.map(({ value }) => value), text = (value) => metricText(label.toLowerCase(), value);
  const description = `${label} over ${plural(known.length, "run")}: from ${text(values[0])} to ${text(values[values.length - 1])}`;
  // The runs of a group have the same ground truth, so its name does not tell them apart.
  const short = (title) => { const text = title.split(" · ").at(-1); return text.length > 24 ? `${text.slice(0, 23)}…` : text; };
  const points = known.map(({ run, title, value, interval }) => ({ name: title, tick: short(title), value, interval, href: `/runs/${run}`, best: run === best, own: run === own }));
  const shape = (run) => points.some(({ href }) => href === `/runs/${run}`);
  const legend = [known.some(({ errors }) => errors) && "Runs with errors are never the best.", own && shape(own) && "Large dot: this run.", best && shape(best) && `Ring: best run${best === own ? ", which is this run" : ""}.`].filter(Boolean).join(" ");
  return el("figure", { class: "panel trend-chart" }, heading && el("h3", null, heading), trendPlot(description, label, points),
    el("figcaption", { class: "quiet" }, `${description}. Convention ${convention}. ${legend}`, conclusion === "plateau" && ` Plateau: ${plural(without, "run")} without a gain.`, excluded > 0 && ` ${plural(excluded, "run")} not shown, because ${excluded === 1 ? "it is" : "they are"} incomplete or not comparable.`),
    behind([
      { key: "title", title: "Run" },
      { key: "started_at", title: "Started", format: "time" },
      { key: "value", title: label, format: "number", cell: ({ value }) => text(value) },
      ...(known.some(({ errors }) => errors) ? [{ key: "errors", title: "Cases with errors", format: "count" }] : []),
      { key: "interval", title: "95% CI", align: "right", cell: ({ interval }) => interval && intervalText(interval) },
    ], known));
}
