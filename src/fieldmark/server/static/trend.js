// A figure over runs, as a line.

import { el, plural, rate, svg } from "./report.js";
import { empty } from "./shell.js";

const WIDE = 900, TALL = 220, LEFT = 44, BOTTOM = 24;

export function trendChart({ steps, best, left_out: leftOut }, label) {
  const known = steps.filter(({ value }) => value !== null);
  if (known.length < 2) return empty("Not enough runs for a trend", "Two complete runs over the same truth, with the same rules, make one.");
  const values = known.map(({ value }) => value);
  const low = Math.max(0, Math.floor((Math.min(...values) - 0.02) * 20) / 20), high = Math.min(1, Math.ceil((Math.max(...values) + 0.02) * 20) / 20);
  const across = (place) => LEFT + (known.length === 1 ? 0 : place / (known.length - 1) * (WIDE - LEFT - 16));
  const down = (value) => 12 + (1 - (value - low) / Math.max(high - low, 1e-9)) * (TALL - BOTTOM - 12);
  const ticks = [low, (low + high) / 2, high];
  const said = `${label} over ${plural(known.length, "run")}: from ${rate(values[0])} to ${rate(values[values.length - 1])}`;
  const picture = svg("svg", { class: "trend-chart", viewBox: `0 0 ${WIDE} ${TALL}`, role: "group", "aria-label": said },
    ticks.map((tick) => [svg("line", { class: "grid", x1: LEFT, x2: WIDE - 8, y1: down(tick), y2: down(tick) }), svg("text", { x: LEFT - 8, y: down(tick) + 4, "text-anchor": "end" }, tick.toFixed(3))]),
    svg("polyline", { class: "line", points: values.map((value, place) => `${across(place)},${down(value)}`).join(" ") }),
    known.map(({ run, value }, place) => svg("a", { href: `/runs/${run}` }, svg("circle", { class: run === best ? "dot best" : "dot", cx: across(place), cy: down(value), r: 4 }, svg("title", null, `${run}: ${rate(value)}`)))));
  return el("figure", { class: "panel" }, picture, el("figcaption", { class: "quiet" }, said, ".", leftOut > 0 && ` ${plural(leftOut, "run")} left out, which cannot be compared with the newest.`));
}
