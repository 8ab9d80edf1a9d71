// Expected and found values of attributes with few different values.

// The name of a value in a filter: its JSON text, or "absent".
function valueName(key) {
  return key === "" ? "absent" : key;
}

function valueText(key) {
  if (key === "") return el("span", { class: "value absent" }, "absent");
  const value = JSON.parse(key);
  return el("bdi", { class: "literal" }, shown(typeof value === "string" ? value : key));
}

function valueTableSection(run) {
  return section("values", "Expected and found values", "Attributes with few different values, those with the most mistakes first. Select a number to see its cases.",
    run.value_tables.map(([path, cells], place) => el("details", { class: "value-table", open: place === 0 },
      el("summary", null, pathText(path), " ", el("span", { class: "quiet" }, plural(cells.reduce((all, cell) => all + cell[3], 0), "mistake"))),
      valueTable(path, cells))));
}

function valueTable(path, cells) {
  const by = (place) => Array.from(new Set(cells.map((cell) => cell[place]))).sort((one, two) => (one === "") - (two === "") || (one < two ? -1 : 1));
  const rows = by(0), columns = by(1);
  const known = new Map(cells.map((cell) => [`${cell[0]}\n${cell[1]}`, cell]));
  const cell = (expected, found) => {
    const [, , number, wrong] = known.get(`${expected}\n${found}`) || [null, null, 0, 0];
    if (!number) return el("td", { class: "numeric zero" }, "0");
    const href = casesHref({ attribute: path, expected: valueName(expected), found: valueName(found), error: IN_REPORT || wrong ? "" : "tp" });
    const linked = wrong > 0 || !IN_REPORT;
    return el("td", { class: wrong ? "numeric pair-worse" : "numeric pair-better" }, linked ? el("a", { href }, whole(number)) : whole(number),
      wrong > 0 && wrong < number && el("span", { class: "detail" }, plural(wrong, "mistake")));
  };
  return el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `Values of ${path}` }, el("table", { class: "value-matrix" },
    el("caption", { class: "spoken" }, `Expected and found values of ${path}`),
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "Expected ↓ found →"), columns.map((found) => el("th", { scope: "col", class: "numeric" }, valueText(found))))),
    el("tbody", null, rows.map((expected) => el("tr", null, el("th", { scope: "row" }, valueText(expected)), columns.map((found) => cell(expected, found)))))));
}
