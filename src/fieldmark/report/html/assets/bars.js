// Small charts, drawn as SVG.

// A bar with parts [css, number, label, href]; parts also differ by pattern, as the style defines. A
// part with an address is a link for the mouse: the same link is in the text beside the bar.
function stackedBar(parts, { width = 160, height = 12, total = null, label = "" } = {}) {
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

function confusionBar(counts, { links = {}, ...options } = {}) {
  return stackedBar(Object.entries(COUNT_WORDS).map(([name, word], place) => [name, counts[place], word, links[name]]), options);
}

// A metric from 0 to 1 with its confidence interval. Zero is a mark at the start, undefined a dotted line.
function gauge(value, interval, { width = 64, height = 10 } = {}) {
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
function barList(lines, { empty = "No data" } = {}) {
  if (!lines.length) return el("p", { class: "quiet" }, empty);
  const most = Math.max(...lines.map(({ parts }) => parts.reduce((all, [, number]) => all + number, 0)), 1);
  return el("ul", { class: "bars" }, lines.map(({ name, parts, number, detail }) =>
    el("li", null,
      el("span", { class: "bars-name" }, name),
      el("span", { class: "bars-bar" }, stackedBar(parts, { width: 300, height: 14, total: most })),
      el("span", { class: "bars-number" }, number, detail && el("span", { class: "quiet" }, ` ${detail}`)))));
}

function trendLine(values, { width = 60, height = 16 } = {}) {
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
