// A user: memories as a list, what was true when, contradictions side by side, and what a message recalls.
const records = new Map((snapshot.records || []).map((one) => [one.id, one]));
const isCurrent = (one) => !one.replaced_by && !(one.until && one.until <= madeAt);
const plain = (one) => one.text.replace(/^[^\n:]{1,60} \([^()\n]{1,40}\): /, "");
const subjectOf = (one) => one.subject || "";
const lasting = (one) => (one.until ? t("fromTo", day(one.at), day(one.until)) : t("since", day(one.at)));
const recordLinks = (ids) => ids.filter((id) => records.has(id)).map((id) => button(said(short(plain(records.get(id)), 90)), () => openRecord(id), { class: "link" }));

function pairsOfRecords() {
  const seen = new Set(), found = [];
  for (const one of records.values()) for (const other of one.contradicts) {
    const key = [one.id, other].sort().join(" ");
    if (records.has(other) && !seen.has(key)) { seen.add(key); found.push([one, records.get(other)]); }
  }
  return found;
}

function userTabs() {
  const quarrel = pairsOfRecords();
  return [
    ["memories", t("memories") + " (" + records.size.toLocaleString() + ")", recordsView],
    ["subjects", t("subjects"), subjectsView],
    ["contradictions", t("contradictions") + " (" + quarrel.length + ")", () => (quarrel.length ? quarrel.slice(0, 200).map(recordPair) : [note(t("noContradictions"))])],
    ["recall", t("recall"), recallView],
  ];
}

function recordsView() {
  const all = [...records.values()];
  const options = (field) => [["", t("all")], ...[...new Set(all.map(field).filter(Boolean))].sort().slice(0, 500).map((one) => [one, short(one, 50)])];
  const finding = finder(all, {
    label: t("memories"), haystack: (one) => [one.text, one.subject, one.attribute, one.project].filter(Boolean).join("\n"),
    filters: [
      { label: t("state"), first: "now", options: [["now", t("current")], ["was", t("superseded")], ["quarrel", t("inConflict")], ["pinned", t("pinned")], ["", t("both")]],
        test: (one, wanted) => !wanted || (wanted === "quarrel" ? one.contradicts.length > 0 : wanted === "pinned" ? Boolean(one.pinned) : isCurrent(one) === (wanted === "now")) },
      { label: t("type"), options: options((one) => one.type), test: (one, wanted) => !wanted || one.type === wanted },
      { label: t("subject"), options: options(subjectOf), test: (one, wanted) => !wanted || subjectOf(one) === wanted },
    ],
    draw: (one) => [
      el("div", { class: "rowhead" }, said(short(plain(one), 150)), one.pinned ? badge(t("pinned")) : null, one.contradicts.length ? badge("⚡", "warn") : null, isCurrent(one) ? null : badge(t(one.replaced_how === "consolidate" ? "consolidated" : one.replaced_by ? "superseded" : "expired"))),
      el("div", { class: "rowfoot" }, one.type, one.subject ? [" · ", said([one.subject, one.attribute].filter(Boolean).join(" · "))] : null, " · ", lasting(one))],
    pick: (one) => openRecord(one.id), height: 56,
  });
  return live ? [liveBar(), finding] : finding;
}

function openRecord(id) {
  const one = records.get(id);
  if (!one) return;
  showDetail(said(short(plain(one), 160)),
    facts([
      [t("text"), said(one.text)], [t("state"), [badge(isCurrent(one) ? t("current") : t(one.replaced_how === "consolidate" ? "consolidated" : one.replaced_by ? "superseded" : "expired"), isCurrent(one) ? "good" : ""), " ", lasting(one)]],
      [t("pinned"), one.pinned && t("since", day(one.pinned))], [t("type"), one.type], [t("subject"), one.subject && said(one.subject)], [t("attribute"), one.attribute && said(one.attribute)], [t("project"), one.project && said(one.project)],
      [t("replacedBy"), one.replaced_by ? recordLinks([one.replaced_by]) : null], [t("replaces"), recordLinks(one.replaces).length ? recordLinks(one.replaces) : null],
      [t("contradicts"), one.contradicts.length ? recordLinks(one.contradicts) : null], [t("drawnFrom"), one.evidence.length ? recordLinks(one.evidence) : null],
      [t("trust"), one.trust.toFixed(2)], [t("importance"), one.importance.toFixed(2)], [t("used"), t("times", one.used)],
      [t("wording"), one.history.length ? el("ul", {}, one.history.map((was) => el("li", {}, day(was.at) + ": ", said(was.text)))) : null],
    ]), live ? recordForms(one) : null,
    one.sources.length ? heading(t("said")) : null, one.sources.slice(0, 50).map(sourceOf));
}

function sourceOf(source) {
  const turns = source.turns.map((turn) => source.conversation + "/" + turn).filter((id) => texts[id]);
  const shown = source.quotes.map((quote) => {
    for (const id of turns) {
      const start = texts[id].text.indexOf(quote);
      if (start >= 0) return el("blockquote", {}, inContext({ text: id, start, end: start + quote.length }), el("div", {}, button(t("open"), () => openPlace({ text: id, start, end: start + quote.length }), { class: "plain" })));
    }
    return el("blockquote", {}, said(quote));
  });
  return el("div", { class: "raw" }, el("p", { class: "crumbs" }, said(source.conversation), turns.length ? " · " + moment(texts[turns[0]].at) : " · " + t("noTurn")), shown);
}

