// What every view is made of: elements whose text is only ever text, a list that draws what is seen, and the reader.
const { snapshot, made_at: madeAt, live, undo } = JSON.parse(document.getElementById("shown").textContent);
const texts = snapshot.texts || {};
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const UNSEEN_ALL = new RegExp(UNSEEN.source, "g");
const SVG = "http://www.w3.org/2000/svg";

/** Text as nodes: signs that would turn or hide what stands around them are shown by their number. */
function textNodes(text) {
  const whole = String(text ?? "");
  if (!UNSEEN.test(whole)) return [document.createTextNode(whole)];
  const nodes = [];
  let from = 0;
  for (const found of whole.matchAll(UNSEEN_ALL)) {
    if (found.index > from) nodes.push(document.createTextNode(whole.slice(from, found.index)));
    const code = "U+" + found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    const sign = document.createElement("span");
    sign.className = "unseen";
    sign.append(code);
    nodes.push(sign);
    from = found.index + 1;
  }
  nodes.push(document.createTextNode(whole.slice(from)));
  return nodes;
}

/** An element: properties that begin with "on" are listeners, the others attributes; children are elements or text. */
function el(name, properties, ...children) {
  const made = document.createElement(name);
  return fill(made, properties, children);
}

function svg(name, properties, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

function fill(made, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) made.append(child);
    else made.append(...textNodes(child));
  }
  return made;
}

/** Text of a memory or document, isolated: its direction is its own. */
const said = (text, properties) => el("bdi", { dir: "auto", ...properties }, text);
const short = (text, most = 160) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);
const day = (at) => String(at || "").slice(0, 10);
const moment = (at) => String(at || "").slice(0, 19).replace("T", " ");
const button = (label, onclick, properties) => el("button", { type: "button", onclick, ...properties }, label);
const badge = (label, kind) => el("span", { class: "badge " + (kind || "") }, label);
const heading = (label, level = 3) => el("h" + level, {}, label);
const note = (...label) => el("p", { class: "note" }, ...label);
const facts = (pairs) => {
  const kept = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return el("dl", {}, kept.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
};
const folded = (text) => text.toLowerCase().normalize("NFKC");

/** The document's own words for where a text comes from. */
function nameOf(id) {
  const found = texts[id];
  if (!found) return id;
  return found.title && found.title !== found.source ? found.title + " · " + found.source : found.source || id;
}

/** A list of any length that draws only what is seen. Arrow keys move, Enter opens. */
class LongList {
  constructor(label, draw, pick, height = 76) {
    this.draw = draw; this.pick = pick; this.height = height; this.rows = []; this.at = -1; this.drawn = new Map();
    this.id = "list" + LongList.count++;
    this.space = el("div", { class: "space", role: "presentation" });
    this.box = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label }, this.space);
    this.box.addEventListener("scroll", () => this.paint());
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.box);
  }
  set(rows) {
    this.rows = rows; this.at = Math.min(this.at, rows.length - 1);
    this.space.style.height = rows.length * this.height + "px";
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.paint();
  }
  paint() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + 4);
    for (const [index, row] of this.drawn) if (index < first || index >= last) { row.remove(); this.drawn.delete(index); }
    for (let index = first; index < last; index++) if (!this.drawn.has(index)) this.add(index);
  }
  add(index) {
    const row = el("div", {
      class: "row", role: "option", id: this.id + "-" + index, "aria-selected": String(index === this.at),
      "aria-setsize": this.rows.length, "aria-posinset": index + 1, onclick: () => this.go(index, true),
    }, this.draw(this.rows[index]));
    row.style.height = this.height + "px";
    row.style.transform = "translateY(" + index * this.height + "px)";
    this.drawn.set(index, row);
    this.space.append(row);
  }
  go(index, opens) {
    if (!this.rows.length) return;
    this.drawn.get(this.at)?.setAttribute("aria-selected", "false");
    this.at = Math.max(0, Math.min(this.rows.length - 1, index));
    const top = this.at * this.height, bottom = top + this.height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
    this.paint();
    this.drawn.get(this.at)?.setAttribute("aria-selected", "true");
    this.box.setAttribute("aria-activedescendant", this.id + "-" + this.at);
    if (opens) this.pick(this.rows[this.at]);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) this.go(event.key === "End" ? Infinity : this.at < 0 ? 0 : this.at + moves[event.key], false);
    else if (event.key === "Enter" || event.key === " ") this.go(this.at, true);
    else return;
    event.preventDefault();
  }
}
LongList.count = 0;

