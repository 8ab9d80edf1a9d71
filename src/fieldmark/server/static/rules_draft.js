// The edited rules, stored in the browser until they are saved to the workspace.

import { stored } from "./page.js";

const STORAGE_KEY = "fieldmark-draft";
export const WORDS = ["EXACT", "FUZZY", "SEMANTIC", "IGNORE"];
export const THRESHOLDS = { fuzzy: 0.85, semantic: 0.8 };
export const WEIGHTS = { accuracy: 0.45, completeness: 0.25, safety: 0.15, hallucination: 0.15 };
const NATIVE = ["scope", "depth", "defaults", "empty_tokens", "empty_containers", "empty_blanks", "strict", "provider"];

// Convert the rules of the workspace to a draft.
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

// Return the settings of a rules file other than its fields.
export function restOf(rules) {
  if (rules === null || typeof rules !== "object" || Array.isArray(rules)) return {};
  const isRulesFile = "fields" in rules || NATIVE.some((name) => name in rules && typeof rules[name] === "object");
  return isRulesFile ? Object.fromEntries(Object.entries(rules).filter(([name]) => NATIVE.includes(name))) : {};
}

export function load(workspace) {
  const saved = stored(STORAGE_KEY);
  if (saved) {
    try {
      const draft = JSON.parse(saved);
      if (Array.isArray(draft.rows)) return { ...fromWorkspace(workspace), ...draft };
    } catch { /* ignore an unreadable draft */ }
  }
  return fromWorkspace(workspace);
}

export function save(draft) {
  stored(STORAGE_KEY, JSON.stringify(draft));
}

export function discard() {
  stored(STORAGE_KEY, null);
}

export function isChanged() {
  return stored(STORAGE_KEY) !== null;
}

// Return the settings of a row, or only the strategy name if there are no others.
function settings(row, thresholds) {
  const { path, match, ...own } = row;
  const word = String(match || "");
  const name = word.toLowerCase();
  if (!WORDS.includes(word)) return { match: word, ...own };
  const threshold = own.threshold ?? thresholds[name];
  if (name in THRESHOLDS && threshold !== THRESHOLDS[name]) return { ...own, match: name, threshold };
  const { threshold: defaultThreshold, ...others } = own;
  return Object.keys(others).length ? { ...others, match: word === "EXACT" ? "exact_text" : name } : word;
}

// Return the draft as rules for the server, or null if it is empty. Fields without other settings are
// written as a strategy file, because `fields` with only strategy names would be read as a document.
export function rulesOf(draft) {
  const fields = Object.fromEntries(draft.rows.filter((row) => row.path && row.match).map((row) => [row.path, settings(row, draft.thresholds)]));
  const rest = { ...draft.rest };
  const semantic = draft.thresholds.semantic;
  if (draft.convention === "four_phase" && semantic !== THRESHOLDS.semantic && !rest.defaults) rest.defaults = { match: "auto", threshold: semantic };
  const hasFields = Object.keys(fields).length > 0;
  if (!Object.keys(rest).length) return hasFields ? fields : null;
  return hasFields ? { ...rest, fields } : rest;
}

export function optionsOf(draft) {
  const options = {};
  if (Object.entries(WEIGHTS).some(([name, weight]) => draft.weights[name] !== weight)) options.rqs_weights = draft.weights;
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
