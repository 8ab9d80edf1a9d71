// Dialogs that import rules from a file or text, propose them from data, or add a preset.

import { request } from "./api.js";
import { readText } from "./document_input.js";
import { button, el, replace } from "./dom.js";
import { plural } from "./labels.js";
import { problem } from "./page.js";
import { tableNode } from "./table.js";
import { stored } from "./theme.js";
import { shown } from "./values.js";

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
  const box = dialog("Import rules", "Select or paste a strategy file (flat or nested) or a rules file, in JSON or YAML. Existing fields are replaced.",
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
  const content = el("div", null, area);
  const propose = button("Propose", async () => {
    try {
      const found = await request("/api/infer", { method: "POST", text: `{"truth":[${documents(area.value).join(",")}]}` });
      choose(found);
    } catch (error) {
      box.showError(error);
    }
  }, { class: "primary", id: "infer-do" });
  const box = dialog("Propose rules from data", "Paste ground-truth documents: a single document, a list, or one document per line. More documents give better proposals.", content, propose);
  area.focus();

  // Each proposal is accepted or not; its reason is shown beside it.
  function choose({ rules, reasons }) {
    const fields = rules.fields || [];
    const boxes = new Map(fields.map((field) => [field, el("input", { type: "checkbox", checked: true, "aria-label": `Accept the rule of ${field.path}` })]));
    const accept = button(fields.length ? "Accept selected" : "Accept", () => {
      const chosen = fields.filter((field) => boxes.get(field).checked);
      done({ ...rules, ...(chosen.length ? { fields: chosen } : { fields: undefined }) }, reasons);
      box.close();
    }, { class: "primary", id: "infer-accept" });
    propose.replaceWith(accept);
    replace(content, fields.length ? ruleTable("Proposed rules", fields, reasons, boxes) : el("p", null, "No field needs a rule of its own: values are compared exactly."));
    accept.focus();
  }
}

function ruleTable(caption, fields, reasons, boxes = null) {
  const settingsText = ({ path, ...settings }) => Object.entries(settings).map(([name, value]) => (name === "match" ? value : `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`)).join(", ");
  return el("div", { class: "proposals" }, tableNode({
    caption, isSorted: false, rowHead: "path", rows: fields, step: Infinity,
    columns: [
      ...(boxes ? [{ title: "Accept", cell: (field) => boxes.get(field) }] : []),
      { key: "path", title: "Field", format: "path" },
      { title: "Rule", cell: (field) => shown(settingsText(field)) },
      { title: "Reason", css: "quiet", cell: ({ path }) => shown(reasons[path] || "") },
    ],
  }));
}

// Presets are added to the rules: their fields and settings replace fields and settings of the draft.
export function presetDialog(presets, done) {
  const box = dialog("Presets", "A preset adds rules for common kinds of documents. Fields with the same path and settings are replaced; everything can be edited afterwards.",
    el("div", { class: "presets" }, presets.map((preset) => el("section", { "aria-label": preset.title },
      el("h3", null, preset.title), el("p", null, preset.reason),
      (preset.rules.fields || []).length > 0 && el("details", null, el("summary", null, plural(preset.rules.fields.length, "rule")), ruleTable(`Rules of ${preset.title}`, preset.rules.fields, preset.reasons)),
      button("Use", () => { done(preset); box.close(); }, { "aria-label": `Use the preset ${preset.title}`, "data-preset": preset.name })))), null);
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
