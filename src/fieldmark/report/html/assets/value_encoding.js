// Reads what value_encoding.py writes: values, and tables whose column names are written once.

// The type of an encoded value.
export function kindOf(slot) {
  if (slot === null) return "null";
  if (typeof slot === "string") return "string";
  if (typeof slot === "number") return "number";
  if (typeof slot === "boolean") return "boolean";
  if ("m" in slot) return "missing";
  if ("h" in slot) return "hidden";
  if ("d" in slot) return "number";
  if ("t" in slot) return "string";
  if ("o" in slot) return "object";
  if ("a" in slot) return "list";
  return "json";
}

export function isSame(slot) {
  return slot !== null && typeof slot === "object" && Object.keys(slot).length === 0;
}

export function textOf(slot) {
  if (slot !== null && typeof slot === "object") return slot.t ?? slot.d ?? slot.j ?? "";
  return slot === null ? "null" : String(slot);
}

// A column is a name, a name with the columns of its own values, or "members": rows of the same table.
export function rowsOf({ columns, rows }) {
  return rows.map((values) => rowOf(columns, values));
}

function rowOf(columns, values) {
  const row = {};
  columns.forEach((column, index) => {
    const value = values[index];
    if (column === "members") row.members = value && rowsOf({ columns, rows: value });
    else if (typeof column === "string") row[column] = value;
    else row[column.name] = Array.isArray(value) ? rowOf(column.columns, value) : value;
  });
  return row;
}

// A case with both documents, whose tree, regions and compared fields are rows; null if it has none.
export function openedCase(view) {
  return view && {
    ...view,
    tree: rowsOf(view.tree),
    ...(view.regions && { regions: { ...view.regions, regions: rowsOf(view.regions.regions) } }),
    ...(view.metrics && { metrics: caseMetrics(view.metrics) }),
  };
}

export function caseMetrics(view) {
  return { ...view, fields: rowsOf(view.fields) };
}
