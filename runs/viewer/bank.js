// A bank: its answer, its contradictions side by side, its memories, and its run on a map.
const byId = new Map((snapshot.memories || []).map((one) => [one.id, one]));
const quarrels = new Map();
for (const found of snapshot.contradictions || []) for (const claim of found.claims) quarrels.set(claim.memory, [...(quarrels.get(claim.memory) || []), found]);
const stateName = (status) => ({ settled: t("settled"), disputed: t("disputed"), open: t("openState") })[status] || status;
const namesOf = (ids) => ids.map((id) => button(said(byId.has(id) ? short(byId.get(id).context || byId.get(id).summary, 70) : id), () => openMemory(id), { class: "link" }));
const linked = new Map();
for (const [one, other] of snapshot.edges || []) { linked.set(one, [...(linked.get(one) || []), other]); linked.set(other, [...(linked.get(other) || []), one]); }
const merges = new Map((snapshot.merges || []).map((event) => [event.node, event]));
const mergedHow = (event) => event && event.merge_strategy ? t("m_" + event.merge_strategy) + (event.confidence === undefined ? "" : t("confidence", event.confidence.toFixed(2))) : null;

function bankTabs() {
  return [
    ["answer", t("answer"), () => [answerView(snapshot.answer), degradedView(snapshot.degraded)].flat()],
    ["contradictions", t("contradictions") + " (" + snapshot.contradictions.length + ")", contradictionsView],
    ["memories", t("memories") + " (" + snapshot.memories.filter((one) => !one.into).length + ")", memoriesView],
    ["run", t("run"), runView],
  ];
}

function degradedView(notes) {
  return notes && notes.length ? [heading(t("degraded")), el("ul", {}, notes.map((one) => el("li", {}, said(one))))] : [];
}

// --- contradictions ----------------------------------------------------------------------------------------------

function contradictionsView() {
  if (!snapshot.contradictions.length) return [note(t("noContradictions"))];
  const shown = el("div", {});
  const draw = (from) => {
    shown.append(...snapshot.contradictions.slice(from, from + 50).map(contradictionCard));
    if (from + 50 < snapshot.contradictions.length) {
      const more = button(t("moreLanes"), () => { more.remove(); draw(from + 50); }, { class: "plain" });
      shown.append(more);
    }
  };
  draw(0);
  return shown;
}

function contradictionCard(found) {
  const sides = found.claims.map((claim, n) => {
    const holds = found.outcome === "holds" && found.winner === n;
    return el("div", { class: "side" + (holds ? " holds" : found.outcome === "holds" ? " fails" : "") },
      el("p", { class: "sidehead" }, el("strong", {}, t("side", n + 1)), " ", holds ? badge("✓ " + t("holds"), "good") : null),
      el("p", { class: "value" }, said(claim.value)), el("blockquote", {}, inContext(claim)),
      el("p", { class: "crumbs" }, said(nameOf(claim.text)), " · ", t("where", claim.start, claim.end)),
      button(t("open"), () => openPlace(claim), { class: "plain", "aria-label": t("side", n + 1) + ": " + t("open") }));
  });
  const winner = found.outcome === "holds" && found.winner !== null ? found.claims[found.winner].value : "";
  const from = new Set(found.evidence.map((one) => texts[one.text]?.source)).size;
  const changes = found.by_hand ? "c_hand" : found.status !== "settled" ? "c_open" : found.outcome === "integrate" ? "c_integrate" : found.announced ? "c_announced" : found.outcome === "holds" ? "c_holds" : "c_open";
  return el("article", { class: "card " + found.status, "aria-label": found.reason },
    el("h3", {}, badge(stateName(found.status), found.status === "settled" ? "good" : "warn"), " ", said(found.reason)),
    el("div", { class: "sides" }, sides),
    facts([
      [t("verdict"), [said(t("v_" + found.outcome, winner)), found.statement ? [" ", said(t("trueIs", found.statement))] : null, found.explanation ? el("div", {}, said(found.explanation)) : null]],
      [t("evidence"), found.evidence.length ? el("details", {}, el("summary", {}, t("evidenceCount", found.evidence.length, from)), found.evidence.map((one) => quoteButton(one))) : null],
      [t("change"), t(changes)],
    ]), live ? settleForm(found) : null);
}

// --- memories ----------------------------------------------------------------------------------------------------

function memoriesView() {
  const sources = [...new Set(snapshot.memories.flatMap((one) => one.sources))].sort();
  return finder(snapshot.memories, {
    label: t("memories"), haystack: (one) => [one.context, one.summary, one.keywords.join(" "), one.sources.join(" ")].join("\n"),
    filters: [
      { label: t("source"), options: [["", t("all")], ...sources.map((one) => [one, short(one, 60)])], test: (one, wanted) => !wanted || one.sources.includes(wanted) },
      { label: t("state"), first: "now", options: [["now", t("current")], ["quarrel", t("inConflict")], ["all", t("showMerged")]],
        test: (one, wanted) => wanted === "all" || (wanted === "quarrel" ? quarrels.has(one.id) : !one.into) },
    ],
    draw: (one) => [
      el("div", { class: "rowhead" }, said(short(one.context || one.summary, 110)), quarrels.has(one.id) ? badge("⚡ " + quarrels.get(one.id).length, "warn") : null, one.into ? badge(t("into")) : null),
      el("div", { class: "rowbody" }, said(short(one.summary, 150))), el("div", { class: "rowfoot" }, said(short(one.sources.join(", "), 110)))],
    pick: (one) => openMemory(one.id),
  });
}

