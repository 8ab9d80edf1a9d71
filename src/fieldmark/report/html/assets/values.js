// One value of a document, and two values against each other.

// Signs that cannot be seen and could deceive: each is shown with its number, and does nothing.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

// Text as it is: what cannot be seen is marked, and no text can turn the direction of another.
function shown(text) {
  const well = text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, "\ufffd");
  if (!UNSEEN.test(well)) return document.createTextNode(well);
  return well.split(new RegExp(`(${UNSEEN.source})`, "u")).filter(Boolean).map((part) =>
    (UNSEEN.test(part)
      ? el("span", { class: "unseen", "data-code": `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` }, part)
      : document.createTextNode(part)));
}

// What kind of value a slot holds: see the account of slots in the program that wrote it.
function kindOf(slot) {
  if (slot === null) return "null";
  if (typeof slot === "string") return "text";
  if (typeof slot === "number") return "number";
  if (typeof slot === "boolean") return "boolean";
  if ("m" in slot) return "missing";
  if ("h" in slot) return "hidden";
  if ("d" in slot) return "number";
  if ("t" in slot) return "text";
  if ("o" in slot) return "object";
  if ("a" in slot) return "list";
  return "json";
}

function isSame(slot) {
  return slot !== null && typeof slot === "object" && Object.keys(slot).length === 0;
}

function textOf(slot) {
  if (slot !== null && typeof slot === "object") return slot.t ?? slot.d ?? slot.j ?? "";
  return slot === null ? "null" : String(slot);
}

const ACCOUNTS = {
  missing: () => ["absent", "missing"],
  hidden: () => ["absent", "not kept"],
  object: (slot) => ["shell", `{ ${plural(slot.o, "key")} }`],
  list: (slot) => ["shell", `[ ${plural(slot.a, "item")} ]`],
  null: () => ["code", "null"],
};

function valueNode(slot, { diff = null, side = "" } = {}) {
  const kind = kindOf(slot);
  if (kind in ACCOUNTS) {
    const [css, text] = ACCOUNTS[kind](slot);
    return el("span", { class: `value ${css}` }, text);
  }
  if (kind === "text" && textOf(slot) === "") return el("span", { class: "value absent" }, "empty text");
  const css = kind === "text" ? "text" : kind === "json" ? "json" : "code";
  const inner = diff
    ? diff.map(([same, text]) => (same ? shown(text) : el(side === "ours" ? "del" : "ins", null, shown(text))))
    : shown(textOf(slot));
  return el("span", { class: `value ${css}` },
    el("bdi", { class: "literal" }, inner),
    slot !== null && slot.n && el("span", { class: "cut" }, ` … ${whole(slot.n - slot.t.length)} more characters`));
}

// Both sides of a field: [expected, candidate] as nodes, with the characters that differ marked.
function bothValues(expected, candidate) {
  if (isSame(candidate)) return [valueNode(expected), valueNode(expected)];
  const kinds = [kindOf(expected), kindOf(candidate)];
  const diff = kinds[0] === "text" && kinds[1] === "text" ? textDiff(textOf(expected), textOf(candidate)) : null;
  const nodes = [
    valueNode(expected, { diff: diff && diff[0], side: "ours" }),
    valueNode(candidate, { diff: diff && diff[1], side: "theirs" }),
  ];
  const scalar = ["text", "number", "boolean"];
  if (kinds[0] !== kinds[1] && kinds.every((kind) => scalar.includes(kind))) {
    nodes.forEach((node, place) => node.append(el("span", { class: "kind" }, kinds[place])));
  }
  return nodes;
}

// What the comparator said, in a few words.
function toldText(told) {
  if (!told) return "";
  const parts = [];
  if (told.r) parts.push(reasonText(told.r));
  if (told.q !== undefined) parts.push(`similarity ${rate(told.q)}`);
  if (told.s !== undefined) parts.push(`earns ${rate(told.s)}`);
  if (told.f) parts.push(...told.f);
  if (told.n) parts.push(told.n);
  return parts.join(" · ");
}
