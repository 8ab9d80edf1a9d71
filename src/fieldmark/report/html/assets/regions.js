// Regions of a page: expected regions as thin solid lines, predicted regions as thick dashed lines,
// so both can be told apart without color. They are drawn over the image of the page if there is one.

import { isBelow, pathOfRow, revealRow, rowOfPath } from "./document_tree.js";
import { button, el, labelled, replace, svg } from "./dom.js";
import { isMistake, mark, OUTCOMES, plural, whole } from "./labels.js";
import { shown } from "./values.js";

// How coordinates are read, by name: factors for x and y on a page of this size.
const UNITS = {
  fractions: ["fractions of the page (0 to 1)", ([width, height]) => [width, height]],
  thousandths: ["thousandths of the page (0 to 1000)", ([width, height]) => [width / 1000, height / 1000]],
  pixels: ["pixels of the image", () => [1, 1]],
  frame: ["pixels of the stated image size", ([width, height], frame) => [width / frame[0], height / frame[1]]],
  points: ["points (72 per inch)", () => [1, 1]],
  dpi100: ["pixels at 100 per inch", () => [72 / 100, 72 / 100]],
  dpi150: ["pixels at 150 per inch", () => [72 / 150, 72 / 150]],
  dpi200: ["pixels at 200 per inch", () => [72 / 200, 72 / 200]],
  dpi300: ["pixels at 300 per inch", () => [72 / 300, 72 / 300]],
};
const ZOOMS = [1, 1.5, 2, 3, 4];
const SIDES = { expected: "expected", candidate: "predicted" };

function possibleUnits(page, frame) {
  const own = page.inPoints ? ["points", "dpi100", "dpi150", "dpi200", "dpi300"] : ["pixels"];
  return [...(frame ? ["frame"] : []), "fractions", "thousandths", ...own];
}

// How the coordinates of each side are read: the first way by which nearly all are on the page. Only
// one side may have fractions, but otherwise both have the same unit.
function detectUnits(sides, page, frame) {
  const isFraction = sides.map((points) => points.length > 0 && points.every((point) => Math.max(...point) <= 1));
  const others = sides.filter((_, side) => !isFraction[side]).flat();
  const order = [...(frame ? ["frame"] : []), ...(page.inPoints ? ["points", "dpi100", "dpi150", "dpi200", "dpi300"] : ["pixels"]), "thousandths"];
  const fits = (unit) => others.filter((point) => isInside(point, UNITS[unit][1](page.size, frame), page.size)).length >= 0.9 * others.length;
  const shared = order.find(fits) || order[frame ? 1 : 0];
  return sides.map((points, side) => (isFraction[side] ? "fractions" : points.length ? shared : null));
}

function isInside(point, factors, size) {
  return [0, 1].every((axis) => point[axis] * factors[axis] <= size[axis] * 1.01);
}

// The view of one page is part of the URL: of its query, or of what follows ? in the hash of a report.
function viewState() {
  const [hash, rest = ""] = location.hash.split("?");
  const inHash = /^#case-/.test(hash);
  const values = new URLSearchParams(inHash ? rest : location.search);
  return {
    get: (name) => values.get(name),
    set(name, value) {
      if (value === null) values.delete(name); else values.set(name, value);
      const text = values.toString();
      const end = text && `?${text}`;
      history.replaceState(history.state, "", inHash ? `${hash}${end}` : `${location.pathname}${end}${location.hash}`);
    },
  };
}

// Regions without an image of their page.
function regionMap(drawn) {
  const points = drawn.regions.flatMap(({ expected, candidate }) => [...(expected || []), ...(candidate || [])]);
  const across = points.map(([x]) => x), down = points.map(([, y]) => y);
  const [frameWidth, frameHeight] = drawn.frame || [0, 0];
  const left = Math.min(0, ...across), top = Math.min(0, ...down);
  const width = Math.max(Math.max(frameWidth, ...across) - left, 1e-9), height = Math.max(Math.max(frameHeight, ...down) - top, 1e-9);
  const margin = drawn.frame ? 0 : Math.max(width, height) * 0.03;
  const box = { x: left - margin, y: top - margin, width: width + 2 * margin, height: height + 2 * margin };
  const tall = Math.min(560, Math.max(160, 640 * height / width));
  const groups = new Map();
  const picture = svg("svg", {
    class: "page", role: "group", "aria-label": `${plural(drawn.regions.length, "region")} on a page`, height: tall,
    viewBox: `${box.x} ${box.y} ${box.width} ${box.height}`,
  }, svg("rect", { class: "page-sheet", ...box }), drawn.frame && svg("rect", { class: "page-frame", width: frameWidth, height: frameHeight }));
  drawRegions(picture, drawn.regions, groups, () => [1, 1]);
  const caption = el("p", { class: "region-caption", role: "status" });
  const figure = el("figure", { class: "regions" }, picture, caption,
    el("figcaption", null, regionLegend(drawn.regions), el("span", { class: "quiet" }, formText(drawn), drawn.frame && ` The frame is the size of the image, ${whole(frameWidth)} × ${whole(frameHeight)}.`)));
  return { figure, groups, caption, showPage: () => {} };
}

