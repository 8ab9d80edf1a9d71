// The comparison in the report: the cases that changed are in the file, up to a limit.

function comparisonSection(run, opened, before) {
  const found = run.comparison, state = hashFilters(CHANGE_FILTERS);
  const cases = found.changes;
  // Paths and values of changed fields, and of the documents that the report includes.
  const textOfChange = (fields, id, rank) => [id, ...(rank === null ? [] : run.cases.lines[rank].tags),
    ...fields.flatMap(({ path, values = {} }) => [path, ...Object.values(values).filter((slot) => !["missing", "hidden"].includes(kindOf(slot))).map(textOf)]),
    ...[opened[rank], before[rank]].flatMap((view) => (view ? treeTexts(view.tree) : []))].join("\n").toLowerCase();
  const matches = ({ direction, attributes, slices, fields, rank, case_id: id }, wanted) => {
    const own = wanted.attribute && attributes.find(({ attribute }) => attribute === wanted.attribute);
    if (wanted.attribute && !own) return false;
    const way = own ? (own.change > 0 ? "improved" : "worse") : direction;
    return (!wanted.direction || way === wanted.direction) && (!wanted.slice || slices.includes(wanted.slice))
      && textOfChange(fields, id, rank).includes(wanted.text.trim().toLowerCase());
  };
  const list = changedCaseList({
    state, attributes: changedNames(found.tables.attributes).sort(), slices: valuesOf(found.tables.slices).map(({ name }) => name).sort(),
    load: async (wanted) => {
      const all = cases.filter((each) => matches(each, wanted));
      return { total: all.length, cases: all.slice(wanted.offset, wanted.offset + wanted.limit) };
    },
    save: (changed) => history.replaceState(null, "", hashAddress("comparison-changed", changed)),
    href: ({ rank }, path) => (rank === null ? null : hashAddress(`${before[rank] ? "diff" : "case"}-${rank + 1}`, { path })),
  });
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#comparison-changed")) list.show(hashFilters(CHANGE_FILTERS));
  });
  const links = {
    attribute: (attribute, direction) => hashAddress("comparison-changed", { attribute, direction }),
    slice: (slice, direction) => hashAddress("comparison-changed", { slice, direction }),
  };
  return section("comparison", "Comparison", ["Compared with ", el("strong", null, el("bdi", null, shown(found.before.title)))],
    comparisonHead(found, links), tileGrid(found.tiles),
    comparisonParts(found, links, [
      cases.length < found.changed && el("p", { class: "notice" }, `The ${whole(cases.length)} of ${whole(found.changed)} cases with the largest changes are listed. fieldmark diff --format json lists all.`), list.node,
    ]).map(({ id, title, lead, node }) =>
      el("div", { id: `comparison-${id}` }, el("h3", null, title), lead && el("p", { class: "quiet" }, lead), node)));
}

// One case of the report in both runs.
function comparedCase(rank, { run, opened, before, path }) {
  const { id } = run.cases.lines[rank];
  const { before: first, after: second } = run.comparison;
  return el("article", { class: "case", "aria-labelledby": "case-title" },
    el("nav", { class: "case-nav", "aria-label": "Cases" }, el("a", { href: "#comparison-changed", id: "back" }, "← Changed cases"),
      el("a", { href: `#case-${rank + 1}` }, "Only this run")),
    el("header", { class: "case-head" }, el("h1", { id: "case-title", tabindex: "-1" }, el("bdi", { class: "literal" }, shown(id)))),
    sideBySide([{ name: first.title, view: before[rank] }, { name: second.title, view: opened[rank] }], { path }));
}
