// The table of all pages: it is sorted by its columns, and shows more rows on request.

import { button, el, fill, replace } from "./dom.js";
import { DASH, moment, pathText, plural, rate, whole } from "./labels.js";
import { shown } from "./values.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./dom.js").Props} Props */

const VIRTUAL_ROWS = 500;
const OVERSCAN = 15;

// How values are shown, by the name of a format: formats of documents, and of pages.
const FORMATS = {
  text: (value) => (value === null || value === undefined ? null : shown(String(value))),
  count: (value) => (value === null || value === undefined ? DASH : whole(value)),
  number: (value) => rate(value),
  cost: (value) => rate(value, 4),
  seconds: (value) => rate(value, 2),
  path: (value) => pathText(value),
  literal: (value) => el("bdi", { class: "literal" }, shown(value)),
  time: (value) => moment(value),
};
const NUMBERS = ["count", "number", "cost", "seconds"];

/**
 * @typedef {object} Column
 * @property {string} [key] The name of its values in the rows; a column without a key cannot be sorted.
 * @property {Child} [title] The text of its head.
 * @property {Child} [head] A node that the head shows instead.
 * @property {string} [hint] The title of the head.
 * @property {string} [format] A name in FORMATS.
 * @property {string} [align] The side, if it is not the right one for numbers.
 * @property {(row: any) => any} [value] What the rows are sorted by, if it is not the value of the key.
 * @property {(row: any) => Child} [cell] What a cell shows instead of the value in its format.
 * @property {string | null} [css] A class of the cells.
 * @property {(row: any) => Props} [props] Further attributes of the cells.
 * @property {boolean} [isSorted] False if its values have no order.
 * @property {boolean} [largestFirst] Whether the first click sorts the largest value first, as for numbers.
 * @property {Child} [foot] What the last row of the table shows.
 */

/** @typedef {{ key: string, descending: boolean }} Order */

// Numbers that differ only by float noise are ties, as in the order of the library.
export function sortable(value) {
  return typeof value === "number" ? Math.round(value * 1e9) / 1e9 : value;
}

/**
 * The value that a column sorts a row by, or null.
 * @param {Column} column
 * @param {any} row
 */
function valueOf({ key, value }, row) {
  return (value ? value(row) : row[key]) ?? null;
}

/**
 * The rows in the order of a column. Rows whose value is undefined are last in either direction, and
 * rows with equal values keep their order.
 * @param {any[]} rows
 * @param {Column} column
 * @param {boolean} descending
 */
export function sortedRows(rows, column, descending) {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: sortable(valueOf(column, row)) }));
  keyed.sort(({ value: first }, { value: second }) => {
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return first < second ? -sign : first > second ? sign : 0;
  });
  return keyed.map(({ row }) => row);
}

/**
 * A table whose rows are objects. Only the first rows are shown; buttons show more. A long table has
 * only the rows in view in the document.
 * @param {object} options
 * @param {string} options.caption
 * @param {Column[]} options.columns
 * @param {any[] | null} [options.rows]
 * @param {number} [options.step] How many rows are shown at first, and how many more by a button.
 * @param {Order | null} [options.sort]
 * @param {boolean} [options.isSorted] False if no column can be sorted.
 * @param {Child} [options.empty] What a table without rows shows.
 * @param {string | null} [options.css] A class of the table.
 * @param {((row: any) => Props) | null} [options.rowProps] Attributes of rows.
 * @param {string | null} [options.rowHead] The key of the column whose cells are the heads of their
 *   rows, by default the first; null if there is none.
 * @param {((order: Order) => void) | null} [options.onSort]
 */
