// The overview: result of the gates, metrics, mistakes by type and domain, and recommendations.

import { casesHref, mistakeLinks, warningLine } from "./case_links.js";
import { barList, gauge, stackedBar } from "./charts.js";
import { fieldPath, repeatedErrors, strongestFinding } from "./document_tree.js";
import { el, section, spoken } from "./dom.js";
import { heatMap } from "./heat_map.js";
import { changeNumber, DASH, ERROR_NAMES, mark, mistakesIn, outcomeOf, OUTCOMES, outcomeWord, pathText, plural, rate, reasonText, signed, whole } from "./labels.js";
import { tableNode } from "./table.js";
import { kindOf } from "./value_encoding.js";
import { bothValues, shown } from "./values.js";

const VERDICT_TEXTS = {
  pass: ["✓", "Passed", "All gates passed"],
  fail: ["✗", "Failed", ""],
  error: ["✗", "Errors", ""],
};

export const FAILURE_TEXTS = {
  unknown_metric: "A gate names an unknown metric",
  invalid_truth: "Some ground truth could not be read",
  unmet_selection: "No case matches some of the selected tags or ids",
  too_many_errors: "Too many cases have evaluation errors",
  nothing_scored: "No case was scored",
  failed_evaluator: "An evaluator found none of its paths",
  gate_failed: "A gate failed",
};

export function overview(run) {
  return section("overview", "Overview", null,
    warningLine(run.method.structural_warnings),
    verdictPanel(run), strongestFinding(run.finding), repeatedErrors(run.repeated), tileGrid(run.tiles, run.formula),
    el("div", { class: "columns" }, errorTypes(run), domains(run)));
}

export function verdictPanel(run) {
  const { totals, verdicts, errors, micro } = run;
  const mistakes = mistakesIn(errors);
  const fields = micro.tp + micro.tn + mistakes;
  return el("div", { class: `panel verdict-panel is-${run.verdict}` },
    run.verdict in VERDICT_TEXTS && verdictWord(run),
    el("div", { class: "verdict-facts" },
      isVacuousRun(run) ? el("p", { class: "headline" }, `Nothing to compare in ${plural(totals.scored, "case")}`) : el("p", { class: "headline" },
        el("strong", null, whole(totals.perfect || 0)), ` of ${plural(run.failed ? totals.scored : totals.total || 0, run.failed ? "scored case" : "case")} perfect, `,
        el("strong", null, whole(mistakes)), ` ${mistakes === 1 ? "mistake" : "mistakes"} in ${plural(fields, "field")}`),
      el("p", { class: "chips" }, mistakeLinks(errors, {}, { word: true })),
      el("div", { class: "verdict-bar" },
        stackedBar(["pass", "partial", "fail"].map((name) => [name === "pass" && isVacuousRun(run) ? "ignored" : name, verdicts[name] || 0, name, casesHref({ verdict: name })]), { width: 400, height: 8 }),
        el("span", { class: "quiet" }, ["pass", "partial", "fail"].map((name, place) => [place > 0 && ", ", verdicts[name] ? el("a", { href: casesHref({ verdict: name }) }, `${whole(verdicts[name])} ${name}`) : `0 ${name}`]))),
      run.failed && el("p", { class: "notice" }, `${run.failed}.`),
      leftOut(totals), run.verdict === "none" && el("p", { class: "quiet" }, "No gates are set for this run.")),
    run.gates.length > 0 && gateList(run.gates));
}

// Whether there was nothing to score in any case.
function isVacuousRun({ totals }) {
  return totals.scored > 0 && totals.scored === totals.vacuous;
}

function verdictWord({ verdict, failures, gates }) {
  const [glyph, title, meaning] = VERDICT_TEXTS[verdict];
  const failed = gates.filter(({ passed }) => !passed).length;
  return el("div", { class: "verdict-word" },
    el("span", { class: "verdict-glyph", "aria-hidden": "true" }, glyph),
    el("div", null, el("strong", null, title),
      el("p", null, failures.map((failure) => FAILURE_TEXTS[failure]).join("; ") || meaning),
      failed > 0 && el("p", null, `${whole(failed)} of ${plural(gates.length, "gate")} failed`)));
}

