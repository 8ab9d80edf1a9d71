// The edited rules, stored in the browser until they are saved to the workspace; each rule set has its own
// edits. Edits of the rules file that the server was started with are stored until that file
// changes.

import { lastRequest, request } from "./api.js";
import { data, select, setOptions } from "./dom.js";
import { whole } from "./labels.js";
import { address, remember } from "./page.js";
import { stored } from "./theme.js";

let storageKey = "fieldmark-rules";
const CHOSEN = "fieldmark-rule-set";
const WORDS = { EXACT: "EXACT", exact_text: "EXACT", FUZZY: "FUZZY", SEMANTIC: "SEMANTIC", IGNORE: "IGNORE", ignore: "IGNORE" };
export const THRESHOLDS = { fuzzy: 0.85, semantic: 0.8 };
export const WEIGHTS = { accuracy: 0.45, completeness: 0.25, safety: 0.15, hallucination: 0.15 };
const DEPTHS = { top: "top-level keys", leaf: "leaves" };

// Convert a rules file with a list of fields to a draft.
export function fromFile({ convention, depth, fields, gates, fuzzy_threshold: fuzzy, semantic_threshold: semantic, ...rest }) {
  const { name, rqs_weights: weights, rqs_form: form, ...options } = typeof convention === "string" ? { name: convention } : convention || {};
  return {
    convention: name ? name.replaceAll("-", "_") : data("page").convention,
    options,
    weights: { ...WEIGHTS, ...weights },
    form: form || "subtract",
    depth: depth || "",
    thresholds: { fuzzy: fuzzy ?? THRESHOLDS.fuzzy, semantic: semantic ?? THRESHOLDS.semantic },
    rows: (fields || []).map(flatRow),
    gates: ["min", "max"].flatMap((kind) => Object.entries((gates || {})[kind] || {}).map(([metric, limit]) => ({ name: metric, kind, limit }))),
    rest,
  };
}

// The options of a comparator or aligner may be given next to its name or with it.
function flatRow(row) {
  let flat = { ...row };
  for (const name of ["match", "align"]) {
    if (!flat[name] || typeof flat[name] !== "object") continue;
    const { type, ...options } = flat[name];
    flat = { ...flat, [name]: type, ...options };
  }
  return flat;
}

export function fromWorkspace({ rules, name, file, revision }) {
  return { ...fromFile(rules), name, revision, source: file && `${file} ${revision}` };
}

// Convert a draft to a rules file: the body of requests, and what Save and Export write.
export function fileOf(draft) {
  const options = { ...draft.options };
  if (Object.entries(WEIGHTS).some(([name, weight]) => draft.weights[name] !== weight)) options.rqs_weights = draft.weights;
  if (draft.form !== "subtract") options.rqs_form = draft.form;
  const fields = draft.rows.filter((row) => row.path);
  const gates = {};
  for (const { name, kind, limit } of draft.gates) if (name) gates[kind] = { ...gates[kind], [name]: limit };
  return {
    convention: Object.keys(options).length ? { name: draft.convention, ...options } : draft.convention,
    ...(draft.depth && { depth: draft.depth }),
    fuzzy_threshold: draft.thresholds.fuzzy,
    semantic_threshold: draft.thresholds.semantic,
    ...draft.rest,
    ...(fields.length && { fields }),
    ...(Object.keys(gates).length && { gates }),
  };
}

// A strategy file: fields with one of the four words. `omitted` are the rules that it cannot contain: of
// other comparators, and lists. `reduced` are the ones whose options it omits.
export function strategyFile({ rows }) {
  const named = rows.filter(({ path }) => path), words = named.filter(({ match, align }) => !align && match in WORDS);
  const isReduced = (row) => Object.keys(row).some((name) => !["path", "match"].includes(name));
  return {
    strategies: Object.fromEntries(words.map(({ path, match }) => [path, WORDS[match]])),
    omitted: named.filter((row) => !words.includes(row)).map(({ path }) => path),
    reduced: words.filter(isReduced).map(({ path }) => path),
  };
}

// Add the rules of a file to a draft. Fields, gates and settings of the file replace the ones in the draft.
export function merge(draft, file) {
  const found = fromFile(file);
  const without = (own, added, key) => own.filter((one) => !added.some((two) => key(one) === key(two)));
  draft.rows = [...without(draft.rows, found.rows, ({ path }) => path), ...found.rows];
  draft.gates = [...without(draft.gates, found.gates, ({ name, kind }) => `${kind} ${name}`), ...found.gates];
  draft.rest = { ...draft.rest, ...found.rest };
  for (const name of Object.keys(THRESHOLDS)) if (`${name}_threshold` in file) draft.thresholds[name] = found.thresholds[name];
  const settings = [...("convention" in file ? ["convention", "options", "weights", "form"] : []), ...("depth" in file ? ["depth"] : [])];
  for (const name of settings) draft[name] = found[name];
}

export function load(workspace) {
  const own = fromWorkspace(workspace);
  storageKey = own.source ? "fieldmark-rules-file" : own.name ? `fieldmark-rules:${own.name}` : "fieldmark-rules";
  const saved = stored(storageKey);
  if (saved) {
    try {
      const draft = JSON.parse(saved);
      if (Array.isArray(draft.rows) && (draft.source || "") === own.source) return { ...own, ...draft };
    } catch { /* ignore an unreadable draft */ }
    if (own.source) discard();
  }
  return own;
}

