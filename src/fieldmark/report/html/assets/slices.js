// The metrics of slices: one table per key, the weakest slice first.

function sliceSection(run) {
  return section("slices", "Slices", "Metrics of groups of cases, the weakest group first. A slice with few cases has a wide confidence interval.", run.slices.map(sliceTable));
}

// The name of a slice for people: "tag = other" for tag=other.
function sliceText(name) {
  const place = name.indexOf("=");
  return `${name.slice(0, place)} = ${name.slice(place + 1) || "(none)"}`;
}

function sliceTable([key, titles, rows, [slices, spread]]) {
  const metric = (label, place) => ({ name: label, label, numeric: true, value: (row) => row[2][place], cell: (row) => rate(row[2][place]) });
  const table = sortableTable({
    caption: `Slices by ${key}`, step: 25, empty: "No slices.",
    columns: [
      { name: "slice", label: "Slice", value: (row) => row[0], cell: (row) => [el("a", { href: casesHref({ slice: sliceName(key, row[0]) }) }, el("bdi", { class: "literal" }, shown(row[0]))), [...row[4], ...(row[5] ? ["few cases"] : [])].map((note) => [" ", el("span", { class: "tile-note" }, note)])] },
      { name: "cases", label: "Cases", numeric: true, value: (row) => row[1], cell: (row) => whole(row[1]) },
      { ...metric(titles[0], 0), cell: (row) => [el("span", { class: "f1" }, rate(row[2][0])), row[3] && el("span", { class: "interval", title: "95% confidence interval" }, `${rate(row[3][0], 2)}${DASH}${rate(row[3][1], 2)}`)] },
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(row[4].length ? null : row[2][0], row[3]) },
      ...titles.slice(1).map((label, place) => metric(label, place + 1)),
    ],
  });
  table.show(rows);
  const means = spread.map(([mean, deviation], place) => (deviation === null ? null : `${titles[place]} ${rate(mean)} ± ${rate(deviation)}`)).filter(Boolean);
  return el("div", { class: "slices" }, el("h3", null, "By ", el("bdi", { class: "literal" }, shown(key))), table.node,
    means.length > 0 && el("p", { class: "quiet" }, `Mean ± standard deviation of ${whole(slices)} slices: ${means.join(", ")}`));
}