/** A search box, filters, a count, and the list of what they leave. `filters`: {label, options: [[value, label]]}. */
function finder(items, { label, haystack, filters = [], draw, pick, height }) {
  const list = new LongList(label, draw, pick, height);
  const counted = el("p", { class: "note", role: "status" });
  const empty = note(items.length ? t("none") : t("nothing"));
  const search = el("input", { type: "search", placeholder: t("searchHint"), "aria-label": t("search"), id: list.id + "-search" });
  const choices = filters.map(({ label: name, options, test, first }) => {
    const select = el("select", { "aria-label": name }, options.map(([value, shown]) => el("option", { value, selected: value === first }, shown)));
    return { select, test, label: name };
  });
  const hay = items.map(haystack).map(folded);
  const apply = () => {
    const words = folded(search.value).split(/\s+/).filter(Boolean);
    const tests = choices.map(({ select, test }) => (item) => test(item, select.value));
    const left = items.filter((item, n) => words.every((word) => hay[n].includes(word)) && tests.every((test) => test(item)));
    list.set(left);
    counted.replaceChildren(...textNodes(t("found", left.length.toLocaleString(), items.length.toLocaleString())));
    empty.hidden = left.length > 0;
    list.box.hidden = left.length === 0;
  };
  search.addEventListener("input", apply);
  choices.forEach(({ select }) => select.addEventListener("change", apply));
  const bar = el("div", { class: "bar" }, search, choices.map((one) => el("label", { class: "choice" }, el("span", {}, one.label), one.select)));
  const whole = el("div", { class: "finder" }, bar, counted, list.box, empty);
  apply();
  return whole;
}

/** The way a quote is shown wherever it is a button that leads to its place. */
function quoteButton(quote, name) {
  return button([said("“" + short(quote.quote, 600) + "”"), el("small", {}, said(nameOf(quote.text)), " · ", t("where", quote.start, quote.end))],
    () => openPlace(quote), { class: "quote", "aria-label": name ? name + ": " + short(quote.quote, 120) : null });
}

// --- the reader --------------------------------------------------------------------------------------------------

const WINDOW = 20000;
const reader = el("aside", { id: "reader", "aria-label": t("detail"), tabindex: "-1" });

function showDetail(title, ...parts) {
  reader.replaceChildren(
    el("div", { class: "readerhead" }, el("h2", {}, title), button(t("close"), closeDetail, { class: "plain close" })), ...parts.flat(Infinity).filter(Boolean));
  document.body.classList.add("reading");
  reader.scrollTop = 0;
  reader.focus({ preventScroll: true });
}

function closeDetail() {
  document.body.classList.remove("reading");
  reader.replaceChildren(el("h2", {}, t("detail")), note(t("pick")));
}

/** The nearest heading above a place, if the text has any. */
function sectionAt(text, at) {
  const before = text.slice(Math.max(0, at - 50000), at);
  for (let end = before.length; end > 0; ) {
    const from = before.lastIndexOf("\n", end - 1) + 1;
    const found = /^#{1,6}[ \t]+(.{1,120})/.exec(before.slice(from, Math.min(end, from + 130)));
    if (found) return found[1];
    end = from - 1;
  }
  return "";
}

function openPlace(place) {
  const found = texts[place.text];
  if (!found) return showDetail(t("file"), note(t("noTurn")));
  const section = sectionAt(found.text, place.start);
  const crumbs = [found.page !== null && t("page", found.page), section && t("section", section), t("where", place.start, place.end), day(found.at)];
  const body = el("div", { class: "document", dir: "auto" });
  showDetail(nameOf(place.text), el("p", { class: "crumbs" }, crumbs.filter(Boolean).map((one) => [said(one), " "])), body);
  drawWindow(body, found.text, place, Math.max(0, place.start - WINDOW), Math.min(found.text.length, place.end + WINDOW));
  const mark = body.querySelector("mark");
  if (mark) { mark.scrollIntoView({ block: "center" }); }
}

