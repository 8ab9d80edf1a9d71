// Menus, and dialogs that ask before something is lost.

import { button, el, fill, replace } from "./report.js";

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

// A button that opens a list of links and buttons; Escape and a click elsewhere close it.
export function menu(label, items, props = {}) {
  const list = el("div", { class: "menu-items" }, items.filter(Boolean).map((item) => el("div", null, item)));
  const box = el("details", { class: "menu", ...props }, el("summary", { class: "button", "aria-label": props["aria-label"] || null }, label), list);
  box.removeAttribute("aria-label");
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    event.stopPropagation();
    box.open = false;
    box.querySelector("summary").focus();
  });
  list.addEventListener("click", (event) => { if (event.target.closest("a, button")) box.open = false; });
  box.addEventListener("toggle", () => {
    const away = (event) => { if (!box.contains(event.target)) box.open = false; };
    if (box.open) {
      document.addEventListener("click", away);
      box.addEventListener("toggle", () => document.removeEventListener("click", away), { once: true });
    }
  });
  return box;
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
