// An event that changes nothing: what each rule would do, drawn as a tree.

import * as api from "./api.js";
import { brief, card, el, head, json, plural } from "./dom.js";
import { decisions, explanation } from "./explanation.js";

// What plugins describe of events: by type, the members with their types.
let described = {};
let last = { type: "app.launched", subject: "device:playground", data: '{\n  "platform": "ios",\n  "url": "https://example.org/?fbclid=abc"\n}' };
let result;

export async function show(subject) {
  if (subject) last.subject = subject;
  described = descriptions((await api.rules()).plugins);
  const type = el("input", { required: true, value: last.type, list: "types", autocomplete: "off", spellcheck: "false" });
  const name = el("input", { required: true, value: last.subject, autocomplete: "off", spellcheck: "false" });
  const data = el("textarea", { spellcheck: "false", rows: "7" });
  data.value = last.data;
  const problem = el("p", { class: "bad small", role: "alert" });
  const hint = el("p", { class: "dim small", id: "keys", "aria-live": "polite" });
  const describe = () => hint.replaceChildren(...keys(type.value));
  type.addEventListener("input", describe);
  describe();
  result = el("div", { class: "stack", "aria-live": "polite" });
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = "";
    last = { type: type.value, subject: name.value, data: data.value };
    await dryRun(problem);
  } },
  el("div", { class: "fields" }, el("label", {}, "Type", type), el("label", {}, "Subject", name)),
  el("datalist", { id: "types" }, Object.keys(described).sort().map((value) => el("option", { value }))),
  el("label", {}, "Data, a JSON object", data), hint, problem,
  el("div", { class: "actions" }, el("button", { class: "primary" }, "Dry run")));
  return [head("Playground", "A dry run: rules see the event, and nothing is stored or sent."),
    el("div", { class: "grid" }, card("Event", "", form), result)];
}

function descriptions(plugins) {
  const found = {};
  for (const event of plugins.flatMap((plugin) => plugin.events ?? [])) found[event.type] = { ...found[event.type], ...event.data };
  return found;
}

// The members of a type's data that plugins describe, with their types.
function keys(type) {
  const members = Object.entries(described[type] ?? {});
  return members.length ? [`Members: ${members.map(([name, kind]) => `${name} (${brief(kind)})`).join(", ")}`] : [];
}

async function dryRun(problem) {
  let data;
  try { data = last.data.trim() ? JSON.parse(last.data) : {}; } catch (error) {
    problem.textContent = `The data is no JSON: ${error.message}`;
    return;
  }
  let outcome;
  try {
    outcome = await api.event({ type: last.type, subject: last.subject, data, dryrun: true, explain: true });
  } catch (error) {
    problem.textContent = error.message;
    return;
  }
  result.replaceChildren(
    card("Decisions", `${plural(outcome.effects.length, "effect")}, ${plural(outcome.failures.length, "failure")}`, decisions(outcome.decisions)),
    explanation(outcome, last),
    el("details", { class: "card" }, el("summary", {}, "The whole outcome"), json(outcome)));
}
