// Average precision and recall of object detection.

function detectionSection(run) {
  return section("detection", "Detection", "Average precision and average recall of detected regions.", run.detection.map(detectionSet));
}

function detectionSet([title, [images, regions, detections], metrics, classes]) {
  const precision = metrics.filter(([name]) => !name.startsWith("AR")), recall = metrics.filter(([name]) => name.startsWith("AR"));
  return el("div", { class: "detection" },
    title && el("h3", null, el("bdi", { class: "literal" }, shown(title))),
    el("p", { class: "quiet" }, `${plural(images, "image")}, ${plural(regions, "expected region")}, ${plural(detections, "detection")}`),
    el("div", { class: "columns" },
      el("div", { class: "panel" }, el("h3", null, "Average precision"), detectionFacts(precision)),
      el("div", { class: "panel" }, el("h3", null, "Average recall"), detectionFacts(recall))),
    classes.length > 0 && classTable(classes));
}

function detectionFacts(metrics) {
  return facts(metrics.map(([name, value, meaning]) => [name, [el("strong", null, rate(value)), " ", el("span", { class: "quiet" }, meaning)]]));
}

function classTable(classes) {
  const table = sortableTable({
    caption: "Region classes", step: 25, sort: { name: "AP", descending: false },
    columns: [
      { name: "class", label: "Class", value: (row) => row[0], cell: (row) => el("bdi", { class: "literal" }, shown(row[0])) },
      ...["AP", "AP50", "AP75", "AR100", "PASCAL AP"].map((label, place) => (
        { name: label, label, numeric: true, value: (row) => row[place + 1], cell: (row) => rate(row[place + 1]) })),
      { name: "gauge", label: "", css: "bar-cell", cell: (row) => gauge(row[1], null) },
    ],
  });
  table.show(classes);
  return table.node;
}
