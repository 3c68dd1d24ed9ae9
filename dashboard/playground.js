// An event that changes nothing: what each rule would do, drawn as a tree.

import * as api from "./api.js";
import { card, el, head, json, plural } from "./dom.js";
import { decisions, explanation } from "./explanation.js";

let types = ["app.launched"];
let last = { type: "app.launched", subject: "device:playground", data: '{\n  "platform": "ios",\n  "url": "https://example.org/?fbclid=abc"\n}' };
let result;

export async function show(subject) {
  if (subject) last.subject = subject;
  const type = el("input", { required: true, value: last.type, list: "types", autocomplete: "off", spellcheck: "false" });
  const name = el("input", { required: true, value: last.subject, autocomplete: "off", spellcheck: "false" });
  const data = el("textarea", { spellcheck: "false", rows: "7" });
  data.value = last.data;
  const problem = el("p", { class: "bad small", role: "alert" });
  result = el("div", { class: "stack", "aria-live": "polite" });
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = "";
    last = { type: type.value, subject: name.value, data: data.value };
    await dryRun(problem);
  } },
  el("div", { class: "fields" }, el("label", {}, "Type", type), el("label", {}, "Subject", name)),
  el("datalist", { id: "types" }, types.map((value) => el("option", { value }))),
  el("label", {}, "Data, a JSON object", data), problem,
  el("div", { class: "actions" }, el("button", { class: "primary" }, "Dry run")));
  return [head("Playground", "A dry run: rules see the event, and nothing is stored or sent."),
    el("div", { class: "grid" }, card("Event", "", form), result)];
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
