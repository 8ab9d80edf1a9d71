// An input for a document, which can be typed, pasted, dropped or loaded from a file.

import { button, el } from "./dom.js";
import { toast } from "./page.js";

const FENCE = /```(?:json)?\s*\n([\s\S]*?)```/g;
const MAX_BYTES = 30_000_000;

// Return the JSON of a text: the text itself, or the only fenced code block in it.
export function readText(text) {
  try {
    JSON.parse(text);
    return { json: text };
  } catch (error) {
    const blocks = [...text.matchAll(FENCE)].map((found) => found[1]);
    if (blocks.length === 1) {
      try {
        JSON.parse(blocks[0]);
        return { json: blocks[0], fenced: true };
      } catch { /* report the error of the whole text */ }
    }
    return { error: `Invalid JSON${errorPosition(text, error)}.` };
  }
}

// Browsers word JSON errors differently, and some do not report a position.
function errorPosition(text, error) {
  const line = /line (\d+) column (\d+)/.exec(error.message);
  if (line) return ` at line ${line[1]}, column ${line[2]}`;
  const offset = /position (\d+)/.exec(error.message);
  if (!offset) return /end of|EOF|unterminated/i.test(error.message) ? ": unexpected end of input" : "";
  const before = text.slice(0, Number(offset[1])).split("\n");
  return ` at line ${before.length}, column ${before[before.length - 1].length + 1}`;
}

export function entry({ id, label, hint, text, change, remove = null }) {
  const note = el("p", { class: "entry-note", id: `${id}-note` });
  const area = el("textarea", {
    id, rows: 12, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-describedby": `${id}-note`,
    placeholder: '{"total": 100.00}', on: { input: () => changed(area.value) },
  });
  area.value = text;
  const file = el("input", { type: "file", accept: ".json,.txt,application/json", class: "spoken", tabindex: "-1", "aria-label": `${label} file`, on: { change: () => load(file.files[0]) } });
  const box = el("div", { class: "entry" },
    el("div", { class: "entry-head" },
      el("label", { for: id }, label, " ", el("span", { class: "quiet" }, hint)),
      el("span", { class: "entry-actions" },
        button("Open…", () => file.click(), { "aria-label": `Open ${label.toLowerCase()} file` }), file,
        button("Format", format, { "aria-label": `Format ${label.toLowerCase()}` }),
        remove && button("Remove", remove, { "aria-label": `Remove ${label.toLowerCase()}` }))),
    area, note);
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    if (event.dataTransfer.files.length) load(event.dataTransfer.files[0]);
    else set(event.dataTransfer.getData("text"));
  });

  async function load(selected) {
    if (!selected) return;
    if (selected.size > MAX_BYTES) toast(`${selected.name} is too large for this page. Use Batch.`);
    else set(await selected.text());
  }
  function set(value) {
    area.value = value;
    changed(value);
  }
  function format() {
    const found = readText(area.value);
    if (found.error) return area.focus();
    return set(pretty(found.json));
  }
  function changed(value) {
    validate(value);
    change(value);
  }
  function validate(value) {
    const found = value.trim() ? readText(value) : {};
    area.setAttribute("aria-invalid", String(Boolean(found.error)));
    note.textContent = found.error || (found.fenced ? "Read from the fenced code block." : "");
    note.classList.toggle("wrong", Boolean(found.error));
  }
  validate(text);
  return box;
}

// Indent JSON without parsing it, so that numbers are not changed.
export function pretty(json) {
  let depth = 0, out = "", inString = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (let index = 0; index < json.length; index += 1) {
    const char = json[index];
    if (inString) {
      out += char;
      if (char === "\\") { out += json[index + 1]; index += 1; } else if (char === '"') inString = false;
    } else if (char === '"') { out += char; inString = true;
    } else if (char === "{" || char === "[") {
      const rest = /^\s*[}\]]/.exec(json.slice(index + 1, index + 200));
      if (rest) { out += char + rest[0].trim(); index += rest[0].length; } else { depth += 1; out += char + line(); }
    } else if (char === "}" || char === "]") { depth -= 1; out += line() + char;
    } else if (char === ",") out += char + line();
    else if (char === ":") out += ": ";
    else if (!/\s/.test(char)) out += char;
  }
  return out;
}