function drawWindow(body, text, place, from, to) {
  const more = (label, a, b) => button(label, () => drawWindow(body, text, place, a, b), { class: "plain" });
  const marked = text.slice(Math.max(from, place.start), Math.min(place.end, to, place.start + 4 * WINDOW));
  body.replaceChildren(
    ...(from > 0 ? [more(t("earlier"), Math.max(0, from - WINDOW), to)] : []),
    ...textNodes(text.slice(from, Math.max(from, place.start))),
    ...(marked ? [el("mark", { tabindex: "-1" }, marked)] : []),
    ...textNodes(text.slice(Math.max(from, place.start + marked.length), to)),
    ...(to < text.length ? [more(t("later"), from, Math.min(text.length, to + WINDOW))] : []));
}

/** A stretch with what stands around it in its paragraph. */
function inContext(place, around = 140) {
  const text = texts[place.text]?.text;
  if (text === undefined) return said(place.quote || "");
  const near = Math.max(0, place.start - around), far = Math.min(text.length, place.end + around);
  const gap = text.slice(near, place.start).lastIndexOf("\n\n"), end = text.slice(place.end, far).indexOf("\n\n");
  const from = gap < 0 ? near : near + gap + 2, to = end < 0 ? far : place.end + end;
  return said([(gap < 0 && from > 0 ? "…" : "") + text.slice(from, place.start), el("mark", {}, text.slice(place.start, Math.min(place.end, place.start + 2000))),
    text.slice(place.end, to) + (end < 0 && to < text.length ? "…" : "")], { class: "context" });
}

// --- tabs --------------------------------------------------------------------------------------------------------

/** Tabs of [id, label, draw]; a view is drawn when it is first opened, and anew when `draw` says so. */
function tabs(views, label) {
  const panel = el("section", { role: "tabpanel", id: "panel", tabindex: "-1" });
  const open = (id, focused) => {
    current = id;
    buttons.forEach((one) => {
      const chosen = one.id === "tab-" + id;
      one.setAttribute("aria-selected", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      if (chosen && focused) one.focus();
    });
    panel.setAttribute("aria-labelledby", "tab-" + id);
    panel.replaceChildren(...[views.find(([name]) => name === id)[2]()].flat());
  };
  const buttons = views.map(([id, name]) => button(name, () => { closeDetail(); open(id); }, { role: "tab", id: "tab-" + id, "aria-controls": "panel" }));
  const strip = el("div", { role: "tablist", "aria-label": label, onkeydown: (event) => {
    const at = views.findIndex(([id]) => id === current);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: views.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    closeDetail();
    open(views[(next + views.length) % views.length][0], true);
  } }, buttons);
  openTab = open;
  return { strip, panel };
}
let current = null;
let openTab = () => {};

/** An answer: each sentence leads to its quotes, each quote to its place. */
function answerView(answer) {
  if (!answer.sentences.length) return [heading(t("question")), el("p", { class: "question" }, said(answer.question)), note(t("noAnswer"))];
  const parts = answer.sentences.map((sentence) => {
    const under = el("div", { class: "under" });
    under.hidden = true;
    const count = sentence.quotes.length;
    const toggle = button([said(sentence.text), el("small", { class: "count" }, count === 1 ? t("quote") : t("quotes", count))], () => {
      under.hidden = !under.hidden;
      toggle.setAttribute("aria-expanded", String(!under.hidden));
      if (!under.hidden && !under.childNodes.length)
        under.append(...(count ? sentence.quotes.map((n) => quoteButton(answer.quotes[n])) : [note(t("noQuote"))]));
    }, { class: "sentence", "aria-expanded": "false" });
    return el("li", {}, toggle, under);
  });
  return [
    el("p", { class: "question" }, said(answer.question), " ", badge(answer.status)), note(t("choose")), el("ol", { class: "sentences" }, parts),
    answer.quotes.length ? el("details", {}, el("summary", {}, t("allQuotes")), answer.quotes.map((one) => quoteButton(one))) : null];
}

/** Ask the process that serves this page; its answer, or an error that says why not. */
async function ask(what, given) {
  const response = await fetch("do/" + what, { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}
