// Where strategies come from: a file, a text, or the data.

import { ask } from "./api.js";
import { readText } from "./entry.js";
import { button, el, replace } from "./report.js";
import { problem, stored } from "./shell.js";

function dialog(title, lead, content, actions) {
  const trouble = el("div");
  const box = el("dialog", { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title), el("p", { class: "quiet" }, lead), trouble, content,
    el("div", { class: "dialog-actions" }, button("Cancel", () => box.close()), actions));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return { close: () => box.close(), tell: (error) => replace(trouble, problem(error)) };
}

export function importDialog(done) {
  const area = el("textarea", { rows: 10, id: "import-text", "aria-label": "Strategies as JSON or YAML", spellcheck: "false", placeholder: '{"customer_name": "FUZZY", "address": {"line_1": "SEMANTIC"}}' });
  const file = el("input", { type: "file", id: "import-file", accept: ".json,.yaml,.yml", "aria-label": "A strategy or rules file", on: { change: async () => { if (file.files[0]) area.value = await file.files[0].text(); } } });
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", async (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    area.value = await event.dataTransfer.files[0].text();
  });
  const box = dialog("Import strategies", "A strategy file, flat or nested, or a rules file; JSON or YAML. Fields that are there already are replaced.",
    el("div", null, file, area),
    button("Import", async () => {
      try {
        done(await ask("/api/strategies/import", { method: "POST", body: { text: area.value } }));
        box.close();
      } catch (error) {
        box.tell(error);
      }
    }, { class: "primary", id: "import-do" }));
  area.focus();
}

export function inferDialog(done) {
  const kept = JSON.parse(stored("fieldmark-documents") || "null");
  const area = el("textarea", { rows: 10, id: "infer-text", "aria-label": "Verified documents, as a list or one a line", spellcheck: "false", placeholder: '[{"issued": "2024-05-03", "total": 12.5}]' });
  if (kept && kept.expected) area.value = kept.expected;
  const box = dialog("Propose rules from data", "Paste verified documents: one, a list of them, or one a line. The more, the better.", area,
    button("Propose", async () => {
      try {
        done(await ask("/api/infer", { method: "POST", text: `{"truth":[${documents(area.value).join(",")}]}` }));
        box.close();
      } catch (error) {
        box.tell(error);
      }
    }, { class: "primary", id: "infer-do" }));
  area.focus();
}

function documents(text) {
  const whole = readText(text);
  if (!whole.error) {
    const value = JSON.parse(whole.json);
    return [Array.isArray(value) ? whole.json.trim().slice(1, -1).trim() : whole.json].filter(Boolean);
  }
  const lines = text.split("\n").filter((line) => line.trim());
  if (lines.length > 1 && lines.every((line) => !readText(line).error)) return lines;
  throw new Error(whole.error);
}