// The path of a region, which starts with + in an extra item.
export function regionId({ path, extra }) {
  return `${extra ? "+" : ""}${path}`;
}

// The outcome that a region is drawn by: its own, unless only fields beside it are wrong, such as a class.
function objectOutcome(region) {
  return isMistake(region.mark) || !region.wrong || !region.wrong.length ? region.mark : region.wrong[0].mark;
}

function drawRegions(picture, regions, groups, factorsOf) {
  for (const region of regions) {
    const { path, mark: outcome } = region;
    const { word } = OUTCOMES[outcome], { css } = OUTCOMES[objectOutcome(region)];
    const present = Object.entries(SIDES).filter(([side]) => region[side]).map(([, word]) => word).join(" and ");
    const wrong = (isMistake(outcome) ? [] : region.wrong || []).map((field) => `, ${field.key}: ${OUTCOMES[field.mark].word}`).join("");
    const name = `${path}: ${word} (${present})${wrong}`;
    const group = svg("g", { class: `region region-${css}`, tabindex: "0", role: "button", "aria-label": name, "data-region": regionId(region) }, svg("title", null, name));
    const lines = [];
    [region.expected, region.candidate].forEach((corners, side) => {
      if (!corners) return;
      const [x, y] = factorsOf(side);
      const points = corners.map((point) => [point[0] * x, point[1] * y].join(",")).join(" ");
      // A light line below keeps the region visible on a dark page.
      group.append(svg("polygon", { class: "region-halo", points }));
      lines.push(svg("polygon", { class: side ? "region-theirs" : "region-ours", points }));
    });
    group.append(...lines);
    picture.append(group);
    groups.set(regionId(region), group);
  }
}

function regionLegend(regions) {
  const counted = new Map();
  for (const outcome of regions.map(objectOutcome)) counted.set(outcome, (counted.get(outcome) || 0) + 1);
  const line = (css) => svg("svg", { width: 22, height: 10, "aria-hidden": "true" }, svg("path", { class: css, d: "M0 5H22" }));
  return el("span", { class: "legend" },
    el("span", null, line("line-ours"), "expected (thin solid line)"), el("span", null, line("line-theirs"), "predicted (thick dashed line)"),
    Array.from(counted, ([outcome, count]) => mark(outcome, { count, word: true })));
}

function formText({ form, more }) {
  return `${form === "xywh" ? "Boxes are [x, y, width, height]." : "Boxes are [x1, y1, x2, y2]."}${more > 0 ? ` ${plural(more, "more region")} not shown.` : ""}`;
}

