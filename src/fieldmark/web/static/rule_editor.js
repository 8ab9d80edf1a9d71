// The table of rules: a field, how it is compared, and the options that this comparison has. Used by
// the Rules page and by the page that changes the rules of a run.

import { button, data, el, replace, search } from "./dom.js";
import { plural, whole } from "./labels.js";
import { empty } from "./page.js";
import * as drafts from "./rules_draft.js";
import { dataTable } from "./table.js";
import { shown } from "./values.js";

const page = data("page");
const COMPARATORS = new Map(page.comparators.flatMap(({ comparators }) => comparators.map((each) => [each.name, each])));
const SETTINGS = ["path", "match", "align", "weight", "required"];
const LEADING = new Set(["threshold", "tolerance", "relative", "pattern", "algorithm", "order", "currency", "region", "format"]);
const ALIGN = "align:";

export function comparatorOf(name) {
  return COMPARATORS.get(name);
}

// All comparators by what they compare; `aligners` are for lists whose items are compared.
export function comparatorSelect(label, value, changed, { props = {}, first = [], aligners = false } = {}) {
  const list = el("select", { "aria-label": label, ...props, on: { change: (event) => changed(event.target.value) } },
    first.map(([name, text]) => el("option", { value: name }, text)),
    page.comparators.map(({ group, comparators }) => el("optgroup", { label: group }, comparators.map(({ name, means, summary }) => el("option", { value: name, title: plainText(summary) }, isOther(means, name) ? `${name} (= ${means})` : name)))),
    aligners && el("optgroup", { label: "Items of a list, aligned by" }, page.aligners.map((name) => el("option", { value: ALIGN + name }, name))));
  list.value = value;
  return list;
}

// Whether a word stands for a comparator of another name.
function isOther(means, word) {
  return Boolean(means) && means !== word.toLowerCase();
}

