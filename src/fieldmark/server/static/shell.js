// What every page has: colours, notices with a way back, and the address as the place of its state.

import { button, el, fill, replace, spoken } from "./report.js";

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

export function stored(name, value) {
  // A browser may refuse storage; what is kept then lasts as long as the page.
  try {
    if (value === null) localStorage.removeItem(name);
    else if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function themeButton() {
  const names = Object.keys(THEMES);
  let current = stored("fieldmark-theme");
  if (!names.includes(current)) current = "auto";
  const control = button("", () => {
    current = names[(names.indexOf(current) + 1) % names.length];
    stored("fieldmark-theme", current);
    apply();
  }, { id: "theme", class: "theme" });
  function apply() {
    document.documentElement.dataset.theme = current;
    replace(control, el("span", { "aria-hidden": "true" }, "◐ "), spoken("Colours: "), THEMES[current]);
  }
  apply();
  return control;
}

document.getElementById("theme-place").append(themeButton());

// A short notice; with `undo` it stays long enough to be used, and `then` runs if it was not.
export function toast(text, { undo = null, then = null, seconds = undo ? 8 : 4 } = {}) {
  const place = document.getElementById("toasts");
  const note = el("div", { class: "toast" }, el("span", null, text));
  let over = false;
  const end = (act) => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    window.removeEventListener("pagehide", finish);
    note.remove();
    if (act) act();
  };
  const finish = () => end(then);
  if (undo) fill(note, null, [button("Undo", () => end(undo), { class: "undo" })]);
  fill(note, null, [button("×", finish, { class: "close", "aria-label": "Close this notice" })]);
  const timer = setTimeout(finish, seconds * 1000);
  // Leaving the page means that nobody will undo it.
  window.addEventListener("pagehide", finish);
  place.append(note);
  return { close: finish };
}

export function problem(error) {
  const lines = error.problems && error.problems.length ? error.problems : [{ message: error.message }];
  return el("div", { class: "problem", role: "alert" },
    lines.map(({ message, where, hint }) => el("p", null, where && el("code", null, where), where && " ", message, hint && el("span", { class: "quiet" }, ` ${hint}`))));
}

export function address(names) {
  const found = new URLSearchParams(location.search);
  return Object.fromEntries(names.map((name) => [name, found.get(name) || ""]));
}

// The state of the page in its address, so that it can be kept, sent and gone back to.
export function remember(values, { push = false } = {}) {
  const found = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined || value === false) found.delete(name);
    else found.set(name, value);
  }
  const text = found.toString();
  const target = location.pathname + (text ? `?${text}` : "") + location.hash;
  if (target !== location.pathname + location.search + location.hash) history[push ? "pushState" : "replaceState"](null, "", target);
}

export function later(wait, work) {
  let timer = null;
  return (...rest) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...rest), wait);
  };
}

export function download(name, text, type = "application/json") {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Tabs as the keyboard knows them: arrows move, Home and End jump.
export function tabs(label, entries, current, chosen) {
  const list = el("div", { class: "tabs", role: "tablist", "aria-label": label });
  const panel = el("div", { class: "tab-panel", role: "tabpanel", id: "tab-panel", tabindex: "0" });
  const heads = entries.map(([name, text, count]) => el("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "tab-panel", "data-tab": name,
    on: { click: () => pick(name) },
  }, text, count !== undefined && count !== null && el("span", { class: "tab-count" }, String(count))));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = heads.findIndex((head) => head.dataset.tab === current);
    const next = step ? (place + step + heads.length) % heads.length : event.key === "Home" ? 0 : event.key === "End" ? heads.length - 1 : null;
    if (next === null) return;
    event.preventDefault();
    pick(entries[next][0]);
    heads[next].focus();
  });
  function pick(name) {
    current = entries.some(([each]) => each === name) ? name : entries[0][0];
    for (const head of heads) {
      const own = head.dataset.tab === current;
      head.setAttribute("aria-selected", String(own));
      head.tabIndex = own ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${current}`);
    replace(panel, entries.find(([each]) => each === current)[3]());
    chosen(current);
  }
  fill(list, null, heads);
  pick(current);
  return el("div", { class: "tabbed" }, list, panel);
}

// What a run is called: what people wrote, or the files it was made from, or its id.
export function runName(run) {
  return run.note || run.inputs.map((name) => name.split(/[\\/]/).findLast(Boolean) || name).join(" · ") || run.id;
}

export function empty(title, text, ...actions) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), el("p", { class: "quiet" }, text), actions.length > 0 && el("p", { class: "empty-actions" }, actions));
}