// The pages of a case with the regions over them. Each page has `src`, `file`, `number`, and `width`
// and `height` in points if it is from a PDF file; `why` asks the server why there is no image.
function pageFigure(drawn, pages) {
  const state = viewState();
  const regions = drawn ? drawn.regions : [], frame = drawn && drawn.frame;
  const groups = new Map(), view = el("div", { class: "page-scroll", tabindex: "0", role: "group", "aria-label": "Page" });
  const caption = el("p", { class: "region-caption", role: "status" }), facts = el("span", { class: "quiet" }), legend = el("div");
  const chosen = Number(state.get("page"));
  let current = chosen >= 1 && chosen <= pages.length ? chosen - 1 : 0;
  let zoom = ZOOMS.includes(Number(state.get("zoom"))) ? Number(state.get("zoom")) : 1;
  let unit = state.get("units") || "", picture = null;
  const several = pages.length > 1;
  const fileName = (path) => path.slice(path.indexOf("/") + 1);
  const pageList = el("select", { on: { change: (event) => showPage(Number(event.target.value)) } },
    pages.map(({ file, number }, place) => el("option", { value: place, selected: place === current }, shown(`${place + 1} of ${pages.length}: ${fileName(file)}${number > 1 ? `, page ${number}` : ""}`))));
  const unitList = el("select", { on: { change: (event) => { unit = event.target.value; state.set("units", unit || null); draw(); } } });
  const out = button("−", () => zoomBy(-1), { "aria-label": "Zoom out" }), into = button("+", () => zoomBy(1), { "aria-label": "Zoom in" });
  const share = el("output", { class: "page-zoom" });

  function zoomBy(step) {
    const place = Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(zoom) + step));
    zoom = ZOOMS[place];
    state.set("zoom", zoom === 1 ? null : zoom);
    applyZoom();
  }
  function applyZoom() {
    out.disabled = zoom === ZOOMS[0];
    into.disabled = zoom === ZOOMS[ZOOMS.length - 1];
    share.textContent = `${zoom * 100} %`;
    if (picture) picture.setAttribute("width", `${zoom * 100}%`);
  }
  function pageOf(region) {
    return Math.min(Math.max(region.page || 1, 1), pages.length) - 1;
  }
  function showPage(place) {
    current = place;
    pageList.value = String(place);
    state.set("page", place ? place + 1 : null);
    return draw();
  }
  async function draw() {
    const page = pages[current], asked = current;
    groups.clear();
    picture = null;
    replace(view, el("p", { class: "quiet", role: "status" }, "Loading the page…"));
    let natural;
    try {
      natural = await imageSize(page.src);
    } catch {
      replace(view, el("p", { class: "notice", role: "status" }, "The page cannot be shown. ", shown(page.why ? await page.why() : "This browser cannot read it.")));
      return;
    }
    if (asked !== current) return;
    const inPoints = Boolean(page.width && page.height);
    const size = inPoints ? [page.width, page.height] : natural;
    const here = { size, inPoints };
    const own = regions.filter((region) => pageOf(region) === current);
    const corners = Object.keys(SIDES).map((side) => own.flatMap((region) => region[side] || []));
    const known = possibleUnits(here, frame);
    const detected = detectUnits(corners, here, frame);
    const used = detected.map((each) => (known.includes(unit) ? unit : each));
    picture = svg("svg", { class: "page", role: "group", "aria-label": `Page ${current + 1} with ${plural(own.length, "region")}`, viewBox: `0 0 ${size[0]} ${size[1]}` },
      svg("image", { href: page.src, width: size[0], height: size[1], preserveAspectRatio: "none", role: "img", "aria-label": `Page ${current + 1}` }));
    drawRegions(picture, own, groups, (side) => UNITS[used[side]][1](size, frame));
    replace(view, picture);
    applyZoom();
    const words = [...new Set(detected.filter(Boolean))].map((each) => UNITS[each][0]);
    replace(unitList, el("option", { value: "" }, words.length ? `detected: ${words.join(" and ")}` : "detected"), known.map((each) => el("option", { value: each, selected: each === unit }, UNITS[each][0])));
    const outside = corners.some((points, side) => points.some((point) => !isInside(point, UNITS[used[side]][1](size, frame), size)));
    const unplaced = several && own.some((region) => !region.page);
    replace(facts, drawn && formText(drawn), unplaced && " Regions without a page number are drawn on the first page.", outside && " Some regions are outside of the page; choose how coordinates are read.");
    replace(legend, own.length > 0 && regionLegend(own));
  }
  view.addEventListener("keydown", (event) => {
    const step = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) { event.preventDefault(); zoomBy(step); }
    const turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (turn && several && pages[current + turn]) { event.preventDefault(); showPage(current + turn); }
  });
  const figure = el("figure", { class: "regions" },
    el("div", { class: "page-tools" },
      several && el("span", { class: "page-turn" },
        button("‹", () => current > 0 && showPage(current - 1), { "aria-label": "Previous page" }), labelled("Page", pageList),
        button("›", () => current < pages.length - 1 && showPage(current + 1), { "aria-label": "Next page" })),
      el("span", { class: "page-zooms", role: "group", "aria-label": "Zoom" }, out, share, into),
      regions.length > 0 && labelled("Coordinates", unitList)),
    view, caption, el("figcaption", null, legend, facts));
  draw();
  const pageOfPath = (path) => regions.filter((region) => regionId(region) === path).map(pageOf)[0];
  return { figure, groups, caption, showPage: async (path) => { const place = pageOfPath(path); if (place !== undefined && place !== current) await showPage(place); } };
}

