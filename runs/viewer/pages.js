// A memory of pages: the pages, and a research with its rounds, findings and what was read and not used.
const pageLink = (id) => button(said(texts[id] ? short(nameOf(id), 90) : id), () => openPage(id), { class: "link" });

function pagesTabs() {
  const pages = ["pages", t("pages") + " (" + Object.keys(texts).length.toLocaleString() + ")", pagesView];
  return snapshot.research ? [["research", t("research"), researchView], pages] : [pages, ["research", t("research"), researchView]];
}

function pagesView() {
  const all = Object.entries(texts).map(([id, page]) => ({ id, ...page }));
  const sources = [...new Set(all.map((one) => one.source))].sort();
  return finder(all, {
    label: t("pages"), haystack: (one) => [one.title, one.source, one.abstract, one.text].join("\n"),
    filters: [{ label: t("source"), options: [["", t("all")], ...sources.slice(0, 1000).map((one) => [one, short(one, 60)])], test: (one, wanted) => !wanted || one.source === wanted }],
    draw: (one) => [el("div", { class: "rowhead" }, said(short(one.title || t("noTitle"), 110))), el("div", { class: "rowbody" }, said(short(one.abstract, 150))), el("div", { class: "rowfoot" }, said(short(one.source, 90)), " · ", day(one.at))],
    pick: (one) => openPage(one.id),
  });
}

function openPage(id) {
  const page = texts[id];
  if (!page) return;
  const body = el("div", { class: "document", dir: "auto" });
  drawWindow(body, page.text, { start: 0, end: 0 }, 0, Math.min(page.text.length, WINDOW));
  showDetail(said(page.title || page.source || id), facts([[t("source"), said(page.source)], [t("page"), null], [t("made"), moment(page.at)], [t("abstract"), said(page.abstract)]]), heading(t("text")), body);
}

function researchView() {
  const found = snapshot.research;
  if (!found) return [note(t("noResearch", snapshot.name))];
  const strings = (name, list) => [name, list.length ? el("ul", {}, list.map((one) => el("li", {}, said(one)))) : null];
  const round = (one, n) => el("article", { class: "card" }, el("h3", {}, t("round", n + 1), " ", badge(one.enough ? t("enough") : t("notEnough"), one.enough ? "good" : "")),
    facts([
      strings(t("searched"), [...new Set(one.searches.flatMap((search) => [search.request, ...search.queries]))]),
      [t("keywordsOf"), said([...new Set(one.searches.flatMap((search) => search.keywords))].join(", "))],
      [t("readPages"), one.pages.length ? one.pages.map(pageLink) : null], strings(t("known"), one.known),
    ]));
  return [
    ...answerView(found.answer).filter(Boolean),
    ...(found.findings.length ? [heading(t("findings")), el("ul", {}, found.findings.map((one) => el("li", {}, said(one.text), " ", one.pages.map(pageLink))))] : []),
    heading(t("rounds")), found.rounds.length ? found.rounds.map(round) : note(t("nothing")),
    ...(found.unused.length ? [heading(t("unused")), el("ul", {}, found.unused.map((id) => el("li", {}, pageLink(id))))] : []), ...degradedView(found.degraded)].flat();
}
