// The metrics of slices: one table per key, the weakest slice first.

function sliceSection(run) {
  return section("slices", "Slices", "Metrics of groups of cases, the weakest group first. A slice with few cases has a wide confidence interval.", run.slices.map(sliceTable));
}

// The name of a slice for people: "tag = other" for tag=other.
function sliceText(name) {
  const place = name.indexOf("=");
  return `${name.slice(0, place)} = ${name.slice(place + 1) || "(none)"}`;
}

function sliceTable({ key, slices, metrics, rows }) {
  const [first, ...others] = metrics;
  const notes = (row) => [...row.notes, ...(row.few ? ["few cases"] : [])].map((note) => [" ", el("span", { class: "tile-note" }, note)]);
  const table = tableNode({
    caption: `Slices by ${key}`, step: 25, empty: "No slices.", rows,
    columns: [
      { key: "value", title: "Slice", cell: (row) => [el("a", { href: casesHref({ slice: sliceName(key, row.value) }) }, el("bdi", { class: "literal" }, shown(row.value))), notes(row)] },
      { key: "cases", title: "Cases", format: "count" },
      { key: first.name, title: first.title, format: "number", cell: (row) => [el("span", { class: "f1" }, rate(row[first.name])), spreadNode(row.interval)] },
      { title: "", css: "bar-cell", cell: (row) => gauge(row.notes.length ? null : row[first.name], row.interval) },
      ...others.map(({ name, title }) => ({ key: name, title, format: "number" })),
    ],
  });
  const means = metrics.filter(({ deviation }) => deviation !== null).map(({ title, mean, deviation }) => `${title} ${rate(mean)} ± ${rate(deviation)}`);
  return el("div", { class: "slices" }, el("h3", null, "By ", el("bdi", { class: "literal" }, shown(key))), table,
    means.length > 0 && el("p", { class: "quiet" }, `Mean ± standard deviation of ${whole(slices)} slices: ${means.join(", ")}`));
}
