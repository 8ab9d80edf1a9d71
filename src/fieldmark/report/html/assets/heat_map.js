// Attributes by cases. A column is one case or several consecutive cases of the list.

import { casesHref } from "./case_links.js";
import { el, replace, svg } from "./dom.js";
import { outcomeOf, OUTCOMES, outcomeWord, plural, whole } from "./labels.js";
import { shown } from "./values.js";

const CELL = 15;
const MAX_CELL = 34;
const AXIS = 14;
// Every outcome has its own shape in a 15 × 15 square.
const HEAT_SHAPES = {
  match: "M7.5 5.5a2 2 0 1 0 .01 0Z",
  wrong_value: "M2.5 2.5h10v10h-10Z",
  format_error: "M7.5 2.5l5.5 10h-11Z",
  omission: "M2.5 2.5h10v10h-10ZM5 5v5h5v-5Z",
  hallucination: "M7.5 1.5l6 6l-6 6l-6-6Z",
  error: "M3 5l2-2 2.500 2.500 2.500-2.500 2 2-2.500 2.500 2.500 2.500-2 2-2.500-2.500-2.500 2.500-2-2 2.500-2.500Z",
};

// `caseLink` returns the address of a case by its rank, with filters.
export function heatMap(heat, lines, caseLink) {
  const { outcomes, attributes, starts, cells, rest, listed } = heat;
  if (!attributes.length) return el("p", { class: "quiet" }, "No attribute has mistakes.");
  const columns = starts.length + (rest ? 1 : 0);
  const spans = starts.map((start, place) => [start, place + 1 < starts.length ? starts[place + 1] : listed]);
  const single = spans.every(([from, to]) => to - from === 1);
  const step = Math.max(CELL, Math.min(MAX_CELL, Math.floor(840 / columns)));
  const width = columns * step, height = attributes.length * CELL;
  const picture = svg("svg", {
    class: "heat-picture", viewBox: `0 0 ${width} ${height + AXIS}`, width, height: height + AXIS, preserveAspectRatio: "none", role: "img",
    "aria-label": `Heat map of ${plural(attributes.length, "attribute")} by ${plural(listed + rest, "case")}. The tables contain the same data.`,
  });
  attributes.forEach((path, row) => {
    picture.append(svg("rect", { class: row % 2 ? "heat-row odd" : "heat-row", x: 0, y: row * CELL, width, height: CELL }));
    cells[row].forEach((cell, column) => {
      if (cell) picture.append(heatCell(outcomes, cell, column * step + (step - CELL) / 2, row, `${path}\n${columnName(column)}\n${cellText(outcomes, cell)}`));
    });
  });
  // The number of the first case in some of the columns.
  const every = Math.ceil(30 / step);
  for (let column = 0; column < starts.length; column += column ? every : Math.max(every - 1, 1)) {
    picture.append(svg("text", { class: "heat-label", x: column * step + step / 2, y: height + AXIS - 3, "text-anchor": "middle" }, whole(starts[column] + 1)));
  }
  const cursor = svg("rect", { class: "heat-cursor", width: step, height: CELL, visibility: "hidden" });
  picture.append(cursor);
  function columnName(column) {
    if (column >= spans.length) return `${plural(rest, "case")} not in the list`;
    const [from, to] = spans[column];
    return to - from === 1 ? String(lines[from].id) : `cases ${whole(from + 1)} to ${whole(to)} of the list`;
  }
  // The cases that a cell counts: one case with its field, or the cases of the column with a mistake.
  function hrefOf(row, column) {
    if (column >= spans.length) return null;
    const [from, to] = spans[column], attribute = attributes[row];
    return to - from === 1 ? caseLink(from, { attribute }) : casesHref({ attribute, ranks: `${from + 1}-${to}` });
  }
  function place(event) {
    const box = picture.getBoundingClientRect(), scale = box.width / width;
    return [Math.floor((event.clientY - box.top) / scale / CELL), Math.floor((event.clientX - box.left) / scale / step)];
  }
  function open(row, column) {
    const href = row >= 0 && row < attributes.length && column >= 0 && column < columns ? hrefOf(row, column) : null;
    if (href) location.href = href;
  }
  picture.addEventListener("click", (event) => open(...place(event)));
  let at = [0, 0];
  const status = el("p", { class: "quiet heat-status", role: "status" });
  const scroller = el("div", { class: "heat-scroll", tabindex: "0", role: "group", "aria-label": "Heat map. The arrow keys select a cell, Enter opens its cases.", on: { keydown: pressed, focus: select, blur: () => cursor.setAttribute("visibility", "hidden") } }, picture);
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -columns], End: [0, columns] };
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") open(...at);
    else if (event.key in moves) {
      const [down, right] = moves[event.key];
      at = [Math.max(0, Math.min(attributes.length - 1, at[0] + down)), Math.max(0, Math.min(columns - 1, at[1] + right))];
      select();
    } else return;
    event.preventDefault();
  }
  function select() {
    const [row, column] = at, cell = cells[row][column];
    for (const [name, value] of [["x", String(column * step)], ["y", String(row * CELL)], ["visibility", "visible"]]) cursor.setAttribute(name, value);
    const left = column * step;
    if (left < scroller.scrollLeft || left + step > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = left - scroller.clientWidth / 2;
    replace(status, el("bdi", null, shown(attributes[row])), ", ", el("bdi", null, shown(columnName(column))), `: ${cell ? cellText(outcomes, cell) : "nothing to compare"}`);
  }
  const names = el("ul", { class: "heat-names", "aria-hidden": "true" },
    attributes.map((path) => el("li", { title: path }, el("bdi", null, shown(path)))), el("li", { class: "heat-axis" }, "case"));
  const axis = single ? "One column per case, worst first. Select a cell to open its case"
    : `${whole(columns)} columns of several cases each, worst first. Select a cell to list its cases${rest ? `. The last column combines ${plural(rest, "case")} not in the list` : ""}`;
  return el("figure", { class: "heat" },
    el("div", { class: "heat-grid" }, names, scroller), status,
    el("figcaption", null,
      el("span", { class: "legend" }, outcomes.map((name) => el("span", null,
        svg("svg", { width: CELL, height: CELL, "aria-hidden": "true" }, svg("path", { class: heatClass(name), "fill-rule": "evenodd", d: HEAT_SHAPES[name] })),
        outcomeWord(name)))),
      el("span", { class: "quiet" }, axis, ". Fainter symbols have a larger share of matching fields; where there was nothing to compare, there is no symbol.")));
}

function heatClass(name) {
  return `heat-${OUTCOMES[outcomeOf(name)].css}`;
}

// The most frequent mistake determines the shape, and the share of mistakes its opacity. The counts
// are in the order of the outcomes, matches first.
function heatCell(outcomes, counts, left, row, title) {
  const total = counts.reduce((all, number) => all + number, 0);
  const wrong = total - counts[0];
  let worst = 0;
  for (let index = 1; index < counts.length; index += 1) if (counts[index] && (!worst || counts[index] > counts[worst])) worst = index;
  const opacity = wrong ? 0.15 + 0.85 * wrong / total : 1;
  return svg("path", {
    class: heatClass(outcomes[worst]), d: HEAT_SHAPES[outcomes[worst]], "fill-rule": "evenodd",
    transform: `translate(${left} ${row * CELL})`, "fill-opacity": opacity.toFixed(2),
  }, svg("title", null, title));
}

function cellText(outcomes, counts) {
  return counts.map((number, index) => [number, outcomeWord(outcomes[index])]).filter(([number]) => number)
    .map(([number, word]) => `${whole(number)} ${word}`).join(", ");
}