function recordPair([one, other]) {
  const side = (record, n) => el("div", { class: "side" }, el("p", { class: "sidehead" }, el("strong", {}, t("side", n)), " ", badge(isCurrent(record) ? t("current") : t("superseded"), isCurrent(record) ? "good" : "")),
    el("p", { class: "value" }, said(plain(record))), el("p", { class: "crumbs" }, lasting(record)), record.sources.slice(0, 3).map(sourceOf),
    button(t("detail"), () => openRecord(record.id), { class: "plain", "aria-label": t("side", n) + ": " + t("detail") }));
  return el("article", { class: "card disputed" }, el("h3", {}, badge(t("disputed"), "warn"), " ", said([one.subject, one.attribute].filter(Boolean).join(" · "))), el("div", { class: "sides" }, side(one, 1), side(other, 2)));
}

// --- what was true when ------------------------------------------------------------------------------------------

function subjectsView() {
  const all = [...records.values()].filter((one) => !(one.replaced_how === "consolidate"));
  if (!all.length) return [note(t("nothing"))];
  const times = all.flatMap((one) => [Date.parse(one.at), one.until ? Date.parse(one.until) : NaN]).filter((at) => !Number.isNaN(at));
  const nowAt = Date.parse(madeAt), from = times.reduce((a, b) => Math.min(a, b), nowAt), to = Math.max(times.reduce((a, b) => Math.max(a, b), nowAt), nowAt), long = Math.max(1, to - from);
  const groups = new Map();
  for (const one of all) {
    const name = [one.subject, one.attribute].filter(Boolean).join(" · ") || t("noSubject");
    groups.set(name, [...(groups.get(name) || []), one]);
  }
  const lanes = [...groups].sort((a, b) => (a[0] === t("noSubject")) - (b[0] === t("noSubject")) || b[1].length - a[1].length);
  const told = el("p", { class: "note", role: "status" });
  const drawn = [];
  const shown = el("div", { class: "lanes" });
  const when = el("input", { type: "date", min: day(new Date(from).toISOString()), max: day(new Date(to).toISOString()), value: day(new Date(nowAt).toISOString()), "aria-label": t("trueOn"), onchange: () => mark() });
  const mark = () => {
    const at = when.value, holds = (one) => day(one.at) <= at && (!one.until || day(one.until) > at);
    drawn.forEach(([one, bar]) => bar.classList.toggle("true", holds(one)));
    told.replaceChildren(...textNodes(t("onDay", all.filter(holds).length.toLocaleString(), at)));
  };
  const bar = (one) => {
    const start = (Date.parse(one.at) - from) / long, end = one.until ? Math.min(1, (Date.parse(one.until) - from) / long) : 1;
    const stripe = el("span", { class: "stripe" });
    stripe.style.insetInlineStart = 100 * start + "%";
    stripe.style.inlineSize = Math.max(0.8, 100 * (end - start)) + "%";
    const made = button([el("span", { class: "track" }, stripe), el("span", { class: "barname" }, said(short(plain(one), 90)), el("small", {}, " " + lasting(one)))], () => openRecord(one.id), { class: "lane" + (isCurrent(one) ? "" : " past") });
    drawn.push([one, made]);
    return made;
  };
  const more = (first) => {
    let count = 0, n = first;
    for (; n < lanes.length && count < 150; n++) {
      const [name, members] = lanes[n];
      const sorted = [...members].sort((a, b) => (a.at < b.at ? -1 : 1));
      const group = el("section", { class: "group" }, heading(said(name)));
      const add = (at) => {
        group.append(...sorted.slice(at, at + 50).map(bar));
        if (at + 50 < sorted.length) { const next = button(t("moreLanes"), () => { next.remove(); add(at + 50); mark(); }, { class: "plain" }); group.append(next); }
      };
      add(0);
      count += Math.min(50, sorted.length);
      shown.append(group);
    }
    if (n < lanes.length) { const next = button(t("moreLanes"), () => { next.remove(); more(n); mark(); }, { class: "plain" }); shown.append(next); }
  };
  more(0);
  mark();
  return [el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, t("trueOn")), when)), told,
    el("p", { class: "axis" }, el("span", {}, day(new Date(from).toISOString())), el("span", {}, day(new Date(to).toISOString()))), shown];
}

// --- recall ------------------------------------------------------------------------------------------------------

function recallView() {
  const result = el("div", {}, snapshot.recall ? recalledView(snapshot.recall) : live ? null : note(t("noRecall", snapshot.name)));
  if (!live) return [result];
  const message = el("input", { type: "text", placeholder: t("askHint"), "aria-label": t("askHint") });
  return [el("form", { class: "bar", onsubmit: async (event) => {
    event.preventDefault();
    await attempt(result, async () => result.replaceChildren(...recalledView(await ask("recall", { question: message.value })).flat()));
  } }, message, el("button", { type: "submit" }, t("ask"))), result];
}

function recalledView(found) {
  const line = (one, told) => el("li", {}, button([said(short(records.has(one.id) ? plain(records.get(one.id)) : one.id, 200)), el("small", {}, told)], () => openRecord(one.id), { class: "quote" }));
  return [
    el("p", { class: "question" }, said(found.question), " ", badge(t("s_" + found.outcome), found.outcome === "used" ? "good" : "")),
    heading(t("surfaced")),
    found.shown.length ? el("ol", {}, found.shown.map((one) => line(one, [t("score", one.score.toFixed(3), one.cosine.toFixed(3)), one.shared.length ? " · " + t("shared", one.shared.join(", ")) : ""])))
      : note(t("nothingRecalled", found.reason || t("s_" + found.outcome))),
    ...(found.held_back.length ? [heading(t("heldBack")), el("ol", {}, found.held_back.map((one) => line(one, t("cosine", one.cosine.toFixed(3)))))] : [])];
}
