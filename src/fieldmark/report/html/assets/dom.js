// All elements are created here. Text from data always becomes a text node.

import { whole } from "./labels.js";

const SVG = "http://www.w3.org/2000/svg";

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

export function el(name, props, ...children) {
  return fill(document.createElement(name), props, children);
}

export function svg(name, props, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

export function replace(node, ...children) {
  node.replaceChildren();
  return fill(node, null, children);
}

export function data(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// Text for screen readers only.
export function spoken(text) {
  return el("span", { class: "spoken" }, text);
}

export function button(label, onClick, props) {
  return el("button", { type: "button", ...props, on: { click: onClick } }, label);
}

// A row of buttons, one of them pressed; `choose` is called with its value.
export function choice(label, options, current, choose) {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  const buttons = options.map(([value, text]) =>
    button(text, () => pick(value), { "aria-pressed": String(value === current), "data-value": value }));
  function pick(value) {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === value));
    choose(value);
  }
  return fill(group, null, buttons);
}

export function labelled(label, control) {
  return el("label", { class: "control" }, el("span", null, label), control);
}

export function select(label, options, onChange) {
  const list = el("select", { on: { change: (event) => onChange(event.target.value) } },
    options.map(([value, text]) => el("option", { value }, text)));
  return labelled(label, list);
}

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
