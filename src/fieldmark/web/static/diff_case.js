// The page of one case in two or more runs: the ground truth and all predictions.

import { request } from "./api.js";
import { caseArticle, caseFacts, neighborLink } from "./case.js";
import { el, replace } from "./dom.js";
import { nameText, whole } from "./labels.js";
import { address, caseAddress, followKeys, problem, remember, rememberCase } from "./page.js";
import { showHighlighted, sideBySide } from "./side_by_side.js";
import { openedCase } from "./value_encoding.js";

const app = document.getElementById("app");
const given = new URLSearchParams(location.search);
const state = address(["path", "show"]);

function addressOf(page, change = {}) {
  const found = new URLSearchParams(given);
  for (const name of ["path", "case"]) found.delete(name);
  for (const [name, value] of Object.entries(change)) found.set(name, value);
  return `${page}?${found}`;
}

function view(found) {
  const facts = (own) => el("p", { class: "case-facts" }, el("strong", null, nameText(own.title)),
    own.number === null ? el("span", { class: "notice" }, "This run does not have the case.") : caseFacts(own));
  const neighbor = (label, target, key) => neighborLink(label, target === null ? null : addressOf("/diff/case", { case: target }), key);
  return caseArticle("h2", found.case_id, [
    el("a", { href: `${addressOf("/diff")}#changed`, id: "back" }, "← Changed cases"),
    el("span", { class: "case-place quiet" }, found.position && `${whole(found.position)} of ${whole(found.total)}`),
    neighbor("Previous", found.previous, "k"), neighbor("Next", found.next, "j"),
  ], found.runs.map(facts), sideBySide(found.runs.map(({ run, title, number, documents }) => ({ name: title, view: openedCase(documents), href: number && `/runs/${run}/cases/${number}` })),
    { ...state, choose: (show) => { given.set("show", show); remember({ show }); } }));
}

followKeys();
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
