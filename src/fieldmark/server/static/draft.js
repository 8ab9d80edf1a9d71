// The rules that are being worked on: kept in this browser until they are saved to the workspace.

import { stored } from "./shell.js";

const PLACE = "fieldmark-draft";
export const WORDS = ["EXACT", "FUZZY", "SEMANTIC", "IGNORE"];
export const THRESHOLDS = { fuzzy: 0.85, semantic: 0.8 };
export const WEIGHTS = { accuracy: 0.45, completeness: 0.25, safety: 0.15, hallucination: 0.15 };
const NATIVE = ["scope", "depth", "defaults", "empty_tokens", "empty_containers", "empty_blanks", "strict", "provider"];

// The form of the workspace as a draft.
export function fromWorkspace({ convention, options, gates, rules, rows, revision }) {
  return {
    convention: convention || "four_phase",
    rows: rows.map((row) => ({ ...row })),
    rest: restOf(rules),
    thresholds: { ...THRESHOLDS },
    weights: { ...WEIGHTS, ...(options.rqs_weights || {}) },
    form: options.rqs_form || "subtract",
    gates: [
      ...Object.entries(gates.min || {}).map(([name, limit]) => ({ name, kind: "min", limit })),
      ...Object.entries(gates.max || {}).map(([name, limit]) => ({ name, kind: "max", limit })),
    ],
    revision: revision || "none",
  };
}

// What rules in the native form say beside their fields.
export function restOf(rules) {
  if (rules === null || typeof rules !== "object" || Array.isArray(rules)) return {};
  const shaped = "fields" in rules || NATIVE.some((name) => name in rules && typeof rules[name] === "object");
  return shaped ? Object.fromEntries(Object.entries(rules).filter(([name]) => NATIVE.includes(name))) : {};
}

export function load(workspace) {
  const kept = stored(PLACE);
  if (kept) {
    try {
      const draft = JSON.parse(kept);
      if (Array.isArray(draft.rows)) return { ...fromWorkspace(workspace), ...draft };
    } catch { /* a draft that cannot be read is as good as none */ }
  }
  return fromWorkspace(workspace);
}

export function keep(draft) {
  stored(PLACE, JSON.stringify(draft));
}

export function discard() {
  stored(PLACE, null);
}

export function isChanged() {
  return stored(PLACE) !== null;
}

// The settings of one row: a word where a word says it all.
function settings(row, thresholds) {
  const { path, match, ...own } = row;
  const word = String(match || "");
  const kind = word.toLowerCase();
  if (!WORDS.includes(word)) return { match: word, ...own };
  const threshold = own.threshold ?? thresholds[kind];
  if (kind in THRESHOLDS && threshold !== THRESHOLDS[kind]) return { ...own, match: kind, threshold };
  const { threshold: usual, ...others } = own;
  return Object.keys(others).length ? { ...others, match: word === "EXACT" ? "exact_text" : kind } : word;
}

// The draft as rules that the server takes, or null where there is nothing to say. Fields alone are
// written as a strategy file: inside `fields`, words alone would be taken for a document.
export function rulesOf(draft) {
  const fields = Object.fromEntries(draft.rows.filter((row) => row.path && row.match).map((row) => [row.path, settings(row, draft.thresholds)]));
  const rest = { ...draft.rest };
  const semantic = draft.thresholds.semantic;
  if (draft.convention === "four_phase" && semantic !== THRESHOLDS.semantic && !rest.defaults) rest.defaults = { match: "auto", threshold: semantic };
  const named = Object.keys(fields).length > 0;
  if (!Object.keys(rest).length) return named ? fields : null;
  return named ? { ...rest, fields } : rest;
}

export function optionsOf(draft) {
  const options = {};
  if (Object.entries(WEIGHTS).some(([name, usual]) => draft.weights[name] !== usual)) options.rqs_weights = draft.weights;
  if (draft.form !== "subtract") options.rqs_form = draft.form;
  return options;
}

export function gatesOf(draft) {
  const gates = { min: {}, max: {} };
  for (const { name, kind, limit } of draft.gates) if (name) gates[kind][name] = limit;
  return gates;
}

export function requestOf(draft) {
  return { convention: draft.convention, rules: rulesOf(draft), options: optionsOf(draft) };
}

export function counts(draft) {
  const found = new Map();
  for (const { match } of draft.rows) found.set(match || "none", (found.get(match || "none") || 0) + 1);
  return [...found].sort((one, two) => two[1] - one[1]);
}
