// Dialogs that import rules from a file or text, or propose them from data.

import { request } from "./api.js";
import { readText } from "./document_input.js";
import { button, el, replace } from "./report.js";
import { problem, stored } from "./page.js";

function dialog(title, lead, content, actions) {
  const errors = el("div");
  const box = el("dialog", { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title), el("p", { class: "quiet" }, lead), errors, content,
    el("div", { class: "dialog-actions" }, button("Cancel", () => box.close()), actions));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return { close: () => box.close(), showError: (error) => replace(errors, problem(error)) };
}

export function importDialog(done) {
  const area = el("textarea", { rows: 10, id: "import-text", "aria-label": "Strategies as JSON or YAML", spellcheck: "false", placeholder: '{"customer_name": "FUZZY", "address": {"line_1": "SEMANTIC"}}' });
  const file = el("input", { type: "file", id: "import-file", accept: ".json,.yaml,.yml", "aria-label": "Strategy file or rules file", on: { change: async () => { if (file.files[0]) area.value = await file.files[0].text(); } } });
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", async (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    area.value = await event.dataTransfer.files[0].text();
  });
  const box = dialog("Import strategies", "Select or paste a strategy file (flat or nested) or a rules file, in JSON or YAML. Existing fields are replaced.",
    el("div", null, file, area),
    button("Import", async () => {
      try {
        done(await request("/api/strategies/import", { method: "POST", body: { text: area.value } }));
        box.close();
      } catch (error) {
        box.showError(error);
      }
    }, { class: "primary", id: "import-do" }));
  area.focus();
}

export function inferDialog(done) {
  const saved = JSON.parse(stored("fieldmark-documents") || "null");
  const area = el("textarea", { rows: 10, id: "infer-text", "aria-label": "Ground-truth documents, as a list or one per line", spellcheck: "false", placeholder: '[{"issued": "2024-05-03", "total": 12.5}]' });
  if (saved && saved.expected) area.value = saved.expected;
  const box = dialog("Propose rules from data", "Paste ground-truth documents: a single document, a list, or one document per line. More documents give better proposals.", area,
    button("Propose", async () => {
      try {
        done(await request("/api/infer", { method: "POST", text: `{"truth":[${documents(area.value).join(",")}]}` }));
        box.close();
      } catch (error) {
        box.showError(error);
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
