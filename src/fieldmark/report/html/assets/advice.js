// Recommendations: groups of similar mistakes, as links to their cases.

function adviceList(groups) {
  return el("ol", { class: "advice" }, groups.slice(0, 12).map(({ pattern, title, hint, mistakes, attributes }) => el("li", null,
    el("h3", null, el("a", { href: casesHref({ pattern }) }, title), " ", el("span", { class: "quiet" }, plural(mistakes, "mistake"))), el("p", null, hint),
    el("p", { class: "chips" }, attributes.slice(0, 8).map(({ attribute, mistakes: times }) => el("a", { class: "tag", href: casesHref({ attribute, pattern }) }, shown(attribute), ` × ${whole(times)}`))))));
}

function adviceSection(run) {
  return section("advice", "Recommendations", "Groups of similar mistakes, most frequent first. Different values without a common pattern are last.", adviceList(run.advice));
}
