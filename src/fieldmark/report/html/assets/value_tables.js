// Expected and found values of attributes with few different values.

import { casesHref, IN_REPORT } from "./case_links.js";
import { el, section } from "./dom.js";
import { pathText, plural, whole } from "./labels.js";
import { tableNode } from "./table.js";
import { shown } from "./values.js";

// The name of a value in a filter: its JSON text, or "absent".
export function valueName(key) {
  return key === "" ? "absent" : key;
}

function valueText(key) {
  if (key === "") return el("span", { class: "value absent" }, "absent");
  const value = JSON.parse(key);
  return el("bdi", { class: "literal" }, shown(typeof value === "string" ? value : key));
}

export function valueTableSection(run) {
  return section("values", "Expected and found values", "Attributes with few different values, most mistakes first. Select a number to see its cases.",
    run.value_tables.map(({ attribute, cells }, place) => el("details", { class: "value-table", open: place === 0 },
      el("summary", null, pathText(attribute), " ", el("span", { class: "quiet" }, plural(cells.reduce((sum, cell) => sum + cell.mistakes, 0), "mistake"))),
      valueTable(attribute, cells))));
}

// A row for each expected value, a column for each found value.
function valueTable(attribute, cells) {
  const values = (side) => Array.from(new Set(cells.map((cell) => cell[side]))).sort((one, two) => Number(one === "") - Number(two === "") || (one < two ? -1 : 1));
  const cellOf = (expected, found) => cells.find((cell) => cell.expected === expected && cell.found === found) || { fields: 0, mistakes: 0 };
  const column = (found) => ({
    title: valueName(found), head: valueText(found), align: "right",
    props({ expected }) {
      const { fields, mistakes } = cellOf(expected, found);
      return { class: `numeric ${fields ? (mistakes ? "pair-worse" : "pair-better") : "zero"}` };
    },
    cell({ expected }) {
      const { fields, mistakes } = cellOf(expected, found);
      if (!fields) return "0";
      const href = casesHref({ attribute, expected: valueName(expected), found: valueName(found), error: IN_REPORT || mistakes ? "" : "tp" });
      return [mistakes > 0 || !IN_REPORT ? el("a", { href }, whole(fields)) : whole(fields),
        mistakes > 0 && mistakes < fields && el("span", { class: "detail" }, plural(mistakes, "mistake"))];
    },
  });
  return tableNode({
    caption: `Expected and found values of ${attribute}`, css: "value-matrix", isSorted: false,
    columns: [{ key: "expected", title: "Expected ↓ found →", cell: ({ expected }) => valueText(expected) }, ...values("found").map(column)],
    rows: values("expected").map((expected) => ({ expected })),
  });
}
