// A table that can be sorted by any column and shows more rows on request.

const VIRTUAL_ROWS = 500;
const OVERSCAN = 15;

// Numbers that differ only by float noise are ties, as in the order of the library.
function sortable(value) {
  return typeof value === "number" ? Math.round(value * 1e9) / 1e9 : value;
}

// A column is {name, label, value(row) to sort by, cell(row) to display, numeric, most, hint, head}.
// With `most`, the first click sorts the largest value first. `head` is a node that the head shows
// instead of the label. Rows whose value is undefined are last in either direction. Only the first
// rows are shown; buttons show more. A long table has only the rows in view in the document.
function sortableTable({ columns, caption, step = 50, sort = null, empty = "No matching rows", rowProps = null, onSort = null }) {
  let rows = [], all = [], shownRows = step, order = sort, rowHeight = 37;
  const body = el("tbody");
  const more = el("p", { class: "more" }), last = el("p", { class: "quiet last-rows" }), printed = el("p", { class: "quiet printed-rows" });
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: column.numeric ? "numeric" : null, title: column.hint });
    const label = column.head || column.label;
    if (!column.value) return fill(head, null, [label]);
    return fill(head, null, [button(label, () => sortBy(column), { class: "sort" })]);
  });
  const table = el("table", null, el("caption", { class: "spoken" }, caption),
    el("thead", null, el("tr", null, heads)), body);
  const scroller = el("div", { class: "table-scroll" }, table);
  const above = el("td", { colspan: columns.length }), below = el("td", { colspan: columns.length });
  const spacers = [above, below].map((cell) => el("tr", { class: "spacer", "aria-hidden": "true" }, cell));
  const drawn = new Map();

  function sortBy(column) {
    const first = Boolean(column.numeric || column.most);
    order = { name: column.name, descending: order && order.name === column.name ? !order.descending : first };
    if (onSort) onSort(order);
    draw();
  }
  function ordered() {
    if (!order) return [rows, 0];
    const { value } = columns.find((column) => column.name === order.name);
    const sign = order.descending ? -1 : 1;
    const keyed = rows.map((row, place) => [sortable(value(row) ?? null), place, row]);
    keyed.sort(([one, first], [two, second]) => {
      if (one === null || two === null) return (one === null) - (two === null) || first - second;
      return (one < two ? -sign : one > two ? sign : 0) || first - second;
    });
    return [keyed.map(([, , row]) => row), keyed.filter(([key]) => key === null).length];
  }
  function tableRow(row, place) {
    return el("tr", { ...(rowProps && rowProps(row)), "aria-rowindex": isVirtual() ? place + 2 : null }, columns.map((column, position) =>
      el(position ? "td" : "th", { scope: position ? null : "row", class: column.numeric ? "numeric" : column.css, "data-label": column.label }, column.cell(row))));
  }
  function isVirtual() {
    return Math.min(shownRows, all.length) > VIRTUAL_ROWS;
  }
  function draw() {
    heads.forEach((head, place) => {
      const active = order && order.name === columns[place].name;
      if (columns[place].value) head.setAttribute("aria-sort", active ? (order.descending ? "descending" : "ascending") : "none");
    });
    let undefinedRows;
    [all, undefinedRows] = ordered();
    drawn.clear();
    scroller.classList.toggle("virtual", isVirtual());
    if (isVirtual()) {
      fill(scroller, { tabindex: "0", role: "region", "aria-label": caption }, []);
      table.setAttribute("aria-rowcount", String(all.length + 1));
      replace(body, spacers);
      scroller.scrollTop = 0;
      drawWindow();
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) scroller.removeAttribute(name);
      table.removeAttribute("aria-rowcount");
      replace(body, all.length ? all.slice(0, shownRows).map(tableRow) : el("tr", null, el("td", { colspan: columns.length, class: "quiet" }, empty)));
    }
    const left = all.length - shownRows;
    replace(more, left > 0 && [
      button(`Show ${whole(Math.min(step, left))} more`, () => grow(step)),
      button(`Show all ${whole(all.length)}`, () => grow(all.length)),
    ]);
    printed.textContent = left > 0 ? `The first ${whole(shownRows)} of ${whole(all.length)} rows.` : "";
    const named = order && columns.find((column) => column.name === order.name);
    replace(last, undefinedRows > 0 && undefinedRows < all.length && `${plural(undefinedRows, "row")} without a value for ${named.label} ${undefinedRows === 1 ? "is" : "are"} at the end.`);
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
    const top = document.querySelector(".top");
    if (top) document.documentElement.style.setProperty("--top-height", `${top.offsetHeight}px`);
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
  return {
    node: el("div", { class: "table" }, scroller, last, printed, more),
    show(fresh, { order: chosen = order } = {}) {
      rows = fresh;
      order = chosen;
      if (shownRows <= VIRTUAL_ROWS) shownRows = step;
      draw();
    },
    rows: () => all,
  };
}
