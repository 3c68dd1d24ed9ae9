// Parked events, grouped by why they failed.

import * as api from "./api.js";
import { card, confirmed, el, empty, failureText, head, json, plural, run, save, table, tag, time, toast } from "./dom.js";

const shownEvents = 50;
let container;

export function show() {
  container = el("div", {});
  return [head("Parked", "Events that a plugin failed on. They wait until they are tried again or dropped.",
    el("button", { type: "button", onclick: run(refreshNow) }, "Refresh")), container];
}

let known;

export async function refresh() {
  const { items, isWhole } = await api.parked();
  const state = items.map((item) => `${item.id} ${item.tries}`).join();
  if (state === known && container.children.length) return;
  known = state;
  showGroups(items, isWhole);
}

async function refreshNow() {
  known = undefined;
  await refresh();
  window.dispatchEvent(new Event("ruled:parked"));
}

// The message of several failures, with "…" for each number that is not the same in all of them.
function shared(messages) {
  const numbers = messages.map((message) => message.match(/\d+/g) ?? []);
  let index = 0;
  return messages[0].replace(/\d+/g, (number) => {
    const isSame = numbers.every((found) => found[index] === number);
    index += 1;
    return isSame ? number : "…";
  });
}

// Events that failed at the same place in the same way; numbers in a message, as in an id, make no group of its own.
function groups(items) {
  const found = new Map();
  for (const item of items) {
    const { message, place, kind } = failureText(item.failure ?? {});
    const key = [item.plugin, item.failure?.rule, kind, place, message.replace(/\d+/g, "#")].join("\u0000");
    if (!found.has(key)) found.set(key, { plugin: item.plugin, rule: item.failure?.rule, place, kind, items: [] });
    found.get(key).items.push(item);
  }
  for (const group of found.values()) group.message = shared(group.items.map((item) => failureText(item.failure ?? {}).message));
  return [...found.values()].sort((left, right) => right.items.length - left.items.length);
}

function showGroups(items, isWhole) {
  if (!items.length) {
    container.replaceChildren(card("Nothing is parked", "", empty("Every plugin has handled every event.")));
    return;
  }
  const found = groups(items);
  container.replaceChildren(card(
    `${isWhole ? "" : "More than "}${plural(items.length, "event")}`, plural(found.length, "kind") + " of failure", found.map(group)));
}

function group(group) {
  const types = [...new Set(group.items.flatMap((item) => (item.events ?? []).map((event) => event.type)))];
  return el("section", { class: "group", "aria-label": group.message },
    el("header", {},
      el("div", {}, el("p", { class: "message" }, group.message),
        el("p", { class: "dim small" }, `${group.plugin}${group.rule ? `, rule '${group.rule}'` : ""}`, group.place && [", ", el("code", {}, group.place)])),
      el("div", { class: "tags" }, tag(plural(group.items.length, "event"), "bad"), group.kind && tag(group.kind))),
    el("p", { class: "small" }, "Events: ", el("span", { class: "mono" }, types.slice(0, 6).join(", ") + (types.length > 6 ? " …" : ""))),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "primary", onclick: run(() => retry(group)) }, `Retry ${plural(group.items.length, "event")}`),
      el("button", { type: "button", class: "danger", onclick: run(() => drop(group)) }, "Drop …"),
      el("button", { type: "button", onclick: () => save("parked.json", JSON.stringify(group.items, null, 2), "application/json") }, "Save a copy")),
    el("details", {}, el("summary", {}, "The events"), table(`Events of ${group.message}`, [
      { title: "Subject", head: true, value: (item) => el("a", { href: `#subjects/${encodeURIComponent(item.subject)}` }, item.subject) },
      { title: "Event", value: (item) => el("details", {}, el("summary", {}, (item.events ?? []).map((event) => event.type).join(", ") || "-"), json(item.events)) },
      { title: "Failure", value: (item) => failureText(item.failure ?? {}).message },
      { title: "Parked", value: (item) => time(item.at) },
      { title: "Tries", number: true, value: (item) => item.tries },
    ], group.items.slice(0, shownEvents)),
    group.items.length > shownEvents ? el("p", { class: "dim small" }, `and ${plural(group.items.length - shownEvents, "more event")}`) : null));
}

async function retry(group) {
  let succeeded = 0;
  let failed = 0;
  try {
    for (const item of group.items) {
      const result = await api.retry(item.id).catch(ignoreGone);
      succeeded += result?.succeeded ?? 0;
      failed += result?.failed ?? 0;
    }
  } finally {
    toast(`${plural(succeeded, "event")} handled` + (failed ? `, ${plural(failed, "event")} failed again` : ""));
    await refreshNow();
  }
}

async function drop(group) {
  const count = plural(group.items.length, "event");
  const isMeant = await confirmed(`Drop ${count}?`, `The plugin ${group.plugin} will never see them. A copy of them is saved first.`, `Drop ${count}`);
  if (!isMeant) return;
  save("dropped.json", JSON.stringify(group.items, null, 2), "application/json");
  let dropped = 0;
  try {
    for (const item of group.items) dropped += (await api.drop(item.id).catch(ignoreGone))?.dropped ?? 0;
  } finally {
    toast(`${plural(dropped, "event")} dropped`);
    await refreshNow();
  }
}

// Somebody else may have retried or dropped it meanwhile.
function ignoreGone(error) {
  if (error.status !== 404) throw error;
}
