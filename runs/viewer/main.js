// The frame of the page: what is shown, its views, language and theme.
const kept = { get: (name) => { try { return localStorage.getItem(name); } catch { return null; } }, set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* a frame keeps nothing */ } } };

function frame(first) {
  document.documentElement.lang = language;
  reader.setAttribute("aria-label", t("detail"));
  const views = { bank: bankTabs, user: userTabs, pages: pagesTabs }[snapshot.kind]();
  const { strip, panel } = tabs(views, t("kinds_" + snapshot.kind));
  closeDetail();
  document.body.replaceChildren(
    el("a", { class: "skip", href: "#panel" }, t("skip")),
    el("header", {},
      el("h1", {}, el("small", {}, t("kinds_" + snapshot.kind)), " ", said(short(snapshot.name, 80))),
      el("p", { class: "note" }, t("made_at", moment(madeAt) + " UTC"), " · ", t(live ? "live" : "readOnly")),
      el("div", { class: "tools" }, live && undo ? undoButton() : null,
        button(t("language"), () => { language = language === "en" ? "zh" : "en"; kept.set("language", language); frame(current); }, { id: "language", lang: language === "en" ? "zh" : "en" }),
        button(t("theme"), turnTheme, { id: "theme" }))),
    el("nav", {}, strip), el("main", {}, panel, reader));
  openTab(views.some(([id]) => id === first) ? first : views[0][0]);
}

function turnTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  kept.set("theme", document.documentElement.dataset.theme);
}

if (kept.get("theme")) document.documentElement.dataset.theme = kept.get("theme");
if (kept.get("language") in WORDS) language = kept.get("language");
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("reading")) closeDetail();
  const search = document.querySelector("input[type=search]");
  if (event.key === "/" && search && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) { event.preventDefault(); search.focus(); }
});
document.title = snapshot.name.slice(0, 80) + " · Agentic Memory Bank";
let first = null;
try { first = live && sessionStorage.getItem("tab"); sessionStorage.removeItem("tab"); } catch { /* the first one */ }
frame(first);