function imageSize(src) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve([image.naturalWidth, image.naturalHeight]);
    image.onerror = reject;
    image.src = src;
  });
}

// Links regions and rows in both directions: the one that is pointed at or has the focus marks the
// other, and a click or Enter goes there.
function linkRegions({ figure, groups, caption, showPage }, regions, tree) {
  const parentOf = (path) => path.replace(/(\.[^.[\]]+|\[[^[\]]*\])$/, "");
  const paths = regions.map(regionId);
  let marked = [];
  function markPath(path) {
    for (const each of marked) each.classList.remove("linked");
    marked = path ? [groups.get(path), rowOfPath(tree, path)].filter(Boolean) : [];
    for (const each of marked) each.classList.add("linked");
    const group = path && groups.get(path);
    replace(caption, group ? shown(group.getAttribute("aria-label")) : "");
  }
  // The region of a field: its own, or the region of the object around it.
  function regionOf(path) {
    return paths.find((each) => each === path) || paths.find((each) => parentOf(each) && parentOf(each) !== each && (parentOf(each) === path || isBelow(path, parentOf(each)))) || null;
  }
  const pathOfEvent = (event) => { const row = event.target.closest("[data-path]"); return row && regionOf(pathOfRow(row)); };
  for (const name of ["mouseover", "focusin"]) {
    figure.addEventListener(name, (event) => { const group = event.target.closest("[data-region]"); if (group) markPath(group.dataset.region); });
    tree.addEventListener(name, (event) => { const path = pathOfEvent(event); if (path) markPath(path); });
  }
  function goToRow(path) {
    const row = rowOfPath(tree, path);
    if (!row) return;
    revealRow(row);
    const target = row.querySelector(".to-page") || row;
    if (target === row) row.tabIndex = -1;
    target.focus({ preventScroll: true });
    markPath(path);
  }
  figure.addEventListener("click", (event) => { const group = event.target.closest("[data-region]"); if (group) goToRow(group.dataset.region); });
  figure.addEventListener("keydown", (event) => {
    const group = event.target.closest("[data-region]");
    if (group && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); goToRow(group.dataset.region); }
  });
  async function goToRegion(path) {
    await showPage(path);
    const group = groups.get(path);
    if (!group) return;
    group.scrollIntoView({ block: "nearest", inline: "nearest" });
    group.focus({ preventScroll: true });
    markPath(path);
  }
  for (const path of paths) {
    const row = rowOfPath(tree, path);
    if (!row || row.querySelector(":scope > .to-page, :scope > .field-key > .to-page")) continue;
    const link = button("▣", () => goToRegion(path), { class: "to-page", title: "Show on the page", "aria-label": `Show ${path.replace("+", "extra ")} on the page` });
    (row.querySelector(":scope > .field-key") || row.querySelector(":scope > summary") || row).append(link);
  }
}

// The regions of a case, and its pages once they are found, linked to the tree of its fields.
export function pageSection(drawn, found, tree) {
  const body = el("div"), section = el("section", { class: "page-section", "aria-label": "Page" }, el("h2", null, found ? "Page" : "Regions"), body);
  function show(figure) {
    replace(body, figure.figure);
    if (drawn) linkRegions(figure, drawn.regions, tree);
  }
  /** @param {{ pages: any[], problems?: string[], left_out?: string }} found */
  function withPages({ pages, problems, left_out: leftOut }) {
    if (pages.length) show(pageFigure(drawn, pages));
    else if (drawn) show(regionMap(drawn));
    else replace(body);
    section.hidden = !pages.length && !drawn && !(problems || []).length && !leftOut;
    const around = section.parentElement;
    if (!pages.length && around && around.classList.contains("beside")) around.className = "below";
    for (const text of problems || []) body.append(el("p", { class: "notice" }, shown(text)));
    if (leftOut) body.append(el("p", { class: "quiet" }, shown(leftOut)));
  }
  if (!found) show(regionMap(drawn));
  else if (found.then) {
    replace(body, el("p", { class: "quiet", role: "status" }, "Looking for pages…"));
    found.then(withPages, (error) => withPages({ pages: [], problems: [error.message] }));
  } else withPages(found);
  return section;
}
