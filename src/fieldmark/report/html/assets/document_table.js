// Tables of the documents of analyses: each cell has a value, a text and a tone.

const TONES = { strong: "f1", quiet: "quiet", good: "better", bad: "worse", warning: "worse", active: "f1" };

function tonedText({ text, tone }) {
  return tone in TONES ? el("span", { class: TONES[tone] }, shown(text)) : shown(text);
}

// The table as nodes. `columns` has what a page adds to columns by their keys, such as cells with links.
function documentTable(table, { columns = {}, ...options }) {
  return tableNode({
    ...options, rows: table.rows,
    columns: table.columns.map(({ key, title, align }) => ({ key, title, align, value: (row) => row[key].value, cell: (row) => tonedText(row[key]), ...columns[key] })),
  });
}

// The rows of a table with their plain values.
function valuesOf({ rows }) {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, { value }]) => [key, value])));
}