// What is special in some cases, as [text, filters]; without filters, the cases cannot be selected.
function leftOutParts(totals) {
  /** @type {[string, string, Record<string, string>?][]} */
  const labels = [["errors", "with errors", { verdict: "error" }], ["missing", "without prediction", { input: "missing" }], ["unparseable", "unparseable", { input: "parse_error" }], ["invalid_truth", "with invalid ground truth"], ["vacuous", "with nothing to compare"]];
  return labels.filter(([name]) => totals[name]).map(([name, label, filters]) => [`${whole(totals[name])} ${label}`, filters]);
}

function unexpectedText(totals) {
  return totals.unexpected ? `${plural(totals.unexpected, "prediction")} without ground truth` : "";
}

export function leftOutText(totals) {
  const parts = leftOutParts(totals).map(([text]) => text);
  return [parts.length ? `Cases: ${parts.join(", ")}` : "", unexpectedText(totals)].filter(Boolean).join("; ");
}

function leftOut(totals) {
  const parts = leftOutParts(totals), unexpected = unexpectedText(totals);
  return (parts.length > 0 || unexpected) && el("p", { class: "notice" },
    parts.length > 0 && ["Cases: ", parts.map(([text, filters], place) => [place > 0 && ", ", filters ? el("a", { href: casesHref(filters) }, text) : text])],
    parts.length > 0 && unexpected && "; ", unexpected);
}

function gateList(gates) {
  return el("ul", { class: "gates", "aria-label": "Gates" }, gates.map(({ name, kind, limit, value, passed, note, bounds }) =>
    el("li", { class: passed ? "gate passed" : "gate failed" },
      el("span", { class: "glyph", "aria-hidden": "true" }, passed ? "✓" : "✗"), spoken(passed ? "passed: " : "failed: "),
      el("span", { class: "gate-name" }, pathText(name)),
      el("span", { class: "gate-value" }, bounds ? `between ${rate(bounds[0], 4)} and ${rate(bounds[1], 4)}` : value === null ? "undefined" : rate(value, 4)),
      el("span", { class: "quiet" }, `must be ${kind === "max" ? "at most" : "at least"} ${limit}`),
      note && el("span", { class: "quiet" }, shown(note)))));
}

const TILE_COLUMNS = 5;

// All rows have about the same number of tiles.
export function tileGrid(tiles, formula, digits = 0) {
  const grid = el("dl", { class: "tiles" }, tiles.map((tile) => tileNode(tile, digits)));
  grid.style.setProperty("--columns", String(Math.ceil(tiles.length / Math.ceil(tiles.length / TILE_COLUMNS)) || 1));
  return [grid, formula && el("p", { class: "quiet rqs-formula" }, formula)];
}

// A metric that is vacuous or was not evaluated has no gauge, because its value is not a result.
function tileNode({ label, value, meaning, interval, most, before, note, digits: own = 0, is_result: isResult = true }, digits) {
  const count = Number.isInteger(value) && label === "Errors";
  const change = before === undefined || value === null || before === null ? null : value - before;
  return el("div", { class: "tile" },
    el("dt", null, label),
    el("dd", null,
      el("span", { class: "metric", "data-metric": label.toLowerCase() }, count ? whole(value) : rate(value, digits || own || 3), most !== undefined && [" ", el("span", { class: "out-of" }, `of ${Number(most.toFixed(4))}`)]),
      note && el("span", { class: "tile-note" }, note),
      before !== undefined && el("span", { class: "change" }, change === null ? DASH : `${Math.abs(change) < 1e-9 ? "=" : change > 0 ? "▲" : "▼"} ${count ? signed(change, 0) : changeNumber(change)}`),
      !count && gauge(value === null || !isResult ? null : value / (most || 1), interval && interval.map((each) => each / (most || 1)), { width: 120, height: 10 }),
      interval && el("span", { class: "interval", title: "95% confidence interval" }, `95% CI ${rate(interval[0])} to ${rate(interval[1])}`),
      el("span", { class: "meaning" }, before === undefined ? meaning : `before: ${count ? whole(before) : rate(before)}`)));
}

export function errorTypes(run) {
  const lines = ERROR_NAMES.map((error) => ({ error, number: run.errors[error] || 0 }))
    .sort((one, two) => two.number - one.number)
    .map(({ error, number }) => {
      const href = number ? casesHref({ error }) : null, outcome = outcomeOf(error);
      const label = mark(outcome, { word: true });
      return { name: href ? el("a", { class: "chip-link", href }, label) : label, parts: [[OUTCOMES[outcome].css, number, OUTCOMES[outcome].word, href]], number: whole(number) };
    });
  return el("div", { class: "panel" }, el("h3", null, "Mistakes by type"), barList(lines));
}

