// A place for a document: typed, pasted, dropped or chosen.

import { button, el } from "./report.js";
import { toast } from "./shell.js";

const FENCE = /```(?:json)?\s*\n([\s\S]*?)```/g;
const LARGEST = 30_000_000;

// The JSON of a text: as it is, or from the one fenced block of a model's answer.
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
      } catch { /* the whole text says better what is wrong */ }
    }
    return { error: `not JSON${where(text, error)}` };
  }
}

function where(text, error) {
  // Browsers say it in words of their own, and some say nothing of the place.
  const told = /line (\d+) column (\d+)/.exec(error.message);
  if (told) return ` at line ${told[1]}, column ${told[2]}`;
  const found = /position (\d+)/.exec(error.message);
  if (!found) return /end of|EOF|unterminated/i.test(error.message) ? ": it ends too early" : "";
  const before = text.slice(0, Number(found[1])).split("\n");
  return ` at line ${before.length}, column ${before[before.length - 1].length + 1}`;
}

export function entry({ id, label, hint, text, change, remove = null }) {
  const note = el("p", { class: "entry-note", id: `${id}-note` });
  const area = el("textarea", {
    id, rows: 12, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-describedby": `${id}-note`,
    placeholder: '{"total": 100.00}', on: { input: () => changed(area.value) },
  });
  area.value = text;
  const file = el("input", { type: "file", accept: ".json,.txt,application/json", class: "spoken", tabindex: "-1", "aria-label": `${label}: choose a file`, on: { change: () => take(file.files[0]) } });
  const box = el("div", { class: "entry" },
    el("div", { class: "entry-head" },
      el("label", { for: id }, label, " ", el("span", { class: "quiet" }, hint)),
      el("span", { class: "entry-actions" },
        button("Open …", () => file.click(), { "aria-label": `${label}: open a file` }), file,
        button("Format", format, { "aria-label": `${label}: format` }),
        remove && button("Remove", remove, { "aria-label": `Remove ${label}` }))),
    area, note);
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
    else set(event.dataTransfer.getData("text"));
  });

  async function take(chosen) {
    if (!chosen) return;
    if (chosen.size > LARGEST) toast(`${chosen.name} is too large for this page; use Batch.`);
    else set(await chosen.text());
  }
  function set(fresh) {
    area.value = fresh;
    changed(fresh);
  }
  function format() {
    const found = readText(area.value);
    if (found.error) return area.focus();
    return set(pretty(found.json));
  }
  function changed(fresh) {
    look(fresh);
    change(fresh);
  }
  function look(fresh) {
    const found = fresh.trim() ? readText(fresh) : {};
    area.setAttribute("aria-invalid", String(Boolean(found.error)));
    note.textContent = found.error || (found.fenced ? "taken from the fenced block" : "");
    note.classList.toggle("wrong", Boolean(found.error));
  }
  look(text);
  return box;
}

// JSON over several lines, with every number as it was written.
export function pretty(json) {
  let depth = 0, out = "", inText = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (let place = 0; place < json.length; place += 1) {
    const sign = json[place];
    if (inText) {
      out += sign;
      if (sign === "\\") { out += json[place + 1]; place += 1; } else if (sign === '"') inText = false;
    } else if (sign === '"') { out += sign; inText = true;
    } else if (sign === "{" || sign === "[") {
      const rest = /^\s*[}\]]/.exec(json.slice(place + 1, place + 200));
      if (rest) { out += sign + rest[0].trim(); place += rest[0].length; } else { depth += 1; out += sign + line(); }
    } else if (sign === "}" || sign === "]") { depth -= 1; out += line() + sign;
    } else if (sign === ",") out += sign + line();
    else if (sign === ":") out += ": ";
    else if (!/\s/.test(sign)) out += sign;
  }
  return out;
}
