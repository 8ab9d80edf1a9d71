// Display of one value, and of two values side by side.

import { el } from "./dom.js";
import { plural, rate, reasonText } from "./labels.js";
import { textDiff } from "./text_diff.js";
import { isSame, kindOf, textOf } from "./value_encoding.js";

// Invisible characters, which could mislead a reader. Each is shown as its code point.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

// Text with invisible characters marked; it cannot change the direction of other text.
export function shown(text) {
  const well = text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, "\ufffd");
  if (!INVISIBLE.test(well)) return document.createTextNode(well);
  return well.split(new RegExp(`(${INVISIBLE.source})`, "u")).filter(Boolean).map((part) =>
    (INVISIBLE.test(part)
      ? el("span", { class: "invisible", "data-code": `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` }, part)
      : document.createTextNode(part)));
}

export function slotText(slot) {
  const kind = kindOf(slot);
  return kind in PLACEHOLDERS ? PLACEHOLDERS[kind](slot)[1] : textOf(slot) || '""';
}

const PLACEHOLDERS = {
  missing: () => ["absent", "absent"],
  hidden: () => ["absent", "not available"],
  object: (slot) => ["shell", `{ ${plural(slot.o, "key")} }`],
  list: (slot) => ["shell", `[ ${plural(slot.a, "item")} ]`],
  null: () => ["absent", "null"],
};

// Whitespace as symbols, for a value that consists of nothing else.
const WHITESPACE = { " ": ["␣", "space"], "\t": ["⇥", "tab"], "\n": ["↵", "line break"], "\u00a0": ["⍽", "no-break space"] };

function blankNode(text) {
  if (text === "") return el("span", { class: "value absent" }, "empty string");
  const counts = new Map();
  for (const each of text) {
    const name = (WHITESPACE[each] || ["", "blank character"])[1];
    counts.set(name, (counts.get(name) || 0) + 1);
  }
  const named = Array.from(counts, ([name, count]) => plural(count, name)).join(", ");
  const symbols = Array.from(text.slice(0, 20), (each) => (WHITESPACE[each] || ["·"])[0]).join("");
  return el("span", { class: "value blank" }, el("span", { class: "symbols", "aria-hidden": "true" }, symbols), " ", el("span", { class: "kind" }, `only ${named}`));
}

const MAX_UNBROKEN = 24;

// Segments [same, text] as nodes. Numbers, dates and codes do not break inside.
function segmentNodes(found, changed) {
  const nodes = [];
  let word = [], letters = "";
  function finish() {
    const code = /\d/.test(letters) && letters.length <= MAX_UNBROKEN;
    nodes.push(code ? el("span", { class: "unbroken" }, word) : word);
    word = [];
    letters = "";
  }
  for (const [same, text] of found) {
    if (!text) word.push(el("span", { class: "gap" }));
    for (const part of text.split(/(\s+)/).filter(Boolean)) {
      const node = same ? shown(part) : el(changed, null, shown(part));
      if (/^\s/.test(part)) {
        finish();
        nodes.push(node);
      } else {
        word.push(node);
        letters += part;
      }
    }
  }
  finish();
  return nodes;
}

export function valueNode(slot, { diff = null, side = "" } = {}) {
  const kind = kindOf(slot);
  if (kind in PLACEHOLDERS) {
    const [css, text] = PLACEHOLDERS[kind](slot);
    return el("span", { class: `value ${css}` }, text);
  }
  if (kind === "string" && /^\s*$/u.test(textOf(slot)) && !slot.n) return blankNode(textOf(slot));
  const css = kind === "string" ? "text" : kind === "json" ? "json" : "code";
  const inner = segmentNodes(diff || [[true, textOf(slot)]], side === "ours" ? "del" : "ins");
  return el("span", { class: `value ${css}` },
    el("bdi", { class: "literal" }, inner),
    slot !== null && slot.n && el("span", { class: "cut" }, ` … ${plural(slot.n - slot.t.length, "more character")}`));
}

// Both values of a field as nodes, with differing characters marked.
export function bothValues(expected, candidate) {
  if (isSame(candidate)) return [valueNode(expected), valueNode(expected)];
  const kinds = [kindOf(expected), kindOf(candidate)];
  const diff = kinds[0] === "string" && kinds[1] === "string" ? textDiff(textOf(expected), textOf(candidate)) : null;
  const nodes = [
    valueNode(expected, { diff: diff && diff[0], side: "ours" }),
    valueNode(candidate, { diff: diff && diff[1], side: "theirs" }),
  ];
  const scalar = ["string", "number", "boolean"];
  const alike = textOf(expected) === textOf(candidate);  // null and "null"
  if (kinds[0] !== kinds[1] && kinds.every((kind) => scalar.includes(kind) || (alike && kind === "null"))) {
    nodes.forEach((node, place) => node.append(" ", el("span", { class: "kind" }, kinds[place])));
  }
  return nodes;
}

// The result of a comparator in short form.
export function comparisonText(comparison) {
  if (!comparison) return "";
  const parts = [];
  if (comparison.r) parts.push(reasonText(comparison.r));
  if (comparison.q !== undefined) parts.push(`similarity ${rate(comparison.q)}`);
  if (comparison.s !== undefined) parts.push(`score ${rate(comparison.s)}`);
  if (comparison.f) parts.push(...comparison.f);
  if (comparison.n) parts.push(comparison.n);
  if (comparison.c !== undefined) parts.push(`confidence ${rate(comparison.c, 4)}`);
  return parts.join(" · ");
}