// What the rules are: their source, and how often each comparator is used.
export function rulesText(draft, { file, name }, changed = isChanged()) {
  const origin = name ? `Rule set ${name}` : file ? `Rules of ${file}` : "Default rules";
  const { match } = draft.rest.defaults || {};
  const others = match ? (typeof match === "object" ? match.type : match) : `by the convention ${draft.convention}`;
  const used = counts(draft).map(([word, number]) => `${whole(number)} ${word}`).join(", ");
  return [`${origin}${changed ? ", changed in this browser" : ""}.`,
    used ? `Comparators: ${used}. Other fields: ${others}.` : `No rules for single fields. All fields: ${others}.`,
    draft.gates.length ? `Gates: ${whole(draft.gates.length)}.` : ""].filter(Boolean).join(" ");
}

function addressOf(name) {
  return name ? `/api/rule-sets/${encodeURIComponent(name)}` : "/api/strategies";
}

// The rule set of all pages is the one that was chosen last; the address of a page may name another.
export function rememberSet(name) {
  stored(CHOSEN, name || null);
  remember({ rules: name });
}

// The rules of a page and their draft.
export async function openRules({ strategies, rule_sets: sets, unknown_rules: unknown }) {
  const chosen = stored(CHOSEN);
  if (strategies.name) rememberSet(strategies.name);
  else if (!unknown && sets.some(({ name }) => name === chosen)) {
    // The rules of the server are used if the set cannot be read.
    await request(addressOf(chosen)).then((found) => { Object.assign(strategies, found); rememberSet(chosen); }, () => {});
  }
  return load(strategies);
}

// Replace the content of `draft` and of `workspace` with a rule set; without a name, with the default rules.
export async function useSet(draft, workspace, name, send = request) {
  Object.assign(workspace, await send(addressOf(name)));
  Object.assign(draft, load(workspace));
  rememberSet(name);
}

// The choice of a rule set.
export function ruleSetSelect(draft, workspace, changed, failed, page = data("page")) {
  const send = lastRequest();
  const node = select("Rule set", [], async (value) => {
    try {
      await useSet(draft, workspace, value, send);
      changed();
    } catch (error) {
      draw();
      failed(error);
    }
  }, { id: "rule-set" });
  const draw = () => setOptions(node, [["", page.default_rules || "default rules"], ...page.rule_sets.map(({ name }) => [name, name])], workspace.name);
  draw();
  return { node, draw };
}

// Weights of fields are part of the score only under some conventions.
export function isWeighted({ convention, options }) {
  return options.primary ? options.primary === "weighted_average" : data("page").weighted.includes(convention);
}

export function save(draft) {
  stored(storageKey, JSON.stringify(draft));
}

export function discard() {
  stored(storageKey, null);
}

export function isChanged() {
  return stored(storageKey) !== null;
}

export function counts(draft) {
  const found = new Map();
  for (const { match, align } of draft.rows) {
    const word = match || (align && `align ${align.type || align}`) || "as other fields";
    found.set(word, (found.get(word) || 0) + 1);
  }
  return [...found].sort((one, two) => two[1] - one[1]);
}

export function depthOf(draft) {
  return draft.depth || data("page").conventions[draft.convention];
}

// The choice of the convention, and of what is compared: top-level keys or leaves.
export function scoringSelects(draft, changed) {
  const depths = data("page").conventions;
  const convention = select("Convention", Object.keys(depths).map((name) => [name, name]), (value) => {
    draft.convention = value;
    draw();
    changed();
  }, { id: "convention" });
  const depth = select("Compare", Object.entries(DEPTHS), (value) => {
    draft.depth = value === depths[draft.convention] ? "" : value;
    changed();
  }, { id: "depth" });
  function draw() {
    convention.querySelector("select").value = draft.convention;
    depth.querySelector("select").value = depthOf(draft);
  }
  draw();
  return { nodes: [convention, depth], draw };
}

// The own models of a request: `lexical` needs no model, and `none` judges nothing.
const LOCAL = { provider: "lexical", safety: "none" };
const LABELS = { provider: "Semantic provider", safety: "Safety judge" };

export function modelSelects(strategies, draft, changed = () => {}) {
  const state = address(Object.keys(LOCAL));
  const nodes = Object.keys(LOCAL).map((key) => select(LABELS[key], [], (value) => { state[key] = value; remember({ [key]: value }); changed(); }, { id: `model-${key}` }));
  function draw() {
    Object.entries(LOCAL).forEach(([key, local], place) => {
      const ruled = draft.rest[key], named = ruled && (ruled.type || ruled);
      const own = named || strategies[key];
      const options = [["", `${own} (${named ? "rules" : "server"})`], ...(own === local ? [] : [[local, local]])];
      if (!options.some(([value]) => value === state[key])) state[key] = "";
      setOptions(nodes[place], options, state[key]);
      nodes[place].title = options.length === 1 ? "The server was started without another one." : "";
    });
  }
  draw();
  return { nodes, draw, chosen: () => Object.fromEntries(Object.entries(state).filter(([, value]) => value)) };
}
