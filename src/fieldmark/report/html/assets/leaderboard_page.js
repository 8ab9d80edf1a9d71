// Builds the report of a ranking.

import { data, el, replace, section } from "./dom.js";
import { plural } from "./labels.js";
import { leaderboardHead, leaderboardParts } from "./leaderboard.js";
import { themeButton } from "./theme.js";

function startRanking() {
  const board = data("board");
  document.title = `Ranking of ${plural(board.runs.length, "run")} · fieldmark`;
  const parts = leaderboardParts(board, null);
  replace(document.getElementById("app"),
    el("a", { class: "skip", href: "#ranking" }, "Skip to content"),
    el("header", { class: "top" },
      el("div", { class: "top-inner" },
        el("p", { class: "brand" }, el("span", { class: "title" }, `Ranking of ${plural(board.runs.length, "run")}`), el("span", { class: "quiet" }, `convention ${board.convention}`)),
        themeButton()),
      el("nav", { class: "sections", "aria-label": "Sections" }, parts.map(({ id, title }) => el("a", { href: `#${id}` }, title)))),
    el("main", null, el("h1", { class: "spoken" }, "Ranking"), el("div", { class: "board-head" }, leaderboardHead(board)),
      parts.map(({ id, title, lead, node }) => section(id, title, lead, node))),
    el("footer", { class: "bottom quiet" }, "Created with fieldmark."));
}

startRanking();
