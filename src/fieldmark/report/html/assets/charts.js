// All charts, drawn as SVG: bars, gauges, plots with two axes, and rows on a common scale.
//
// Positions are percentages and texts have a fixed size, so a chart has any width. Parts differ by
// shape, pattern or text, never only by color, and every chart has a table with the same data.

import { COUNT_WORDS } from "./case_links.js";
import { el, svg } from "./dom.js";
import { DASH, rate, whole } from "./labels.js";
import { tableNode } from "./table.js";
import { shown } from "./values.js";

const TICK_STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** (power - 3))).flat();
const ROW_HEIGHT = 26, MAX_TICKS = 6, PLOT_HEIGHT = 260;

// A bar with parts [css, number, label, href]; parts also differ by pattern, as the style defines. A
// part with an address is a link for the mouse; the text beside the bar has the same link.
export function stackedBar(parts, { width = 160, height = 12, total = null, label = "" } = {}) {
  const sum = total ?? parts.reduce((all, [, number]) => all + number, 0);
  const present = parts.filter(([, number]) => number);
  const text = label || (present.length ? present : parts).map(([, number, name]) => `${whole(number)} ${name}`).join(", ");
  const picture = svg("svg", { class: "bar", viewBox: `0 0 ${width} ${height}`, width, height, role: parts.some(([, , , href]) => href) ? "group" : "img", "aria-label": text, preserveAspectRatio: "none" },
    svg("title", null, text));
  let left = 0;
  for (const [css, number, name, href] of parts) {
    if (!number || !sum) continue;
    const wide = Math.max(number / sum * width, 1.5);
    const part = svg("rect", { class: `fill-${css}`, x: left, y: 0, width: Math.min(wide, width - left), height });
    picture.append(href ? svg("a", { href, tabindex: "-1" }, svg("title", null, `${whole(number)} ${name}`), part) : part);
    left += number / sum * width;
  }
  return picture;
}

export function confusionBar(counts, links = {}, options = {}) {
  return stackedBar(Object.entries(COUNT_WORDS).map(([name, word]) => [name, counts[name], word, links[name]]), options);
}

