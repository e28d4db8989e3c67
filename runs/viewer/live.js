// What the live page may do. Each asks the process that serves it, and shows what came of it.

/** Show where something failed, in words. */
async function attempt(place, work) {
  try { await work(); }
  catch (error) { place.replaceChildren(el("p", { class: "error", role: "alert" }, t("failed", error.message))); }
}

/** Do it, then show everything anew on the same tab. */
async function doAndReload(place, what, given) {
  await attempt(place, async () => {
    await ask(what, given);
    try { sessionStorage.setItem("tab", current); } catch { /* then the first tab is shown */ }
    location.reload();
  });
}

/** Take back what was done last on this page. */
function undoButton() {
  const told = el("div", {});
  return [button(t("undo", t("u_" + undo)), () => doAndReload(told, "undo", {}), { id: "undo" }), told];
}

const field = (label, value) => el("textarea", { rows: "2", "aria-label": label }, value || "");

function settleForm(found) {
  const told = el("div", {}), why = el("input", { type: "text", "aria-label": t("why"), placeholder: t("why") });
  return el("div", { class: "form" }, el("div", { class: "bar" }, why, found.claims.map((_, n) => button(t("settleThis", n + 1),
    () => doAndReload(told, "settle", { conflict: found.conflict, position: found.position, winner: n, why: why.value })))), told);
}

function recordForms(one) {
  const told = el("div", {});
  const form = (label, name, value) => {
    const text = field(label, value);
    return el("details", {}, el("summary", {}, label), text, button(t("save"), () => doAndReload(told, name, { id: one.id, text: text.value })));
  };
  return el("div", { class: "form" },
    isCurrent(one) ? [form(t("value_of"), "supersede", ""), form(t("wording_of"), "update", one.text)] : null,
    button(t(one.pinned ? "unpin" : "pin"), () => doAndReload(told, "pin", { id: one.id, pinned: !one.pinned })), " ",
    button(t("forget"), () => preview(told, { id: one.id }), { class: "danger" }), told);
}

/** Show what would be erased; only that is erased, and only after a second click. */
async function preview(place, given) {
  await attempt(place, async () => {
    const found = await ask("preview", given);
    if (!found.ids.length) return place.replaceChildren(note(t("nothingToForget")));
    place.replaceChildren(
      el("p", { role: "status" }, t("wouldErase", found.erased.length, found.changed.length)),
      el("ul", {}, found.erased.map((text) => el("li", {}, said(text))), found.changed.map((cut) => el("li", {}, el("del", {}, said(cut.goes.join(" … "))), " ", said(t("stays", cut.stays))))),
      note(t("canUndo")), button(t("confirm"), () => doAndReload(place, "forget", { ids: found.ids }), { class: "danger" }), " ", button(t("cancel"), () => place.replaceChildren()));
  });
}

/** Above the list: forget what concerns something, and switch memory. */
function liveBar() {
  const told = el("div", {}), about = el("input", { type: "text", "aria-label": t("forgetAbout"), placeholder: t("forgetAbout") });
  const modes = [["on", t("memoryOn")], ["recall", t("memoryRecall")], ["off", t("memoryOff")]];
  const mode = el("select", { "aria-label": t("switchTo"), onchange: () => doAndReload(told, "switch", { mode: mode.value }) }, modes.map(([value, label]) => el("option", { value, selected: value === snapshot.mode }, label)));
  return el("form", { class: "form", onsubmit: (event) => { event.preventDefault(); preview(told, { about: about.value }); } },
    el("div", { class: "bar" }, about, el("button", { type: "submit" }, t("preview")), mode), told);
}
