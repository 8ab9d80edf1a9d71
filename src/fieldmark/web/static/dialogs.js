// Menus, and dialogs that ask before something is lost.

import { button, el, fill, replace } from "./dom.js";

// Ask a question; the promise is true if the action was chosen, and false if the dialog was closed.
export function ask(title, text, action, { cancel = "Cancel" } = {}) {
  return new Promise((resolve) => {
    const box = el("dialog", { "aria-labelledby": "ask-title", "aria-describedby": "ask-text" },
      el("h2", { id: "ask-title" }, title), el("p", { id: "ask-text" }, text),
      el("div", { class: "dialog-actions" }, button(cancel, () => box.close(), { id: "ask-cancel", autofocus: true }), button(action, () => { box.returnValue = "yes"; box.close("yes"); }, { class: "danger", id: "ask-confirm" })));
    box.addEventListener("close", () => { box.remove(); resolve(box.returnValue === "yes"); });
    document.body.append(box);
    box.showModal();
  });
}

const MENU_WIDTH = 208, MENU_ROW = 40;

/**
 * A button that opens a list of links and buttons; Escape and a click elsewhere close it. The list is
 * above the page, so that a table that scrolls does not cut it off.
 * @param {string} label
 * @param {any[]} items
 * @param {Record<string, any>} [props]
 */
export function menu(label, items, { "aria-label": name = null, ...props } = {}) {
  const rows = items.filter(Boolean);
  const list = el("div", { class: "menu-items", popover: "auto" }, rows.map((item) => el("div", null, item)));
  const opener = button(label, null, { "aria-label": name });
  opener.popoverTargetElement = list;
  let place = opener.getBoundingClientRect();
  list.addEventListener("click", (event) => { if (event.target instanceof Element && event.target.closest("a, button")) list.hidePopover(); });
  list.addEventListener("beforetoggle", ({ newState }) => {
    window.removeEventListener("scroll", close, true);
    if (newState !== "open") return;
    place = opener.getBoundingClientRect();
    const { left, right, top, bottom } = place;
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const above = bottom + rows.length * MENU_ROW > height && top > height - bottom;
    Object.assign(list.style, {
      left: left + MENU_WIDTH < width ? `${left}px` : "auto", right: left + MENU_WIDTH < width ? "auto" : `${Math.max(0, width - right)}px`,
      top: above ? "auto" : `${bottom + 4}px`, bottom: above ? `${height - top + 4}px` : "auto",
    });
    window.addEventListener("scroll", close, true);
  });
  // The list has a fixed place, so it closes when the button moves. The event of scrolling that ended
  // before the list opened comes late, and says nothing.
  function close() {
    const { left, top } = opener.getBoundingClientRect();
    if (left !== place.left || top !== place.top) list.hidePopover();
  }
  return el("div", { class: "menu", ...props }, opener, list);
}

// A text that can be edited in place. `save` is called with the new text, and throws if it fails.
export function editable({ label, text, shownText, save, multiline = false, writable = true, failed }) {
  const box = el("div", { class: "editable" });
  function show({ focus = false } = {}) {
    const edit = writable && button(text ? "Edit" : `Add ${label}`, open, { class: "as-link", "aria-label": `${text ? "Edit" : "Add"} ${label}` });
    replace(box, shownText(text), " ", edit);
    if (focus && edit) edit.focus();
  }
  function open() {
    const input = el(multiline ? "textarea" : "input", { "aria-label": label, id: `edit-${label}`, maxlength: multiline ? "10000" : "200", ...(multiline ? { rows: 3 } : { type: "text" }) });
    input.value = text;
    const form = el("form", { class: "editable-form", on: { submit: (event) => { event.preventDefault(); done(); }, keydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); show({ focus: true }); } } } }, input);
    fill(form, null, [el("button", { type: "submit", class: "primary" }, "Save"), button("Cancel", () => show({ focus: true }))]);
    replace(box, form);
    input.focus();
    async function done() {
      try {
        text = await save(input.value.trim());
        show({ focus: true });
      } catch (error) {
        failed(error);
      }
    }
  }
  show();
  return box;
}