// A metric from 0 to 1 with its confidence interval. Zero is a mark at the start, undefined a dotted line.
export function gauge(value, interval, { width = 64, height = 10 } = {}) {
  const picture = svg("svg", { class: "gauge", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  if (value === null) {
    picture.append(svg("path", { class: "gauge-undefined", d: `M0 ${height / 2}H${width}` }));
    return picture;
  }
  const filled = Math.max(0, Math.min(1, value)) * width;
  picture.append(svg("rect", { class: "gauge-track", x: 0, y: height / 2 - 1.5, width, height: 3, rx: 1.5 }),
    filled ? svg("rect", { class: "gauge-value", x: 0, y: height / 2 - 1.5, width: filled, height: 3, rx: 1.5 })
      : svg("rect", { class: "gauge-zero", x: 0, y: 1, width: 2, height: height - 2 }));
  if (interval) {
    const [low, high] = interval.map((each) => each * width);
    picture.append(svg("path", { class: "gauge-range", d: `M${low} 1V${height - 1}M${low} ${height / 2}H${high}M${high} 1V${height - 1}` }));
  }
  return picture;
}

// Horizontal bars on a common scale: {name, parts, number, detail}.
export function barList(lines, { empty = "No data" } = {}) {
  if (!lines.length) return el("p", { class: "quiet" }, empty);
  const most = Math.max(...lines.map(({ parts }) => parts.reduce((all, [, number]) => all + number, 0)), 1);
  return el("ul", { class: "bars" }, lines.map(({ name, parts, number, detail }) =>
    el("li", null,
      el("span", { class: "bars-name" }, name),
      el("span", { class: "bars-bar" }, stackedBar(parts, { width: 300, height: 14, total: most })),
      el("span", { class: "bars-number" }, number, detail && el("span", { class: "quiet" }, ` ${detail}`)))));
}

// A small line for a table.
export function trendLine(values, { width = 60, height = 16 } = {}) {
  const known = values.map((value, place) => [place, value]).filter(([, value]) => value !== null);
  if (known.length < 2) return null;
  const step = width / Math.max(values.length - 1, 1);
  const points = known.map(([place, value]) => `${(place * step).toFixed(1)},${(height - 2 - value * (height - 4)).toFixed(1)}`);
  const last = points[points.length - 1].split(",");
  const text = `F1 over ${values.length} runs: ${values.map((value) => rate(value)).join(", ")}`;
  return svg("svg", { class: "trend", viewBox: `-2 0 ${width + 5} ${height}`, width: width + 5, height, role: "img", "aria-label": text },
    svg("title", null, text),
    svg("polyline", { points: points.join(" ") }),
    svg("circle", { cx: last[0], cy: last[1], r: 2 }));
}

// Round values that enclose all given ones.
export function roundTicks(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const [least, most] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const step = TICK_STEPS.find((each) => Math.ceil(most / each) - Math.floor(least / each) <= MAX_TICKS);
  const first = Math.floor(least / step + 1e-9), last = Math.max(Math.ceil(most / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

function tickText(value) {
  return Math.abs(value) >= 10 ? whole(value) : value.toFixed(3).replace(/0$/, "");
}

// An axis over the given values, or with the given ticks; `text` formats a tick.
export function axis(title, values, { ticks = roundTicks(values), text = tickText } = {}) {
  return { title, ticks, text, low: ticks[0], high: ticks[ticks.length - 1] };
}

export const UNIT_TICKS = [0, 0.25, 0.5, 0.75, 1];

// A plot with two axes. A layer is called with {x, y, points}, which turn values into positions.
export function plot(label, { x, y, height = PLOT_HEIGHT, links = false }, ...layers) {
  const across = (value) => (value - x.low) / (x.high - x.low) * 100;
  const up = (value) => (1 - (value - y.low) / (y.high - y.low)) * 100;
  const at = {
    x: (value) => `${across(value).toFixed(3)}%`,
    y: (value) => `${up(value).toFixed(3)}%`,
    points: (list) => list.map(([one, two]) => `${across(one).toFixed(3)},${up(two).toFixed(3)}`).join(" "),
  };
  const picture = svg("svg", { class: "plot-picture", height, role: links ? "group" : "img", "aria-label": label },
    !links && svg("title", null, label),
    y.ticks.map((tick) => [svg("line", { class: "plot-grid", x1: "0%", x2: "100%", y1: at.y(tick), y2: at.y(tick) }),
      svg("text", { x: 0, dx: -6, y: at.y(tick), dy: 4, "text-anchor": "end", "aria-hidden": "true" }, y.text(tick))]),
    x.ticks.map((tick) => svg("text", { x: at.x(tick), y: "100%", dy: 16, "text-anchor": "middle", "aria-hidden": "true" }, x.text(tick))),
    layers.map((draw) => draw(at)));
  return el("div", { class: "plot" },
    el("p", { class: "plot-title", "aria-hidden": "true" }, y.title),
    el("div", { class: "plot-area" }, picture),
    el("p", { class: "plot-title plot-x", "aria-hidden": "true" }, x.title));
}

export function plotLine(at, points, css = "plot-line") {
  return svg("svg", { class: "plot-lines", viewBox: "0 0 100 100", preserveAspectRatio: "none", width: "100%", height: "100%" },
    svg("polyline", { class: css, "vector-effect": "non-scaling-stroke", points: at.points(points) }));
}

// A dot with its interval, if any, on the second axis; with `href`, a link.
export function plotPoint(at, x, y, { title, href = null, interval = null, css = "plot-dot", r = 5 }) {
  const dot = [
    interval && svg("line", { class: "plot-range", x1: at.x(x), x2: at.x(x), y1: at.y(interval[0]), y2: at.y(interval[1]) }),
    svg("circle", { class: css, cx: at.x(x), cy: at.y(y), r }, svg("title", null, title))];
  return href ? svg("a", { href, "aria-label": title }, dot) : svg("g", null, dot);
}

// One line per row: its name on the left and marks on a common scale. `draw(row, x, y)` returns the marks.
export function rowPlot(label, rows, { ticks, name, href = (_row) => null, draw }) {
  const low = ticks[0], high = ticks[ticks.length - 1], height = rows.length * ROW_HEIGHT;
  const x = (value) => `${(1 + (value - low) / (high - low) * 98).toFixed(3)}%`;
  const linked = rows.some((row) => href(row));
  return el("div", { class: "row-plot" },
    el("ol", { class: "row-names", "aria-hidden": linked ? null : "true" }, rows.map((row) => {
      const text = el("bdi", null, shown(name(row)));
      return el("li", { title: name(row) }, href(row) ? el("a", { href: href(row) }, text) : text);
    })),
    el("div", null,
      svg("svg", { class: "row-picture", height, role: "img", "aria-label": label },
        ticks.map((tick) => svg("line", { class: "plot-grid", x1: x(tick), x2: x(tick), y1: 0, y2: height })),
        rows.map((row, place) => draw(row, x, place * ROW_HEIGHT + ROW_HEIGHT / 2))),
      el("div", { class: "row-axis", "aria-hidden": "true" }, ticks.map((tick) => el("span", null, tickText(tick))))));
}

// An interval with its value, for a row; a filled dot is told apart from an empty one.
export function intervalMark(x, y, value, interval, { title, filled }) {
  const line = (from, to, top, bottom) => svg("line", { class: "row-interval", x1: x(from), x2: x(to), y1: top, y2: bottom });
  const [from, to] = interval || [value, value];
  return svg("g", { class: filled ? "row-mark filled" : "row-mark" }, svg("title", null, title),
    line(from, to, y, y), line(from, from, y - 5, y + 5), line(to, to, y - 5, y + 5),
    svg("circle", { class: "row-dot", cx: x(value), cy: y, r: 5 }));
}

// From an empty dot to a filled one; a significant change has a thick line.
export function dumbbellMark(x, y, before, after, { title, css }) {
  return svg("g", { class: `dumbbell ${css}` }, svg("title", null, title),
    before !== null && after !== null && svg("line", { class: "dumbbell-line", x1: x(before), x2: x(after), y1: y, y2: y }),
    before !== null && svg("circle", { class: "dumbbell-before", cx: x(before), cy: y, r: 5 }),
    after !== null && svg("circle", { class: "dumbbell-after", cx: x(after), cy: y, r: 5 }));
}

// A value over runs, oldest first: points are {name, tick, value, interval, href, best, own}.
export function trendPlot(label, title, points) {
  const known = points.filter(({ value }) => value !== null);
  const ticks = roundTicks(known.flatMap(({ value, interval }) => [value, ...(interval || [])]));
  const last = Math.max(known.length - 1, 1), step = Math.ceil(known.length / MAX_TICKS);
  const places = known.map((_, place) => place).filter((place) => place % step === 0);
  return plot(label, { x: axis("run", [], { ticks: [0, last], text: () => "" }), y: axis(title, [], { ticks }), links: known.some(({ href }) => href) },
    (at) => plotLine(at, known.map(({ value }, place) => [place, value])),
    (at) => known.map(({ name, value, interval, href, best, own }, place) => plotPoint(at, place, value, {
      href, interval, r: own ? 7 : 4, css: best ? "plot-dot best" : "plot-dot",
      title: `${name}: ${rate(value)}${interval ? ` (${intervalText(interval)})` : ""}${best ? ", best" : ""}${own ? ", this run" : ""}` })),
    (at) => places.map((place) => svg("text", { x: at.x(place), y: "100%", dy: 16, "text-anchor": place === 0 ? "start" : place === last ? "end" : "middle", "aria-hidden": "true" }, known[place].tick)));
}

// Bars of a histogram: bins are {low, high, cases}, and `href` returns the address of one. The table
// behind the chart has the same links for the keyboard.
export function histogram(label, bins, { xTitle, yTitle, href }) {
  const ticks = roundTicks([0, ...bins.map(({ cases }) => cases)]).filter(Number.isInteger);
  return plot(label, { x: axis(xTitle, [], { ticks: UNIT_TICKS }), y: axis(yTitle, [], { ticks: ticks.length > 1 ? ticks : [0, 1], text: whole }), links: true },
    (at) => bins.filter(({ cases }) => cases).map((bin) => {
      const { low, high, cases } = bin;
      const [left, right, top] = [at.x(low), at.x(high), at.y(cases)].map(parseFloat);
      return svg("a", { href: href(bin), tabindex: "-1" }, svg("rect", { class: "histogram-bar", x: `${left}%`, width: `${right - left}%`, y: `${top}%`, height: `${100 - top}%` },
        svg("title", null, `${intervalText([low, high], 2)}: ${whole(cases)}`)));
    }));
}

// The data of a chart as a table, closed at first.
export function behind(columns, rows) {
  return el("details", { class: "behind" }, el("summary", null, "Table"),
    tableNode({ caption: "Data of the chart", columns, rows, step: Infinity, isSorted: false, rowHead: null }));
}

export function intervalText(interval, digits = 3) {
  return interval ? `${rate(interval[0], digits)} to ${rate(interval[1], digits)}` : DASH;
}

// A chart with a title and the table behind it.
export function chartPanel(title, lead, picture, table) {
  return el("figure", { class: "panel chart" }, el("h3", null, title), lead && el("p", { class: "quiet" }, lead), picture, table);
}
