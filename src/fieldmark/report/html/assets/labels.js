// Labels of outcomes and formats of numbers.

import { el, spoken } from "./dom.js";
import { shown } from "./values.js";

// By the number of the outcome. Each glyph has the same meaning as its color.
export const OUTCOMES = [
  { name: "match", word: "match", glyph: "✓", css: "match" },
  { name: "wrong_value", word: "wrong value", glyph: "≠", css: "wrong" },
  { name: "format_error", word: "wrong type", glyph: "~", css: "format" },
  { name: "omission", word: "missing", glyph: "−", css: "missing" },
  { name: "hallucination", word: "extra", glyph: "+", css: "extra" },
  { name: "both_empty", word: "both empty", glyph: "∅", css: "empty" },
  { name: "ignored", word: "ignored", glyph: "○", css: "ignored" },
  { name: "error", word: "error", glyph: "!", css: "error" },
  { name: "not_compared", word: "not compared", glyph: "·", css: "not-compared" },
];
export const MATCH = 0, WRONG = 1, FORMAT = 2, MISSING = 3, EXTRA = 4, ERROR = 7, NOT_COMPARED = 8;

// The types of mistakes, in the order in which they are listed.
export const ERROR_NAMES = ["omission", "hallucination", "format_error", "wrong_value"];

// The number of an outcome by its name.
export function outcomeOf(name) {
  return OUTCOMES.findIndex((outcome) => outcome.name === name);
}

export function outcomeWord(name) {
  return OUTCOMES[outcomeOf(name)]?.word ?? reasonText(name);
}

// The number of mistakes of all types.
export function mistakesIn(errors) {
  return ERROR_NAMES.reduce((sum, name) => sum + (errors[name] || 0), 0);
}

// The types of mistakes that occur, the most frequent first.
export function frequentErrors(errors) {
  return ERROR_NAMES.filter((name) => errors[name]).sort((one, two) => errors[two] - errors[one]);
}

export function isMistake(mark) {
  return mark === WRONG || mark === FORMAT || mark === MISSING || mark === EXTRA || mark === ERROR;
}

const VERDICTS = { pass: ["pass", "✓"], partial: ["partial", "◐"], fail: ["fail", "✗"] };

// A pass that rests on nothing is not shown as one.
export function verdictChip(verdict, status, vacuous = false) {
  const [word, glyph] = vacuous && verdict !== "fail" ? ["nothing to compare", "∅"] : VERDICTS[verdict] || (status === "error" ? ["error", "!"] : ["not scored", "·"]);
  return el("span", { class: `verdict verdict-${word.replaceAll(" ", "-")}` },
    el("span", { class: "glyph", "aria-hidden": "true" }, glyph), word);
}

export function mark(outcome, { word = false, count = null } = {}) {
  const { word: name, glyph, css } = OUTCOMES[outcome];
  return el("span", { class: `mark mark-${css}`, title: name },
    el("span", { class: "glyph", "aria-hidden": "true" }, glyph),
    count !== null && el("span", { class: "count" }, whole(count)),
    word ? name : spoken(name));
}

// Chips for the types of mistakes that occur.
export function mistakeChips(errors, { word = false } = {}) {
  return el("span", { class: "chips" }, frequentErrors(errors).map((name) => mark(outcomeOf(name), { count: errors[name], word })));
}

export const INPUT_LABELS = { missing: "no prediction", parse_error: "unparseable prediction", invalid_truth: "invalid ground truth", failed: "target failed" };
export const CASE_TOTAL_LABELS = { missing: "without prediction", invalid_truth: "with invalid ground truth", unexpected: "predictions without ground truth", errors: "with errors" };

export const DASH = "–";
const WHOLE = new Intl.NumberFormat("en");

export function whole(number) {
  return WHOLE.format(number);
}

export function rate(value, digits = 3) {
  return value === null || value === undefined ? DASH : Number(value.toFixed(12)).toFixed(digits);
}

// The response quality score has the four digits of its documented example.
export function metricText(name, value) {
  return rate(value, /^(quality\.)?rqs$/.test(name) ? 4 : 3);
}

export function pValue(value) {
  return value !== null && value !== undefined && value < 0.001 ? "<0.001" : rate(value);
}

export function signed(value, digits = 3) {
  if (value === null || value === undefined) return DASH;
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value > 0 ? "+" : "−") + text;
}

// The change of a rate, rounded as in Python. No change is 0.000; a change is never shown as none.
export function changeNumber(value) {
  const change = Number(value.toFixed(9));
  return change !== 0 && Number(change.toFixed(3)) === 0 ? `${change > 0 ? "+" : "−"}<0.001` : signed(change);
}

export function plural(number, one, many) {
  return `${whole(number)} ${number === 1 ? one : many || `${one}s`}`;
}

export function capitalized(text) {
  return text[0].toUpperCase() + text.slice(1);
}

export function reasonText(code) {
  return code.replaceAll("_", " ");
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB"];
  let place = 0;
  while (number >= 1000 && place < units.length - 1) { number /= 1000; place += 1; }
  return `${place ? number.toFixed(1) : number} ${units[place]}`;
}

// Formats a time as 2026-11-16 04:59 UTC; other text is returned unchanged.
export function moment(text) {
  if (!/^\d{4}-\d\d-\d\dT/.test(text)) return text;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const LONG_PART = 24;

// Parts with line break opportunities between them; a part is broken inside only if it is long.
function breakable(tag, css, parts) {
  const long = parts.some((part) => part.length > LONG_PART);
  return el(tag, { class: long ? `${css} long` : css }, parts.map((part, place) => (place ? [el("wbr"), shown(part)] : shown(part))));
}

// The name of a run or a file, with line break opportunities after separators.
export function nameText(name) {
  return breakable("bdi", "name", name.split(/(?<=[-_./\\·])/));
}

// A path with line break opportunities after dots and brackets.
export function pathText(path) {
  return breakable("span", "path", path.split(/(?<=[.\]])/));
}
