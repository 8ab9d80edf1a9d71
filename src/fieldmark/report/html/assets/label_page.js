// The page for labeling: one pair at a time, by buttons or keys. Verdicts are stored in the browser
// until the labels are downloaded.

import { button, data, el, replace } from "./dom.js";
import { whole } from "./labels.js";
import { stored, themeButton } from "./theme.js";
import { bothValues, shown } from "./values.js";

const DECISIONS = [["true", "Match", "y"], ["false", "No match", "n"], ["", "Undecided", "u"]];

function startLabeling() {
  const { title, id, rows } = data("labels");
  const setting = `fieldmark-labels-${id}`;
  const verdicts = JSON.parse(stored(setting) || "{}");
  let place = Math.max(0, rows.findIndex(({ key }) => !(key in verdicts)));
  let downloaded = true;

  const pair = el("div", { class: "panel label-pair" });
  const status = el("p", { role: "status" });
  const progress = el("progress", { max: rows.length, "aria-label": "Labeled pairs" });
  const decisions = el("div", { class: "label-decisions", role: "group", "aria-label": "Verdict" },
    DECISIONS.map(([value, text, key]) => button([text, " ", el("kbd", null, key.toUpperCase())],
      () => decide(value), { "data-value": value, "aria-keyshortcuts": key })));
  const previous = button(["Previous ", el("kbd", null, "K")], () => go(place - 1), { "aria-keyshortcuts": "k" });
  const next = button(["Next ", el("kbd", null, "J")], () => go(place + 1), { "aria-keyshortcuts": "j" });

  function decide(value) {
    const { key } = rows[place];
    if (value) verdicts[key] = value;
    else delete verdicts[key];
    downloaded = false;
    stored(setting, JSON.stringify(verdicts));
    if (value && place + 1 < rows.length) go(place + 1);
    else show();
  }

  function go(to) {
    place = Math.min(Math.max(to, 0), rows.length - 1);
    show();
    document.getElementById("pair-title").focus({ preventScroll: true });
  }

  function show() {
    const row = rows[place], current = verdicts[row.key] || "";
    const [ours, theirs] = bothValues(row.expected, row.candidate);
    replace(pair,
      el("h1", { id: "pair-title", tabindex: "-1" }, "Do both mean the same?"),
      el("p", { class: "quiet" }, `Pair ${whole(place + 1)} of ${whole(rows.length)}`,
        row.path && [" · ", el("bdi", null, shown(row.path))],
        row.case_id && [" · case ", el("bdi", null, shown(row.case_id))]),
      el("div", { class: "columns" },
        el("div", { class: "label-side" }, el("h2", null, "Ground truth"), ours),
        el("div", { class: "label-side" }, el("h2", null, "Prediction"), theirs)));
    for (const choice of decisions.querySelectorAll("button")) choice.setAttribute("aria-pressed", String(choice.dataset.value === current));
    const done = rows.filter(({ key }) => key in verdicts).length;
    progress.value = done;
    previous.disabled = place === 0;
    next.disabled = place === rows.length - 1;
    replace(status, `${whole(done)} of ${whole(rows.length)} labeled`);
  }

  // The lines are completed as text, because JavaScript would round large numbers.
  function download() {
    const lines = rows.map(({ line, key }) => `${line},"verdict":${verdicts[key] || "null"}}\n`);
    const url = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    const link = el("a", { href: url, download: "labels.jsonl" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    downloaded = true;
  }

  replace(document.getElementById("app"),
    el("header", { class: "top" },
      el("div", { class: "top-inner label-top" },
        el("p", { class: "brand" }, el("span", { class: "title" }, "Labels of ", el("bdi", null, shown(title)))),
        themeButton())),
    el("main", { id: "labeling" },
      el("div", { class: "label-progress" }, progress, status,
        button(["Download labels ", el("kbd", null, "D")], download, { "aria-keyshortcuts": "d", class: "label-download" })),
      pair,
      el("div", { class: "label-controls" }, decisions, el("div", { class: "label-moves" }, previous, next)),
      el("p", { class: "quiet label-hint" }, "Verdicts stay in this browser. Download them as labels.jsonl, and run “fieldmark calibrate measure labels.jsonl”.")));
  document.title = `Labels of ${title} · fieldmark`;
  const actions = { k: () => go(place - 1), j: () => go(place + 1), ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1), d: download };
  for (const [value, , key] of DECISIONS) actions[key] = () => decide(value);
  document.addEventListener("keydown", (event) => {
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!downloaded && stored(setting) === null) event.preventDefault();
  });
  show();
}

startLabeling();
