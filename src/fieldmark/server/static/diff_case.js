// The page of one case in two or more runs: the ground truth and all predictions.

import { request } from "./api.js";
import { el, mistakeChips, nameText, openedCase, replace, scoreText, showHighlighted, shown, sideBySide, verdictChip, whole } from "./report.js";
import { address, caseAddress, problem, remember, rememberCase } from "./page.js";

const app = document.getElementById("app");
const given = new URLSearchParams(location.search);
const state = address(["path", "show"]);

function addressOf(page, change = {}) {
  const found = new URLSearchParams(given);
  for (const name of ["path", "case"]) found.delete(name);
  for (const [name, value] of Object.entries(change)) found.set(name, value);
  return `${page}?${found}`;
}

function neighbor(label, target, key) {
  return target === null
    ? el("button", { type: "button", disabled: true }, label)
    : el("a", { class: "button", id: label.toLowerCase(), href: addressOf("/diff/case", { case: target }), "aria-keyshortcuts": key }, label);
}

function view(found) {
  const facts = ({ title, number, verdict, status, score, vacuous, errors_by_type: errors }) => el("p", { class: "case-facts" }, el("strong", null, nameText(title)),
    number === null ? el("span", { class: "notice" }, "This run does not have the case.")
      : [verdictChip(verdict, status, vacuous), el("span", { class: "case-score" }, "score ", el("strong", null, scoreText(score, vacuous))), mistakeChips(errors, { word: true })]);
  return el("article", { class: "case", "aria-labelledby": "case-title" },
    el("nav", { class: "case-nav", "aria-label": "Cases" },
      el("a", { href: `${addressOf("/diff")}#changed`, id: "back" }, "← Changed cases"),
      el("span", { class: "case-place quiet" }, found.position && `${whole(found.position)} of ${whole(found.total)}`),
      neighbor("Previous", found.previous, "k"), neighbor("Next", found.next, "j")),
    el("header", { class: "case-head" }, el("h2", { id: "case-title" }, el("bdi", { class: "literal" }, found.case_id === "" ? "(no id)" : shown(found.case_id))), found.runs.map(facts)),
    sideBySide(found.runs.map(({ run, title, number, documents }) => ({ name: title, view: openedCase(documents), href: number && `/runs/${run}/cases/${number}` })),
      { ...state, choose: (show) => { given.set("show", show); remember({ show }); } }));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const id = { j: "next", k: "previous", Escape: "back" }[event.key];
  const target = id && document.getElementById(id);
  if (target && target.href) location.href = target.href;
});
try {
  const wanted = new URLSearchParams(given);
  for (const name of ["path", "show"]) wanted.delete(name);
  const found = await request(`/api/diff/case?${wanted}`);
  document.title = `${found.case_id} · fieldmark`;
  replace(app, view(found));
  rememberCase(caseAddress(location.href));
  showHighlighted(app);
} catch (error) {
  replace(app, problem(error), el("p", null, el("a", { href: `${addressOf("/diff")}` }, "← Back to the comparison")));
}
