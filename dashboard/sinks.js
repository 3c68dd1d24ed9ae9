// Where effects go, and those that were given up.

import * as api from "./api.js";
import { card, duration, el, empty, head, number, plural, run, table, tag, time, toast } from "./dom.js";

const shownEffects = 200;
let parts;

export function show() {
  parts = { sinks: el("div", {}), failed: el("div", {}) };
  return [head("Sinks", "Where effects leave to: delivered at least once, in the order of their subject."), parts.sinks, parts.failed];
}

export async function refresh() {
  const shown = parts;
  const health = await api.health();
  if (shown !== parts) return;
  const unconfigured = new Set(health.unconfigured_sinks ?? []);
  const names = [...new Set([...Object.keys(health.sinks ?? {}), ...unconfigured])].sort();
  const rows = names.map((name) => ({ name, isConfigured: !unconfigured.has(name), ...(health.sinks?.[name] ?? {}) }))
    .map((row) => ({ ...row, state: state(row) }))
    .sort((a, b) => severities.indexOf(a.state.kind) - severities.indexOf(b.state.kind) || (b.failing_s ?? 0) - (a.failing_s ?? 0));
  const hasOldest = rows.some((row) => row.oldest_s !== undefined && row.oldest_s !== null);
  parts.sinks.replaceChildren(card("All sinks", "since the start", rows.length ? table("Sinks", [
    { title: "Sink", head: true, value: (row) => row.name },
    { title: "Delivered", number: true, value: (row) => number(row.delivered ?? 0) },
    { title: "Waiting", number: true, value: (row) => number(row.waiting ?? 0) },
    ...(hasOldest ? [{ title: "Oldest", number: true, value: (row) => row.oldest_s ? duration(row.oldest_s) : "-" }] : []),
    { title: "Tried again", number: true, value: (row) => number(row.retried ?? 0) },
    { title: "Given up", number: true, value: (row) => number(row.given_up ?? row.failed ?? 0) },
    { title: "State", value: (row) => tag(row.state.text, row.state.kind) },
  ], rows) : empty("No plugin has emitted an effect.")));
  await showFailed(shown);
}

const severities = ["bad", "warn", "good"];

function state(row) {
  if (!row.isConfigured) return { text: "no configuration", kind: "warn" };
  const givenUp = row.given_up ?? row.failed;
  const isFailing = row.failing_s !== undefined && row.failing_s !== null;
  if (isFailing && (row.waiting || givenUp)) return { text: `fails for ${duration(row.failing_s)}`, kind: "bad" };
  if (givenUp) return { text: "gives up", kind: "bad" };
  return row.unreadable ? { text: "unreadable", kind: "bad" } : { text: "good", kind: "good" };
}

let known;

async function showFailed(shown) {
  const effects = await api.effects("failed");
  const state = effects.items.map((effect) => `${effect.id} ${effect.tries}`).join();
  if (shown !== parts || state === known && parts.failed.children.length) return;
  known = state;
  const { items, isWhole } = effects;
  const resendAll = el("button", { type: "button", class: "primary", onclick: run(() => resend(items)) }, `Resend ${plural(items.length, "effect")}`);
  parts.failed.replaceChildren(card("Given up", items.length ? resendAll : "",
    items.length ? table("Effects that were given up", [
      { title: "Sink", head: true, value: (effect) => effect.sink },
      { title: "Type", value: (effect) => el("span", { class: "mono" }, effect.type) },
      { title: "Subject", value: (effect) => el("a", { href: `#subjects/${encodeURIComponent(effect.subject)}` }, effect.subject) },
      { title: "Tries", number: true, value: (effect) => effect.tries ?? "-" },
      { title: "Why", value: (effect) => why(effect) },
      { title: "", value: (effect) => el("button", { type: "button", "aria-label": `Resend ${effect.type} of ${effect.subject}`, onclick: run(() => resend([effect])) }, "Resend") },
    ], items.slice(0, shownEffects)) : empty("No effect was given up."),
    items.length > shownEffects || !isWhole ? el("p", { class: "dim small" }, `the first ${shownEffects} of ${isWhole ? "" : "more than "}${number(items.length)}`) : null));
}

function why(effect) {
  const error = effect.error ?? effect.last_error;
  const text = typeof error === "string" ? error : error?.error ?? error?.message ?? "-";
  const body = effect.body ?? error?.body;
  return [text, body && el("pre", { class: "small dim" }, body)];
}

async function resend(effects) {
  let count = 0;
  try {
    for (const effect of effects) {
      await api.resend(effect.id, effect.subject).catch((error) => { if (error.status !== 404) throw error; });
      count += 1;
    }
  } finally {
    known = undefined;
    toast(`${plural(count, "effect")} will be tried again`);
    await refresh();
  }
}
