// All elements are created here. Text from data always becomes a text node.

import { whole } from "./labels.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {any} Child A node, a text, a number, or a list of them; null, undefined and false add nothing. */

/**
 * @typedef {Record<string, any> | null} Props Attributes by name, and listeners by event in `on`; null, undefined and false are left out.
 */

/**
 * @template {Element} T
 * @param {T} node
 * @param {Props} props
 * @param {Child[]} children
 */
export function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Props} [props]
 * @param {...Child} children
 */
export function el(name, props, ...children) {
  return fill(document.createElement(name), props, children);
}

/**
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Name]}
 */
export function svg(name, props, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

/**
 * Replace the children of a node. Nodes that stay are not moved, so that they keep the focus, and a list
 * the letters that were typed in it.
 * @template {Element} T
 * @param {T} node
 * @param {...Child} children
 */
export function replace(node, ...children) {
  const fresh = children.flat(Infinity);
  const kept = new Set(fresh);
  for (const child of [...node.childNodes]) if (!kept.has(child)) child.remove();
  let next = node.firstChild;
  for (const child of fresh) {
    if (child === null || child === undefined || child === false) continue;
    if (child === next) next = next.nextSibling;
    else node.insertBefore(child instanceof Node ? child : document.createTextNode(String(child)), next);
  }
  return node;
}

/** @param {string} id */
export function data(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/**
 * Text for screen readers only.
 * @param {Child} text
 */
export function spoken(text) {
  return el("span", { class: "spoken" }, text);
}

/**
 * @param {Child} label
 * @param {((event: MouseEvent) => unknown) | null} onClick
 * @param {Props} [props]
 */
export function button(label, onClick, props) {
  return el("button", { type: "button", ...props, on: { click: onClick } }, label);
}

/**
 * A row of buttons, one of them pressed; `choose` is called with its value.
 * @param {string} label
 * @param {Child[][]} options
 * @param {string} current
 * @param {(value: string) => unknown} choose
 */
export function choice(label, options, current, choose) {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  const buttons = options.map(([value, text]) =>
    button(text, () => pick(value), { "aria-pressed": String(value === current), "data-value": value }));
  function pick(value) {
    for (const option of buttons) option.setAttribute("aria-pressed", String(option.dataset.value === value));
    choose(value);
  }
  return fill(group, null, buttons);
}

/**
 * @param {Child} label
 * @param {Child} control
 */
export function labelled(label, control) {
  return el("label", { class: "control" }, el("span", null, label), control);
}

/**
 * A labelled list of options; `onChange` is called with the value of the chosen one.
 * @param {Child} label
 * @param {string[][]} options
 * @param {(value: string) => unknown} onChange
 * @param {{ value?: string, [name: string]: any }} [props]
 */
export function select(label, options, onChange, { value: current, ...props } = {}) {
  const box = labelled(label, el("select", { ...props, on: { change: (event) => onChange(event.target.value) } }));
  setOptions(box, options, current);
  return box;
}

/**
 * Replace the options of a labelled list. The list stays, because letters that are typed in it select
 * an option only together.
 * @param {Element} box
 * @param {string[][]} options
 * @param {string} [current]
 */
export function setOptions(box, options, current) {
  const list = box.querySelector("select");
  replace(list, options.map(([value, text]) => el("option", { value }, text)));
  if (current !== undefined) list.value = current;
}

/**
 * @param {Child} label
 * @param {string} placeholder
 * @param {(text: string) => unknown} onInput
 * @param {Props} [props]
 */
export function search(label, placeholder, onInput, props) {
  return labelled(label, el("input", {
    type: "search", placeholder, autocomplete: "off", spellcheck: "false", ...props,
    on: { input: (event) => onInput(event.target.value) },
  }));
}

// Buttons to the previous and the next page of a list, if it has several pages.
export function pager({ offset, step, total, go, labels: [previous, next] = ["Previous", "Next"] }) {
  return total > step && [
    button(previous, () => go(offset - step), { disabled: offset === 0 }),
    el("span", { class: "quiet" }, `${whole(offset + 1)} to ${whole(Math.min(offset + step, total))} of ${whole(total)}`),
    button(next, () => go(offset + step), { disabled: offset + step >= total })];
}

export function section(id, title, lead, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("header", { class: "section-head" },
      el("h2", { id: `${id}-title` }, title),
      lead && el("p", { class: "lead" }, lead)),
    children);
}

/**
 * Whether a key is typed into an input.
 * @param {Event} event
 */
export function isTyping({ target }) {
  return target instanceof Element && target.matches("input, select, textarea");
}

// The filters after `?` in the hash of the address, as in #cases?attribute=total.
export function hashFilters(names) {
  const start = location.hash.indexOf("?");
  const found = new URLSearchParams(start < 0 ? "" : location.hash.slice(start + 1));
  return Object.fromEntries(names.map((name) => [name, found.get(name) || ""]));
}

export function hashAddress(id, values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  return `#${id}${text && `?${text}`}`;
}
