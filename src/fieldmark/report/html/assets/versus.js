// Two runs against each other: what became worse comes first.

function versusSection(run) {
  const { name, counts, tiles, attributes, cases, changed } = run.versus;
  const [worse, better, same, fresh, gone] = counts;
  const change = (before, after) => (after ?? 0) - (before ?? 0);
  const delta = (before, after) => {
    const moved = change(before, after);
    if ((before === null) !== (after === null)) {
      return el("span", { class: `change ${before === null ? "better" : "worse"}` }, before === null ? "▲ was undefined" : "▼ now undefined");
    }
    return el("span", { class: `change ${moved < 0 ? "worse" : moved > 0 ? "better" : ""}` }, `${moved < 0 ? "▼" : moved > 0 ? "▲" : "="} ${signed(moved)}`);
  };
  const byAttribute = sortableTable({
    caption: "Attributes that changed", step: 15, empty: "No attribute has changed.",
    columns: [
      { name: "attribute", label: "Attribute", value: (row) => row[0], cell: (row) => pathText(row[0]) },
      { name: "before", label: "F1 before", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "after", label: "F1 now", numeric: true, value: (row) => row[2], cell: (row) => rate(row[2]) },
      { name: "change", label: "Change", numeric: true, value: (row) => change(row[1], row[2]), cell: (row) => delta(row[1], row[2]) },
    ],
  });
  byAttribute.show(attributes);
  const byCase = sortableTable({
    caption: "Cases that changed", step: 25, empty: "No case has changed.",
    columns: [
      { name: "case", label: "Case", value: (row) => String(row[0]), cell: (row) => (row[5] === null ? shown(row[0]) : el("a", { href: `#case-${row[5] + 1}` }, el("bdi", { class: "literal" }, shown(row[0])))) },
      { name: "before", label: "Before", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "after", label: "Now", numeric: true, value: (row) => row[2], cell: (row) => rate(row[2]) },
      { name: "change", label: "Change", numeric: true, value: (row) => change(row[1], row[2]), cell: (row) => delta(row[1], row[2]) },
      { name: "lost", label: "New mistakes", cell: (row) => fieldList(row[7]) },
      { name: "gained", label: "Mended", cell: (row) => fieldList(row[8]) },
    ],
  });
  let which = "worse";
  const showCases = () => byCase.show(which === "all" ? cases : cases.filter((row) => row[6] === (which === "worse")));
  const control = choice("Cases", [["worse", `Worse (${whole(worse)})`], ["better", `Better (${whole(better)})`], ["all", "All that changed"]],
    worse || !better ? "worse" : "better", (value) => { which = value; showCases(); });
  which = worse || !better ? "worse" : "better";
  showCases();
  return section("versus", "Compared", ["This run against ", el("strong", null, el("bdi", null, shown(name))), "."],
    el("p", { class: "headline" },
      el("strong", { class: worse ? "worse" : "" }, whole(worse)), " worse, ", el("strong", { class: better ? "better" : "" }, whole(better)), " better, ", whole(same), " unchanged",
      fresh > 0 && `, ${whole(fresh)} only in this run`, gone > 0 && `, ${whole(gone)} only in the other`, "."),
    tileGrid(tiles),
    el("h3", null, "Cases"), el("div", { class: "controls" }, control), byCase.node,
    cases.length < changed && el("p", { class: "notice" }, `${whole(cases.length)} of ${whole(changed)} changed cases are listed: those that changed most.`),
    el("h3", null, "Attributes"), byAttribute.node);
}

function fieldList(fields) {
  return el("span", { class: "chips" }, fields.map(([path, times]) => el("span", { class: "tag" }, shown(path), times > 1 && ` × ${whole(times)}`)));
}
