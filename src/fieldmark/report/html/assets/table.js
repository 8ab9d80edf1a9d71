// A table that can be sorted by any column and shows more rows on request.

// Numbers that differ only by float noise are ties, as in the order of the library.
function sortable(value) {
  return typeof value === "number" ? Math.round(value * 1e9) / 1e9 : value;
}

// A column is {name, label, value(row) to sort by, cell(row) to display, numeric, hint}. Only the
// first rows are shown; buttons show more.
function sortableTable({ columns, caption, step = 50, sort = null, empty = "No matching rows", rowProps = null }) {
  let rows = [], shownRows = step, order = sort;
  const body = el("tbody");
  const more = el("p", { class: "more" });
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: column.numeric ? "numeric" : null, title: column.hint });
    if (!column.value) return fill(head, null, [column.label]);
    return fill(head, null, [button(column.label, () => sortBy(column), { class: "sort" })]);
  });
  const table = el("table", null, el("caption", { class: "spoken" }, caption),
    el("thead", null, el("tr", null, heads)), body);

  function sortBy(column) {
    const descending = order && order.name === column.name ? !order.descending : Boolean(column.numeric);
    order = { name: column.name, descending };
    draw();
  }
  function ordered() {
    if (!order) return rows;
    const { value } = columns.find((column) => column.name === order.name);
    const sign = order.descending ? -1 : 1;
    return rows.map((row, place) => [sortable(value(row)), place, row]).sort(([one, first], [two, second]) => {
      if (one === null || two === null) return (one === null) - (two === null) || first - second;
      return (one < two ? -sign : one > two ? sign : 0) || first - second;
    }).map(([, , row]) => row);
  }
  function draw() {
    heads.forEach((head, place) => {
      const active = order && order.name === columns[place].name;
      if (columns[place].value) head.setAttribute("aria-sort", active ? (order.descending ? "descending" : "ascending") : "none");
    });
    const all = ordered();
    replace(body, all.length
      ? all.slice(0, shownRows).map((row) => el("tr", rowProps && rowProps(row), columns.map((column, place) =>
        el(place ? "td" : "th", { scope: place ? null : "row", class: column.numeric ? "numeric" : column.css, "data-label": column.label }, column.cell(row)))))
      : el("tr", null, el("td", { colspan: columns.length, class: "quiet" }, empty)));
    const left = all.length - shownRows;
    replace(more, left > 0 && [
      button(`Show ${whole(Math.min(step, left))} more`, () => grow(step)),
      button(`Show all ${whole(all.length)}`, () => grow(all.length)),
    ]);
  }
  function grow(by) {
    shownRows += by;
    draw();
  }
  window.addEventListener("beforeprint", () => {
    if (shownRows < 200 && rows.length > shownRows) { shownRows = 200; draw(); }
  });
  return {
    node: el("div", { class: "table" }, el("div", { class: "table-scroll" }, table), more),
    show(fresh) {
      rows = fresh;
      shownRows = Math.max(step, Math.min(shownRows, step));
      draw();
    },
  };
}