function openMemory(id) {
  const one = byId.get(id);
  if (!one) return showDetail(id, note(t("nothing")));
  showDetail(said(one.context || id),
    facts([
      [t("summary"), said(one.summary)], [t("keywords"), said(one.keywords.join(", "))], [t("sources"), said(one.sources.join(", "))], [t("made"), moment(one.at)],
      [t("into"), one.into ? namesOf([one.into]) : null], [t("mergedFrom"), one.merged_from.length ? namesOf(one.merged_from) : null], [t("mergedHow"), mergedHow(merges.get(id))],
      [t("related"), linked.get(id)?.length ? namesOf(linked.get(id).slice(0, 40)) : null],
      [t("contradictions"), quarrels.has(id) ? quarrels.get(id).map((found) => button([badge(stateName(found.status), found.status === "settled" ? "good" : "warn"), " ", said(found.reason)], () => showDetail(t("contradictions"), contradictionCard(found)), { class: "link" })) : null],
      [t("history"), one.history.length ? el("ul", {}, one.history.map((was) => el("li", {}, moment(was.at) + " ", said(was.context)))) : null],
    ]),
    heading(t("raw")),
    one.places.slice(0, 100).map((place) => el("div", { class: "raw" },
      el("p", { class: "crumbs" }, said(nameOf(place.text)), " · ", t("where", place.start, place.end)),
      el("blockquote", {}, said(short(texts[place.text].text.slice(place.start, Math.min(place.end, place.start + 4000)), 3000))),
      button(t("open"), () => openPlace(place), { class: "plain" }))));
}

// --- the run -----------------------------------------------------------------------------------------------------

const MOST_DRAWN = 120;
const [WIDE, HIGH] = [720, 420];

/** The memories, links and contradiction groups there were after a step. */
function stateAfter(step) {
  const alive = new Set(), groups = new Map();
  snapshot.steps.slice(0, step + 1).forEach((one) => {
    one.memories.forEach((id) => alive.add(id));
    one.gone.forEach((id) => alive.delete(id));
    for (const [id, status] of Object.entries(one.conflicts)) groups.set(id, status);
  });
  return { alive: snapshot.steps.length ? alive : new Set([...byId.keys()].filter((id) => !byId.get(id).into)), groups };
}

function runView() {
  const last = snapshot.steps.length - 1;
  const map = el("div", { class: "map" });
  const told = el("p", { class: "note", role: "status" });
  const table = el("tbody", {}, snapshot.steps.map((one, n) => el("tr", { id: "step-" + n },
    el("td", {}, button(n + 1 + ". " + one.stage, () => go(n), { class: "link" })), el("td", {}, one.seconds.toFixed(2)), el("td", {}, changesOf(one)),
    el("td", {}, one.calls ? t("calls", one.calls, one.tokens) : "–"))));
  const slider = el("input", { type: "range", min: "0", max: String(Math.max(0, last)), value: String(Math.max(0, last)), "aria-label": t("atStep"), oninput: () => go(Number(slider.value)) });
  const go = (step) => {
    slider.value = String(step);
    if (last >= 0) {
      told.replaceChildren(...textNodes(t("step", step + 1, last + 1, snapshot.steps[step].stage)));
      slider.setAttribute("aria-valuetext", t("step", step + 1, last + 1, snapshot.steps[step].stage));
      [...table.children].forEach((row, n) => row.classList.toggle("now", n === step));
    }
    map.replaceChildren(...mapOf(stateAfter(step)));
  };
  const whole = [
    heading(t("graph")), map,
    el("p", { class: "legend" }, el("span", { class: "key link" }, t("legendLink")), el("span", { class: "key quarrel" }, t("legendConflict")), el("span", { class: "key merge" }, t("legendMerge"))),
    last >= 0 ? [el("label", { class: "scrub" }, t("atStep"), slider), told] : note(t("noSteps")),
    last >= 0 ? [heading(t("steps")), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("steps") }, el("table", {},
      el("thead", {}, el("tr", {}, [t("stage"), t("seconds"), t("changed"), t("cost")].map((name) => el("th", { scope: "col" }, name)))), table))] : null,
    snapshot.tasks.length ? [heading(t("tasks")), el("ul", {}, snapshot.tasks.map((one) => el("li", {}, badge(one.status, one.status === "success" ? "good" : ""), " ", el("strong", {}, one.kind), " ", said(short(one.description, 300)), one.learned ? el("div", { class: "note" }, said(short(one.learned, 400))) : null)))] : null,
  ].flat(Infinity).filter(Boolean);
  go(Math.max(0, last));
  return whole;
}