export function dataTable({
  caption, columns, rows: given = null, step = 50, sort = null, isSorted = true, empty = "No matching rows", css = null,
  rowProps = null, rowHead = columns[0].key, onSort = null,
}) {
  let rows = [], all = [], shownRows = step, order = sort, rowHeight = 37;
  /** @param {Column} column */
  const isNumeric = ({ format, align }) => (align ? align === "right" : NUMBERS.includes(format));
  /** @param {Column} column */
  const isSortable = ({ key, isSorted: own = true }) => isSorted && own && key !== undefined;
  const body = el("tbody");
  const more = el("p", { class: "more" }), last = el("p", { class: "quiet last-rows" }), printed = el("p", { class: "quiet printed-rows" });
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: isNumeric(column) ? "numeric" : null, title: column.hint });
    const title = column.head || column.title;
    return fill(head, null, [isSortable(column) ? button(title, () => sortBy(column), { class: "sort" }) : title]);
  });
  const table = el("table", { class: css }, el("caption", { class: "spoken" }, caption),
    el("thead", null, el("tr", null, heads)), body,
    columns.some(({ foot }) => foot) && el("tfoot", null, el("tr", null, columns.map((column) => cellNode(column, column.foot)))));
  const scroller = el("div", { class: "table-scroll" }, table);
  const above = el("td", { colspan: columns.length }), below = el("td", { colspan: columns.length });
  const spacers = [above, below].map((cell) => el("tr", { class: "spacer", "aria-hidden": "true" }, cell));
  const drawn = new Map();

  function sortBy(column) {
    const first = Boolean(isNumeric(column) || column.largestFirst);
    order = { key: column.key, descending: order && order.key === column.key ? !order.descending : first };
    if (onSort) onSort(order);
    draw();
  }
  function cellNode(column, content, props = null) {
    const isHead = column.key !== undefined && column.key === rowHead;
    return el(isHead ? "th" : "td", { scope: isHead ? "row" : null, class: [isNumeric(column) && "numeric", column.css].filter(Boolean).join(" ") || null, "data-label": column.title, ...props }, content);
  }
  function tableRow(row, place) {
    return el("tr", { ...(rowProps && rowProps(row)), "aria-rowindex": isVirtual() ? place + 2 : null }, columns.map((column) =>
      cellNode(column, column.cell ? column.cell(row) : FORMATS[column.format || "text"](valueOf(column, row)), column.props && column.props(row))));
  }
  function isVirtual() {
    return Math.min(shownRows, all.length) > VIRTUAL_ROWS;
  }
  function draw() {
    heads.forEach((head, place) => {
      const active = order && order.key === columns[place].key;
      if (isSortable(columns[place])) head.setAttribute("aria-sort", active ? (order.descending ? "descending" : "ascending") : "none");
    });
    const sorting = order && columns.find(({ key }) => key === order.key);
    all = sorting ? sortedRows(rows, sorting, order.descending) : rows;
    drawn.clear();
    scroller.classList.toggle("virtual", isVirtual());
    if (isVirtual()) {
      table.setAttribute("aria-rowcount", String(all.length + 1));
      replace(body, spacers);
      scroller.scrollTop = 0;
      drawWindow();
    } else {
      table.removeAttribute("aria-rowcount");
      replace(body, all.length ? all.slice(0, shownRows).map(tableRow) : el("tr", null, el("td", { colspan: columns.length, class: "quiet" }, empty)));
    }
    nameScroller();
    const left = all.length - shownRows;
    replace(more, left > 0 && [
      button(`Show ${whole(Math.min(step, left))} more`, () => grow(step)),
      button(`Show all ${whole(all.length)}`, () => grow(all.length)),
    ]);
    printed.textContent = left > 0 ? `The first ${whole(shownRows)} of ${whole(all.length)} rows.` : "";
    const undefinedRows = sorting ? all.filter((row) => valueOf(sorting, row) === null).length : 0;
    replace(last, undefinedRows > 0 && undefinedRows < all.length && `${plural(undefinedRows, "row")} without a value for ${sorting.title} ${undefinedRows === 1 ? "is" : "are"} at the end.`);
  }
  // A table that scrolls can be scrolled by keys: it has the focus if nothing in it can have it.
  function nameScroller() {
    const scrolls = scroller.scrollWidth > scroller.clientWidth + 1 || scroller.scrollHeight > scroller.clientHeight + 1;
    const named = isVirtual() || (scrolls && !table.querySelector("a[href], button, input, select"));
    for (const [name, value] of Object.entries({ tabindex: "0", role: isVirtual() ? "region" : "group", "aria-label": caption })) {
      if (named) scroller.setAttribute(name, value);
      else scroller.removeAttribute(name);
    }
  }
  // Rows that stay in view are kept, so that they keep the focus.
  function drawWindow() {
    if (!isVirtual()) return;
    const height = scroller.clientHeight || 600;
    const from = Math.max(0, Math.min(all.length - 1, Math.floor(scroller.scrollTop / rowHeight)) - OVERSCAN);
    const to = Math.min(all.length, Math.ceil((scroller.scrollTop + height) / rowHeight) + OVERSCAN);
    for (const [place, node] of drawn) {
      if (place < from || place >= to) {
        node.remove();
        drawn.delete(place);
      }
    }
    for (let place = from; place < to; place += 1) {
      if (drawn.has(place)) continue;
      const node = tableRow(all[place], place);
      let next = place + 1;
      while (next < to && !drawn.has(next)) next += 1;
      (drawn.get(next) || spacers[1]).before(node);
      drawn.set(place, node);
    }
    const first = drawn.get(from), final = drawn.get(to - 1);
    if (final && final.offsetTop > first.offsetTop) rowHeight = (final.offsetTop - first.offsetTop) / (to - 1 - from);
    above.style.height = `${from * rowHeight}px`;
    below.style.height = `${(all.length - to) * rowHeight}px`;
  }
  function grow(by) {
    shownRows += by;
    draw();
  }
  scroller.addEventListener("scroll", () => requestAnimationFrame(drawWindow));
  // The head stays in view if the table needs no scroll bar of its own.
  new ResizeObserver(() => {
    if (!scroller.clientWidth) return;
    scroller.classList.toggle("fits", table.offsetWidth <= scroller.clientWidth + 1);
    const top = /** @type {HTMLElement | null} */ (document.querySelector(".top"));
    if (top) document.documentElement.style.setProperty("--top-height", `${top.offsetHeight}px`);
    nameScroller();
    drawWindow();
  }).observe(scroller);
  let beforePrint = null;
  window.addEventListener("beforeprint", () => {
    if (rows.length <= shownRows && !isVirtual()) return;
    beforePrint = shownRows;
    shownRows = Math.min(Math.max(shownRows, 200), VIRTUAL_ROWS);
    draw();
  });
  window.addEventListener("afterprint", () => {
    if (beforePrint !== null) { shownRows = beforePrint; beforePrint = null; draw(); }
  });
  function show(fresh, { order: chosen = order } = {}) {
    rows = fresh;
    order = chosen;
    if (shownRows <= VIRTUAL_ROWS) shownRows = step;
    draw();
  }
  if (given) show(given);
  return {
    node: el("div", { class: "table" }, scroller, last, printed, more),
    show,
    rows: () => all,
  };
}

/**
 * A table that is drawn once.
 * @param {Parameters<typeof dataTable>[0]} options
 */
export function tableNode(options) {
  return dataTable(options).node;
}

const TONES = { strong: "f1", quiet: "quiet", good: "better", bad: "worse", warning: "worse", active: "f1" };

function tonedText({ text, tone }) {
  return tone in TONES ? el("span", { class: TONES[tone] }, shown(text)) : shown(text);
}

/**
 * A table of a document.
 * @param {{ columns: any[], rows: any[] }} table
 * @param {any} options What a page adds: to the table, and in `columns` to columns by their keys, such
 *   as cells with links.
 */
export function documentTable(table, { columns = {}, ...options }) {
  return tableNode({
    ...options, rows: table.rows,
    columns: table.columns.map(({ key, title, align }) => ({ key, title, align, value: (row) => row[key].value, cell: (row) => tonedText(row[key]), ...columns[key] })),
  });
}

// The rows of a table with their plain values.
export function valuesOf({ rows }) {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, { value }]) => [key, value])));
}