export function domains(run) {
  const wrong = run.domains.filter(({ errors_by_type: errors }) => mistakesIn(errors) > 0);
  const lines = wrong.slice(0, 8).map(({ domain, fields, errors_by_type: errors }) => {
    const attribute = `${fieldPath("", domain)}.**`;
    return {
      name: el("a", { href: casesHref({ attribute }), title: domain }, el("bdi", { class: "key" }, shown(domain))),
      parts: ERROR_NAMES.map((error) => [OUTCOMES[outcomeOf(error)].css, errors[error], outcomeWord(error), casesHref({ attribute, error })]),
      number: whole(mistakesIn(errors)), detail: `of ${whole(fields)}`,
    };
  });
  const more = wrong.length - lines.length;
  return el("div", { class: "panel" }, el("h3", null, "Mistakes by domain"),
    el("p", { class: "quiet" }, "By the first key of the path"), barList(lines, { empty: "No mistakes" }),
    more > 0 && el("p", { class: "quiet" }, `… and ${plural(more, "more domain")} with mistakes`));
}

// `lines` are the cases of the list, and `caseLink` returns the address of one of them by its rank.
export function worstFields(run, caseLink) {
  const filters = ({ attribute, outcome }) => ({ attribute, error: outcome });
  const table = tableNode({
    caption: "Most frequent mistakes", step: 10, empty: "No mistakes", rows: run.mistakes,
    columns: [
      { key: "attribute", title: "Attribute", cell: (row) => [el("a", { href: casesHref(filters(row)) }, pathText(row.attribute)), row.reasons.length > 0 && el("span", { class: "detail" }, row.reasons.map(({ reason, mistakes }) => `${reasonText(reason)} × ${whole(mistakes)}`).join(", "))] },
      { key: "outcome", title: "Outcome", value: ({ outcome }) => outcomeWord(outcome), cell: ({ outcome }) => mark(outcomeOf(outcome), { word: true }) },
      { key: "mistakes", title: "Mistakes", format: "count" },
      { key: "cases", title: "Cases", format: "count", cell: (row) => el("a", { href: casesHref(filters(row)), "aria-label": `${plural(row.cases, "case")}, ${row.attribute}` }, whole(row.cases)) },
      { title: "Example (expected, predicted)", css: "example long-value", cell: exampleCell },
    ],
  });
  return section("mistakes", "Worst fields", "Mistakes grouped by attribute and outcome, most frequent first. The examples come from different cases, where possible.", table);
  function exampleCell(row) {
    if (!row.example) return DASH;
    const { rank, path, expected, candidate } = row.example;
    const link = el("a", { href: caseLink(rank, { ...filters(row), path }) }, shown(String(run.cases.lines[rank].id)));
    if (kindOf(expected) === "hidden") return link;
    const [one, two] = bothValues(expected, candidate);
    return el("div", { class: "stacked" }, el("span", { class: "side" }, one), el("span", { class: "side" }, two), link);
  }
}

export function heatSection(run, caseLink) {
  const shownRows = run.heat.attributes.length, all = run.attributes.length;
  return section("heat", "Heat map", `${shownRows < all ? `Attributes with the most mistakes (${whole(shownRows)} of ${whole(all)})` : "All attributes"}, by case.`,
    el("div", { class: "panel" }, heatMap(run.heat, run.cases.lines, caseLink)));
}

export function adviceList(groups) {
  return el("ol", { class: "advice" }, groups.slice(0, 12).map(({ pattern, title, hint, rules = [], mistakes, attributes }) => el("li", null,
    el("h3", null, el("a", { href: casesHref({ pattern }) }, title), " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))), el("p", null, hint), rules.map((rule) => el("p", { class: "proposed-rule" }, shown(rule))),
    el("p", { class: "chips" }, attributes.slice(0, 8).map(({ attribute, mistakes: times }) => el("a", { class: "tag", href: casesHref({ attribute, pattern }) }, shown(attribute), ` × ${whole(times)}`))))));
}

export function adviceSection(run) {
  return section("advice", "Recommendations", "Groups of similar mistakes, most frequent first. Different values without a common pattern are last.", adviceList(run.advice));
}
