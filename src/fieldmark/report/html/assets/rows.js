// Rows of objects, from tables whose column names are written once.

// A column is a name, a name with the columns of its own values, or "members": rows of the same table.
function rowsOf({ columns, rows }) {
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
function openedCase(view) {
  return view && {
    ...view,
    tree: rowsOf(view.tree),
    ...(view.regions && { regions: { ...view.regions, regions: rowsOf(view.regions.regions) } }),
    ...(view.metrics && { metrics: caseMetrics(view.metrics) }),
  };
}

function caseMetrics(view) {
  return { ...view, fields: rowsOf(view.fields) };
}
