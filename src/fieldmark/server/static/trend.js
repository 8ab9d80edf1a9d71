// A line chart of a metric over runs.

import { el, plural, rate, svg } from "./report.js";
import { empty } from "./page.js";

const WIDTH = 900, HEIGHT = 220, LEFT = 44, BOTTOM = 24;

const CONCLUSIONS = { target_reached: "target reached", plateau: "plateau: recent gains are below the minimum", continue: "target not reached yet" };

export function trendChart({ steps, best, excluded, conclusion, target, convention }, label) {
  const known = steps.filter(({ value }) => value !== null);
  if (known.length < 2) return empty("Not enough runs for a trend", "A trend requires at least two complete runs with the same ground truth, rules and convention.");
  const values = known.map(({ value }) => value);
  const low = Math.max(0, Math.floor((Math.min(...values) - 0.02) * 20) / 20), most = Math.max(...values), high = most > 1 ? most : Math.min(1, Math.ceil((most + 0.02) * 20) / 20);
  const x = (index) => LEFT + (known.length === 1 ? 0 : index / (known.length - 1) * (WIDTH - LEFT - 16));
  const y = (value) => 12 + (1 - (value - low) / Math.max(high - low, 1e-9)) * (HEIGHT - BOTTOM - 12);
  const ticks = [low, (low + high) / 2, high];
  const description = `${label} over ${plural(known.length, "run")}: from ${rate(values[0])} to ${rate(values[values.length - 1])}`;
  const picture = svg("svg", { class: "trend-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": description },
    ticks.map((tick) => [svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(tick), y2: y(tick) }), svg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(3))]),
    svg("polyline", { class: "line", points: values.map((value, index) => `${x(index)},${y(value)}`).join(" ") }),
    known.map(({ run, value }, index) => svg("a", { href: `/runs/${run}` }, svg("circle", { class: run === best ? "dot best" : "dot", cx: x(index), cy: y(value), r: 4 }, svg("title", null, `${run}: ${rate(value)}`)))));
  return el("figure", { class: "panel" }, picture, el("figcaption", { class: "quiet" }, description, `. Convention ${convention}; target ${target}: ${CONCLUSIONS[conclusion]}.`, excluded > 0 && ` ${plural(excluded, "run")} not shown, because ${excluded === 1 ? "it is" : "they are"} incomplete or not comparable.`));
}