export function numberInput(label, value, props, set) {
  return el("input", { type: "number", "aria-label": label, value: value ?? "", step: "any", ...props, on: { change: (event) => {
    const number = event.target.value === "" ? null : Number(event.target.value);
    event.target.setAttribute("aria-invalid", String(!event.target.validity.valid && event.target.validity.badInput || (number !== null && ((props.min !== undefined && number < props.min) || (props.max !== undefined && number > props.max)))));
    set(number);
  } } });
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// A value as JSON; text without quotes, brackets or braces is a string. Invalid text is marked and has no effect.
function jsonInput(label, value, { placeholder, wanted = (_value) => true }, set) {
  const text = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return el("input", { type: "text", "aria-label": label, value: text, placeholder, spellcheck: "false", on: { change: ({ target }) => {
    const given = target.value.trim();
    let read = null;
    try {
      read = given ? JSON.parse(given) : null;
    } catch {
      read = /^["[{]/.test(given) ? undefined : given;
    }
    const isValid = read === null || (read !== undefined && wanted(read));
    target.setAttribute("aria-invalid", String(!isValid));
    target.title = isValid ? "" : `Not valid JSON, or not of the form ${placeholder || "{…}"}.`;
    if (isValid) set(read);
  } } });
}

// The paths of the fields in a document, as rules name them.
export function pathsOf(value, prefix = "", found = new Set()) {
  if (found.size >= 500) return found;
  if (Array.isArray(value)) for (const item of value.slice(0, 20)) pathsOf(item, `${prefix}[*]`, found);
  else if (value && typeof value === "object") for (const [key, inner] of Object.entries(value)) {
    const step = /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key) ? (prefix ? `.${key}` : key) : `[${JSON.stringify(key)}]`;
    pathsOf(inner, prefix + step, found);
  } else if (prefix) found.add(prefix);
  return found;
}

// `draft` returns the rules, `change(action, notice)` changes them. `paths` are offered as fields.
export function ruleEditor({ draft, change, paths = [], filter = "", filtered = (_filter) => {}, actions = [], reasons = () => ({}) }) {
  const table = el("div", { class: "strategy-table" });
  const chips = el("div", { class: "count-chips", role: "group", "aria-label": "Fields by comparator" });
  const known = el("datalist", { id: "known-paths" }, paths.map((path) => el("option", { value: path })));
  const box = search("Filter", "field name", (value) => { filter = value; filtered(value); draw(); }, { id: "rule-filter", value: filter });
  const add = button("Add field", () => addRow(), { id: "add-row" });

  const drawn = new Map();

  function drawChips() {
    replace(chips, drafts.counts(draft()).map(([word, number]) => el("span", { class: "tag", "data-strategy": word }, `${whole(number)} ${word}`)));
  }

  function draw() {
    drawChips();
    const { rows } = draft();
    const searched = filter.trim().toLowerCase();
    if (!rows.length) return replace(table, empty("No rules for single fields", "All fields are compared as set for other fields.", button("Add field", () => addRow())));
    const weighted = drafts.isWeighted(draft());
    drawn.clear();
    const listed = dataTable({
      caption: "Rules of fields", isSorted: false, rowHead: null, empty: "No matching fields.", step: Infinity,
      rowProps: ({ path }) => ({ "data-path": path }),
      columns: [
        { key: "path", title: "Field", cell: pathInput },
        { key: "match", title: "Compared by", cell: comparison },
        { title: "Options", cell: (row) => parts(row).options },
        ...(weighted ? [
          { key: "weight", title: "Weight", css: "narrow", cell: (row) => numberInput(`Weight of ${nameOf(row)}`, row.weight, { min: 0, placeholder: 1 }, (value) => change(() => setOption(row, "weight", value))) },
          { key: "required", title: "Required", css: "narrow", cell: (row) => el("input", { type: "checkbox", "aria-label": `${nameOf(row)} is required`, checked: row.required !== false, on: { change: (event) => change(() => setOption(row, "required", event.target.checked ? null : false)) } }) },
        ] : []),
        { title: "", head: el("span", { class: "spoken" }, "Remove"), cell: (row) => button("Remove", () => change(() => { rows.splice(rows.indexOf(row), 1); draw(); add.focus(); }, `${row.path || "Field"} removed.`), { "aria-label": `Remove ${row.path || "this row"}` }) },
      ],
      rows: rows.filter(({ path }) => String(path).toLowerCase().includes(searched)),
    });
    return replace(table, listed.node,
      listed.rows().length < rows.length && el("p", null, button(`Show all ${plural(rows.length, "rule")}`, () => { filter = ""; box.querySelector("input").value = ""; filtered(""); draw(); }, { id: "all-rules" })),
      !weighted && rows.some(({ weight, required }) => weight !== undefined || required !== undefined) && el("p", { class: "form-note" }, "Weights and required fields have an effect only on the score of the convention field accuracy; they are kept."));
  }

  // What depends on the comparator of a row. The list of comparators stays when it is drawn again.
  function parts(row) {
    if (!drawn.has(row)) {
      drawn.set(row, { about: el("div"), options: el("div", { class: "rule-settings" }) });
      drawParts(row);
    }
    return drawn.get(row);
  }

  function drawParts(row) {
    const { about, options } = drawn.get(row), comparator = COMPARATORS.get(row.match), reason = reasons()[row.path];
    replace(about, comparator && el("p", { class: "detail" }, isOther(comparator.means, row.match) && `${row.match} means ${comparator.means}. `, shown(plainText(comparator.summary))),
      reason && el("p", { class: "detail" }, "Reason: ", shown(reason)));
    replace(options, optionFields(row));
  }

  function comparison(row) {
    const used = new Map();
    const list = comparatorSelect(`Comparison of ${nameOf(row)}`, comparisonOf(row), (value) => change(() => {
      // Letters that are typed select other comparators on the way, whose options are not lost.
      used.set(comparisonOf(row), { ...row });
      setComparison(row, value, used.get(value));
      drawParts(row);
      drawChips();
    }), { first: row.match || row.align ? [] : [["", "as other fields"]], aligners: true });
    parts(row).list = list;
    return [list, parts(row).about];
  }

  function nameOf(row) {
    return row.path || "the new field";
  }

  function pathInput(row) {
    return el("input", { type: "text", value: row.path, list: "known-paths", "aria-label": "Field", placeholder: "vendor.name or lines[*].amount", spellcheck: "false", on: { change: ({ target }) => change(() => {
      row.path = target.value.trim().replaceAll("[]", "[*]");
      target.closest("tr").dataset.path = row.path;
      parts(row).list.setAttribute("aria-label", `Comparison of ${nameOf(row)}`);
      drawParts(row);
    }) } });
  }

  function optionFields(row) {
    const { options } = COMPARATORS.get(row.match) || { options: [] };
    const shownNames = new Set([...SETTINGS, ...options.map(({ name }) => name)]);
    const rest = Object.entries(row).filter(([name]) => !shownNames.has(name));
    const leading = options.filter(({ name }) => LEADING.has(name)), more = options.filter(({ name }) => !LEADING.has(name));
    return [
      leading.length > 0 && el("div", { class: "rule-options" }, leading.map((option) => optionField(row, option))),
      more.length > 0 && el("details", { class: "rule-more", open: more.some(({ name }) => row[name] !== undefined) }, el("summary", null, plural(more.length, "more option")), el("div", { class: "rule-options" }, more.map((option) => optionField(row, option)))),
      (rest.length > 0 || row.align) && el("label", { class: "rule-option rule-json" }, el("span", null, "other settings"),
        jsonInput(`Other settings of ${row.path || "the new field"}`, rest.length ? Object.fromEntries(rest) : undefined, { placeholder: row.align ? '{"match_fields": ["name"], "threshold": 0.5}' : "", wanted: isObject },
          (settings) => change(() => { for (const [name] of rest) delete row[name]; Object.assign(row, settings); draw(); }))),
    ];
  }

  function optionField(row, { name, kind, choices, default: usual, description }) {
    const set = (value) => change(() => setOption(row, name, value));
    const label = `${name[0].toUpperCase()}${name.slice(1).replaceAll("_", " ")} of ${row.path || "the new field"}`;
    const fallback = name === "threshold" ? draft().thresholds[row.match === "auto" ? "semantic" : String(row.match).toLowerCase()] ?? usual : usual;
    let control = null;
    if (kind === "number") control = numberInput(label, row[name], { ...(name === "threshold" && row.match !== "distance" && { min: 0, max: 1 }), placeholder: fallback ?? "" }, set);
    else if (kind === "boolean") control = el("input", { type: "checkbox", "aria-label": label, checked: row[name] ?? usual ?? false, on: { change: (event) => set(event.target.checked === (usual ?? false) ? null : event.target.checked) } });
    else if (kind === "choice") {
      control = el("select", { "aria-label": label, on: { change: (event) => set(event.target.value || null) } }, el("option", { value: "" }, usual ? `${usual} (default)` : "not set"), choices.filter((word) => word !== usual).map((word) => el("option", { value: word }, word)));
      control.value = row[name] === usual ? "" : row[name] ?? "";
    } else if (kind === "json") control = jsonInput(label, row[name], { placeholder: "JSON" }, set);
    else {
      const text = Array.isArray(row[name]) ? row[name].join(", ") : row[name] ?? "";
      const read = (value) => (kind === "list" ? value.split(",").map((word) => word.trim()).filter(Boolean) : value.trim());
      control = el("input", { type: "text", "aria-label": label, value: text, placeholder: choices ? choices.join(", ") : "", spellcheck: "false", on: { change: (event) => set(event.target.value.trim() ? read(event.target.value) : null) } });
    }
    return el("label", { class: kind === "json" ? "rule-option rule-json" : "rule-option", title: description ? plainText(description) : null }, el("span", null, name.replaceAll("_", " ")), control);
  }

  // Add a rule for a field at the end, because later rules take precedence, or show the one that it
  // has. The filter hides the others.
  function addRow(path = "", match = "") {
    const { rows } = draft();
    filter = path;
    box.querySelector("input").value = path;
    if (!path || !rows.some((row) => row.path === path)) change(() => rows.push({ path, match: match || "EXACT" }));
    draw();
    const row = /** @type {HTMLElement[]} */ ([...table.querySelectorAll("tbody tr")]).findLast((node) => node.dataset.path === path);
    row.classList.add("current");
    row.querySelector(path ? "select" : "input").focus();
    row.scrollIntoView({ block: "center" });
  }

  draw();
  return { node: el("div", null, el("div", { class: "controls" }, box, add, actions), known, chips, table), draw, addRow };
}

// Names in docstrings are quoted with backquotes.
function plainText(text) {
  return text.replaceAll("`", "");
}

const FIELD_SETTINGS = ["path", "weight", "required"];

function comparisonOf(row) {
  return row.align ? ALIGN + row.align : row.match || "";
}

// Change the comparator or aligner of a row, with the options that it had before.
function setComparison(row, word, before = {}) {
  for (const name of Object.keys(row)) if (!FIELD_SETTINGS.includes(name)) delete row[name];
  if (word.startsWith(ALIGN)) row.align = word.slice(ALIGN.length);
  else if (word) row.match = word;
  for (const [name, value] of Object.entries(before)) if (!FIELD_SETTINGS.includes(name)) row[name] = value;
}

function setOption(row, name, value) {
  if (value === null || value === undefined) delete row[name];
  else row[name] = value;
}

// What all comparators do, for people who choose one.
export function comparatorReference() {
  return el("details", { class: "reference", id: "comparators" }, el("summary", null, "What the comparators do"),
    page.comparators.map(({ group, comparators }) => [
      el("h3", null, group),
      el("dl", { class: "comparators" }, comparators.map(({ name, means, summary }) => [el("dt", null, el("code", null, name)), el("dd", null, isOther(means, name) && [`Stands for ${means}. `], shown(plainText(summary)))])),
    ]));
}

// The problems of a draft that can be found without the server.
export function localProblems(draft) {
  const found = [], seen = new Set();
  for (const { path } of draft.rows) {
    if (!path) found.push({ message: "Every row must have a field." });
    else if (seen.has(path)) found.push({ message: `Duplicate field ${path}.` });
    seen.add(path);
  }
  const checkThreshold = (label, value) => { if (!(value >= 0 && value <= 1)) found.push({ message: `${label} must be between 0 and 1.` }); };
  for (const [name, value] of Object.entries(draft.thresholds)) checkThreshold(`The ${name} threshold`, value);
  for (const row of draft.rows) if (typeof row.threshold === "number" && row.match !== "distance") checkThreshold(`The threshold of ${row.path}`, row.threshold);
  for (const [name, value] of Object.entries(draft.weights)) if (!(value >= 0 && Number.isFinite(value))) found.push({ message: `The weight of ${name} must be at least 0.` });
  for (const { name, limit } of draft.gates) if (!name || !Number.isFinite(limit)) found.push({ message: "Every gate must have a metric and a limit." });
  return found;
}
