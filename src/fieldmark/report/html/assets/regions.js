// Regions of a page: expected regions as solid lines, predicted regions as dashed lines.

function regionMap({ form, regions, more }) {
  const points = regions.flatMap(([, , ours, theirs]) => [...(ours || []), ...(theirs || [])]);
  const left = Math.min(0, ...points.map(([x]) => x)), top = Math.min(0, ...points.map(([, y]) => y));
  const right = Math.max(...points.map(([x]) => x)), bottom = Math.max(...points.map(([, y]) => y));
  const width = Math.max(right - left, 1e-9), height = Math.max(bottom - top, 1e-9);
  const margin = Math.max(width, height) * 0.03;
  const tall = Math.min(560, Math.max(160, 640 * height / width));
  const picture = svg("svg", {
    class: "page", role: "img", "aria-label": `${plural(regions.length, "region")} on a page`, height: tall,
    viewBox: `${left - margin} ${top - margin} ${width + 2 * margin} ${height + 2 * margin}`,
  }, svg("rect", { class: "page-sheet", x: left - margin, y: top - margin, width: width + 2 * margin, height: height + 2 * margin }));
  for (const [path, outcome, ours, theirs] of regions) {
    const { word, css } = OUTCOMES[outcome];
    const group = svg("g", { class: `region region-${css}` }, svg("title", null, `${path}: ${word}`));
    if (ours) group.append(svg("polygon", { class: "region-ours", points: ours.map((point) => point.join(",")).join(" ") }));
    if (theirs) group.append(svg("polygon", { class: "region-theirs", points: theirs.map((point) => point.join(",")).join(" ") }));
    picture.append(group);
  }
  const counted = new Map();
  for (const [, outcome] of regions) counted.set(outcome, (counted.get(outcome) || 0) + 1);
  return el("figure", { class: "regions" }, picture,
    el("figcaption", null,
      el("span", { class: "legend" },
        el("span", null, svg("svg", { width: 22, height: 10, "aria-hidden": "true" }, svg("path", { class: "line-ours", d: "M0 5H22" })), "expected"),
        el("span", null, svg("svg", { width: 22, height: 10, "aria-hidden": "true" }, svg("path", { class: "line-theirs", d: "M0 5H22" })), "predicted"),
        Array.from(counted, ([outcome, count]) => mark(outcome, { count, word: true }))),
      el("span", { class: "quiet" }, form === "xywh" ? "Boxes are [x, y, width, height]." : "Boxes are [x1, y1, x2, y2].",
        more > 0 && ` ${plural(more, "more region")} not shown.`)));
}
