// A subject: its state, its history, and what waits for it.

import * as api from "./api.js";
import { card, el, empty, failureText, head, json, number, plural, run, save, table, tag, time } from "./dom.js";
import { decisions, explanation } from "./explanation.js";

const shownEvents = 40;
let parts;
let prefix = "";

export async function show(subject) {
  parts = { list: el("ul", { class: "list" }), detail: el("div", { class: "stack" }), note: el("p", { class: "dim small" }) };
  const input = el("input", { type: "search", value: prefix, placeholder: "user:", autocomplete: "off", spellcheck: "false" });
  let waiting;
  input.addEventListener("input", () => {
    prefix = input.value;
    clearTimeout(waiting);
    waiting = setTimeout(() => list(subject), 200);
  });
  const form = el("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    if (input.value) location.hash = `#subjects/${encodeURIComponent(input.value)}`;
  } }, el("label", {}, "Begins with", input));
  await list(subject);
  if (subject) await detail(subject);
  else parts.detail.append(card("No subject is chosen", "", empty("Choose one from the list, or write its whole name and press Enter.")));
  return [head("Subjects", "Who or what events are about."),
    el("div", { class: "split" }, card("Find", "", form, parts.note, parts.list), parts.detail)];
}

async function list(chosen) {
  const found = await api.subjects(prefix);
  parts.note.textContent = found.next ? `the first ${found.subjects.length}` : plural(found.subjects.length, "subject");
  parts.list.replaceChildren(...found.subjects.map((name) => el("li", {},
    el("a", { href: `#subjects/${encodeURIComponent(name)}`, "aria-current": name === chosen && "true" }, name))));
}

async function detail(subject) {
  let data;
  let health;
  try { [data, health] = await Promise.all([api.exported(subject), api.health()]); } catch (error) {
    if (error.status === 403) {
      const { version, plugins } = await api.state(subject);
      parts.detail.append(title(subject, version), states(plugins));
    } else if (error.status === 404) {
      parts.detail.append(card(subject, "", empty("Nothing is stored about it.")));
    } else throw error;
    return;
  }
  parts.detail.append(title(subject, data.version, data), states(data.plugins), history(subject, data.events, health.journal), waiting(data));
}

const title = (subject, version, data) => card(subject, `version ${number(version)}`, el("div", { class: "actions" },
  el("a", { class: "button", href: `#playground/${encodeURIComponent(subject)}` }, "Try an event on it"),
  data && el("button", { type: "button", onclick: () => save(`${subject.replace(/[^\w.-]/g, "_")}.json`, JSON.stringify(data, null, 2), "application/json") }, "Save all of it")));

function states(plugins) {
  const names = Object.keys(plugins);
  return card("State", plural(names.length, "plugin"), names.length
    ? names.map((name, index) => el("details", { open: index === 0 }, el("summary", {}, el("strong", {}, name)), json(plugins[name])))
    : empty("No plugin has state for it."));
}

function history(subject, events, hasJournal) {
  const newest = [...events].sort((left, right) => right.version - left.version);
  return card("History", `the last ${plural(newest.length, "event")}, newest first`, newest.length
    ? el("ol", { class: "timeline", "aria-label": "Events, newest first" }, newest.slice(0, shownEvents).map((event) => entry(subject, event, hasJournal)))
    : empty("No event is remembered."));
}

const entry = (subject, event, hasJournal) => el("li", {},
  el("p", {}, el("strong", {}, event.type ? `${event.type} ` : "", el("span", { class: "mono" }, event.id)), " ", el("span", { class: "dim small" }, `version ${event.version}`)),
  decisions(event.decisions),
  event.effects?.length ? el("p", { class: "small" }, "emits ", event.effects.map((effect) => tag(`${effect.sink}: ${effect.type}`))) : null,
  (event.failures ?? []).map((failure) => {
    const { message, place } = failureText(failure);
    return el("p", { class: "bad small" }, `${failure.plugin ?? ""}: ${message} ${place}`);
  }),
  hasJournal ? explained(subject, event) : null);

// The event as it was decided: read from the journal when it is opened.
function explained(subject, event) {
  const details = el("details", { class: "past" }, el("summary", { class: "small" }, "Explain"));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.childElementCount > 1) return;
    const box = el("div", { class: "stack", "aria-live": "polite" }, el("p", { class: "dim small" }, "reading the journal"));
    details.append(box);
    try {
      const past = await api.past(subject, event.id);
      box.replaceChildren(...[
        el("p", { class: "dim small" }, time(past.at), ` from a ${past.origin}, by revision ${past.revision}`),
        past.redacted && el("p", { class: "bad small" }, `${past.redacted.join(", ")} was redacted: the decision may differ from that of then`),
        past.differs && el("p", { class: "bad small" }, `This is not what was recorded: ${past.differs}`),
        explanation(past.outcome, { type: past.event.type, subject }),
        past.recorded && el("details", {}, el("summary", { class: "small" }, "What was recorded"), json(past.recorded)),
        el("details", {}, el("summary", { class: "small" }, "State before"), json(past.state)),
        el("details", {}, el("summary", { class: "small" }, "The event"), json(past.event)),
      ].filter(Boolean));
    } catch (error) {
      box.replaceChildren(el("p", { class: "small" }, error.message));
    }
  });
  return details;
}

function waiting(data) {
  const rows = [
    ...data.timers.map((timer) => ({ kind: "timer", what: `${timer.plugin}: ${timer.name}`, when: timer.due })),
    ...data.effects.map((effect) => ({ kind: "effect", what: `${effect.sink}: ${effect.type}`, when: effect.at })),
    ...data.parked.map((parked) => ({ kind: "parked", what: `${parked.plugin}: ${failureText(parked.failure ?? {}).message}`, when: parked.at })),
    ...data.once.map((once) => ({ kind: "once", what: `${once.plugin}: ${once.key}`, when: once.expires })),
  ];
  return card("Waits and is remembered", plural(rows.length, "entry").replace("entrys", "entries"), rows.length ? table("What waits", [
    { title: "Kind", head: true, value: (row) => tag(row.kind, row.kind === "parked" ? "bad" : "") },
    { title: "What", value: (row) => row.what },
    { title: "When", value: (row) => time(row.when) },
  ], rows) : empty("No timer, effect, parked event or once key."));
}
