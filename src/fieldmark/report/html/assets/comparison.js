// The comparison of two runs, regressions first.

function comparisonSection(run) {
  const { name, counts, tiles, attributes, cases, changed } = run.comparison;
  const [regressed, improved, unchanged, added, removed] = counts;
  const change = (before, after) => (after ?? 0) - (before ?? 0);
  const delta = (before, after, difference = change(before, after)) => {
    const text = (before === null) === (after === null) ? signed(difference) : before === null ? "was undefined" : "now undefined";
    return el("span", { class: `change ${difference < 0 ? "worse" : difference > 0 ? "better" : ""}` }, `${difference < 0 ? "▼" : difference > 0 ? "▲" : "="} ${text}`);
  };
  const byAttribute = sortableTable({
    caption: "Changed attributes", step: 15, empty: "No changed attributes",
    columns: [
      { name: "attribute", label: "Attribute", value: (row) => row[0], cell: (row) => pathText(row[0]) },
      { name: "before", label: "F1 before", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "after", label: "F1 after", numeric: true, value: (row) => row[2], cell: (row) => rate(row[2]) },
      { name: "change", label: "Change", numeric: true, value: (row) => row[3], cell: (row) => delta(row[1], row[2], row[3]) },
    ],
  });
  byAttribute.show(attributes);
  const byCase = sortableTable({
    caption: "Changed cases", step: 25, empty: "No changed cases",
    columns: [
      { name: "case", label: "Case", value: (row) => String(row[0]), cell: (row) => (row[5] === null ? shown(row[0]) : el("a", { href: `#case-${row[5] + 1}` }, el("bdi", { class: "literal" }, shown(row[0])))) },
      { name: "before", label: "Before", numeric: true, value: (row) => row[1], cell: (row) => rate(row[1]) },
      { name: "after", label: "After", numeric: true, value: (row) => row[2], cell: (row) => rate(row[2]) },
      { name: "change", label: "Change", numeric: true, value: (row) => change(row[1], row[2]), cell: (row) => delta(row[1], row[2]) },
      { name: "new", label: "New mistakes", cell: (row) => fieldList(row[7]) },
      { name: "fixed", label: "Fixed mistakes", cell: (row) => fieldList(row[8]) },
    ],
  });
  let filter = regressed || !improved ? "regressed" : "improved";
  const showCases = () => byCase.show(filter === "all" ? cases : cases.filter((row) => row[6] === (filter === "regressed")));
  const control = choice("Cases", [["regressed", `Regressed (${whole(regressed)})`], ["improved", `Improved (${whole(improved)})`], ["all", "All changed"]],
    filter, (value) => { filter = value; showCases(); });
  showCases();
  return section("comparison", "Comparison", ["Compared with ", el("strong", null, el("bdi", null, shown(name)))],
    el("p", { class: "headline" }, "Cases: ",
      el("strong", { class: regressed ? "worse" : "" }, whole(regressed)), " regressed, ", el("strong", { class: improved ? "better" : "" }, whole(improved)), " improved, ", whole(unchanged), " unchanged",
      added > 0 && `, ${whole(added)} only in this run`, removed > 0 && `, ${whole(removed)} only in the other run`),
    tileGrid(tiles),
    el("h3", null, "Cases"), el("div", { class: "controls" }, control), byCase.node,
    cases.length < changed && el("p", { class: "notice" }, `The ${whole(cases.length)} of ${whole(changed)} changed cases with the largest changes are listed.`),
    el("h3", null, "Attributes"), byAttribute.node);
}

function fieldList(fields) {
  return el("span", { class: "chips" }, fields.map(([path, times]) => el("span", { class: "tag" }, shown(path), times > 1 && ` × ${whole(times)}`)));
}
