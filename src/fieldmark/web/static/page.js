// Components of every page: notices, downloads, and state in the URL.

import { requestFile } from "./api.js";
import { button, el, fill, isTyping } from "./dom.js";

// A temporary notice. `undo` adds a button; `then` runs when the notice closes without it.
export function toast(text, { undo = null, then = null, seconds = undo ? 8 : 4 } = {}) {
  const note = el("div", { class: "toast" }, el("span", null, text));
  let closed = false;
  const end = (action) => {
    if (closed) return;
    closed = true;
    clearTimeout(timer);
    window.removeEventListener("pagehide", finish);
    note.remove();
    if (action) action();
  };
  const finish = () => end(then);
  if (undo) fill(note, null, [button("Undo", () => end(undo), { class: "undo" })]);
  fill(note, null, [button("×", finish, { class: "close", "aria-label": "Close notice" })]);
  const timer = setTimeout(finish, seconds * 1000);
  // After the page is left, the action cannot be undone.
  window.addEventListener("pagehide", finish);
  document.getElementById("toasts").append(note);
  return { close: finish };
}

export function problem(error) {
  const lines = error.problems && error.problems.length ? error.problems : [{ message: error.message }];
  return el("div", { class: "problem", role: "alert" },
    lines.map(({ message, where, hint }) => el("p", null, where && el("code", null, where), where && " ", hint ? `${message}; ` : message, hint && el("span", { class: "quiet" }, hint))));
}

// Messages of the library start in lower case and have no period; a file name at the start stays.
export function sentence(text) {
  const start = /^[a-z]+ /.test(text) ? text[0].toUpperCase() : text[0];
  return `${start}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

/**
 * @param {string[]} names
 * @returns {Record<string, any>}
 */
export function address(names) {
  const found = new URLSearchParams(location.search);
  return Object.fromEntries(names.map((name) => [name, found.get(name) || ""]));
}

// Store the state of the page in its URL, for bookmarks, links and the browser history.
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

// Focus a search box when `/` is pressed.
export function focusOnSlash(id) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || isTyping(event)) return;
    event.preventDefault();
    document.getElementById(id).focus();
  });
}

/**
 * The link of a click that opens it in this window, or null.
 * @param {MouseEvent} event
 * @returns {HTMLAnchorElement | null}
 */
export function clickedLink(event, selector = "a[href]") {
  const isPlain = !event.defaultPrevented && !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  return isPlain && event.target instanceof Element ? event.target.closest(selector) : null;
}

export function debounce(wait, work) {
  let timer = null;
  return (...rest) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...rest), wait);
  };
}

let release = () => {};

// Scroll to an element, and again whenever the page above it has grown, until the user does anything.
export function keepInView(id) {
  release();
  const target = document.getElementById(id);
  if (!target) return;
  const watcher = new ResizeObserver(() => target.scrollIntoView());
  const ended = new AbortController();
  release = () => { watcher.disconnect(); ended.abort(); };
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) window.addEventListener(kind, release, { capture: true, passive: true, signal: ended.signal });
  watcher.observe(document.getElementById("app"));
  target.scrollIntoView();
}

// The keys of the page of a case: j and k go to the next and previous case, Escape back to the list.
export function followKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const id = { j: "next", k: "previous", Escape: "back" }[event.key];
    const target = id && /** @type {HTMLAnchorElement | null} */ (document.getElementById(id));
    if (target && target.href) location.href = target.href;
  });
}

// The case that was opened last, so that its row has the focus after going back to the list.
export function rememberCase(address) {
  sessionStorage.setItem("fieldmark-case", address);
}

export function focusLastCase(list) {
  const last = sessionStorage.getItem("fieldmark-case");
  sessionStorage.removeItem("fieldmark-case");
  if (!last || document.activeElement !== document.body) return;
  const link = [...list.querySelectorAll("a[href]")].find((each) => caseAddress(each.href) === last);
  if (!link) return;
  release();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "center" });
}

// The address of a case without filters and the selected field.
export function caseAddress(href) {
  const { pathname, searchParams } = new URL(href, location.href);
  return `${pathname} ${searchParams.get("case") || ""}`;
}

// Save a file of the server under the name that it gives; an error response is thrown.
export async function downloadFrom(path, options = {}) {
  const { content, name, type } = await requestFile(path, options);
  download(name, content, type);
}

export function download(name, text, type = "application/json") {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @type {[string, string][]} */
export const METRICS = [["mean_score", "Mean score"], ["macro_f1_by_attribute", "Macro F1 by attribute"], ["macro_f1_by_case", "Macro F1 by case"], ["micro_f1", "Micro F1"],
  ["rqs", "RQS"], ["completeness", "Completeness"], ["hallucination", "Hallucination"], ["accuracy", "Accuracy"], ["safety", "Safety"]];

export function metricName(name) {
  return new Map(METRICS).get(name) || name;
}

// The name of a run for people: its own name, the name of its evaluation or inputs, or its id.
export function runName(run) {
  return run.title || run.id;
}

export function empty(title, text, ...actions) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), el("p", { class: "quiet" }, text), actions.length > 0 && el("p", { class: "empty-actions" }, actions));
}