function changesOf(one) {
  const groups = Object.values(one.conflicts).reduce((count, status) => ({ ...count, [status]: (count[status] || 0) + 1 }), {});
  const told = [
    one.texts.length && t("plusTexts", one.texts.length), one.memories.length && t("plusMemories", one.memories.length), one.gone.length && t("minusMemories", one.gone.length),
    one.edges.length && t("plusEdges", one.edges.length), ...Object.entries(groups).map(([status, count]) => t("conflictNow", count, stateName(status)))].filter(Boolean);
  return told.join(", ") || t("nothingChanged");
}

/** Which memories are drawn: all where they are few, else those in contradictions first. */
function drawnOf(alive) {
  const ids = [...byId.keys()].filter((id) => alive.has(id) || (byId.get(id).into && alive.has(byId.get(id).into)));
  return ids.length <= MOST_DRAWN ? ids : [...ids.filter((id) => quarrels.has(id)), ...ids.filter((id) => !quarrels.has(id) && linked.has(id)), ...ids.filter((id) => !quarrels.has(id) && !linked.has(id))].slice(0, MOST_DRAWN);
}

function mapOf({ alive, groups }) {
  const ids = drawnOf(alive), places = new Map(ids.map((id, n) => [id, n]));
  if (!ids.length) return [note(t("nothing"))];
  const lines = [];
  const line = (one, other, kind) => places.has(one) && places.has(other) && one !== other && lines.push([places.get(one), places.get(other), kind]);
  (snapshot.edges || []).forEach(([one, other]) => line(one, other, "link"));
  ids.forEach((id) => byId.get(id).into && !alive.has(id) && line(id, byId.get(id).into, "merge"));
  snapshot.contradictions.filter((one) => groups.has(one.conflict) || !snapshot.steps.length).forEach((one) => one.claims.length > 1 && line(one.claims[0].memory, one.claims[1].memory, "quarrel"));
  const spots = laidOut(ids.length, lines);
  const drawn = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": t("graph") },
    lines.map(([a, b, kind]) => svg("line", { class: kind, x1: spots[a].x, y1: spots[a].y, x2: spots[b].x, y2: spots[b].y })),
    ids.map((id, n) => spotOf(id, spots[n], alive.has(id), ids.length)));
  const all = snapshot.memories.length;
  return [drawn, ids.length < all && ids.length === MOST_DRAWN ? note(t("graphPart", ids.length, all)) : null].filter(Boolean);
}

function spotOf(id, spot, isAlive, count) {
  const one = byId.get(id), name = one.context || one.summary;
  const open = () => openMemory(id);
  return svg("g", { class: "spot" + (isAlive ? "" : " away") + (quarrels.has(id) ? " quarrels" : ""), role: "button", tabindex: "0", "aria-label": short(name, 80), onclick: open,
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } } },
  svg("title", {}, short(name, 200)), svg("circle", { cx: spot.x, cy: spot.y, r: isAlive ? 9 : 7 }),
  count <= 30 ? svg("text", { x: Math.min(WIDE - 92, Math.max(92, spot.x)), y: spot.y + 22, "text-anchor": "middle" }, short(name, 28)) : null);
}

/** Places by springs along lines and a push between all, from a spiral, so that the same memory looks the same. */
function laidOut(count, lines) {
  const spots = Array.from({ length: count }, (_, n) => {
    const angle = n * 2.4, far = 24 * Math.sqrt(n + 0.5);
    return { x: WIDE / 2 + far * Math.cos(angle), y: HIGH / 2 + far * Math.sin(angle) };
  });
  const near = Math.min(110, Math.sqrt((WIDE * HIGH) / (count + 1)) * 0.7);
  for (let turn = 0; turn < 150; turn++) {
    const moves = spots.map(() => ({ x: 0, y: 0 })), heat = 12 * (1 - turn / 150);
    for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) {
      const dx = spots[a].x - spots[b].x || 0.1, dy = spots[a].y - spots[b].y || 0.1, square = dx * dx + dy * dy, push = (near * near) / square;
      moves[a].x += dx * push; moves[a].y += dy * push; moves[b].x -= dx * push; moves[b].y -= dy * push;
    }
    for (const [a, b] of lines) {
      const dx = spots[a].x - spots[b].x, dy = spots[a].y - spots[b].y, pull = Math.hypot(dx, dy) / near;
      moves[a].x -= dx * pull; moves[a].y -= dy * pull; moves[b].x += dx * pull; moves[b].y += dy * pull;
    }
    spots.forEach((spot, n) => {
      moves[n].x += ((WIDE / 2 - spot.x) * 0.25 * near) / 100; moves[n].y += ((HIGH / 2 - spot.y) * 0.5 * near) / 100;
      const size = Math.hypot(moves[n].x, moves[n].y) || 1, step = Math.min(size, heat);
      spot.x = Math.min(WIDE - 70, Math.max(70, spot.x + (moves[n].x / size) * step));
      spot.y = Math.min(HIGH - 34, Math.max(18, spot.y + (moves[n].y / size) * step));
    });
  }
  return spots.map(({ x, y }) => ({ x: Math.round(x), y: Math.round(y) }));
}
