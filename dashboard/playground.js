// An event that changes nothing: what each rule would do, drawn as a tree.

import * as api from "./api.js";
import { brief, card, el, empty, head, json, micros, plural, run, tag } from "./dom.js";
import { decisions } from "./subjects.js";

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
  const fired = outcome.trace.filter((entry) => entry.fired);
  result.replaceChildren(
    card("Decisions", `${plural(outcome.effects.length, "effect")}, ${plural(outcome.failures.length, "failure")}`, decisions(outcome.decisions)),
    explanation(outcome, fired),
    el("details", { class: "card" }, el("summary", {}, "The whole outcome"), json(outcome)));
}

// MARK: The tree

function explanation(outcome, fired) {
  const idle = outcome.trace.length - fired.length;
  const box = el("div", {});
  const draw = (isWhole) => box.replaceChildren(tree(outcome, isWhole));
  draw(false);
  const toggle = el("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const isWhole = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(isWhole));
    draw(isWhole);
  } }, `Show ${plural(idle, "rule")} that did not fire`);
  return card("Explanation", `${fired.length} of ${plural(outcome.trace.length, "rule")} fired`, box, idle ? el("p", {}, toggle) : null);
}

// Events, the first and those that rules raised; below each its plugins, their rules, and what they did.
function tree(outcome, isWhole) {
  const events = [];
  for (const entry of outcome.trace) {
    const type = (typeof entry.event === "object" ? entry.event?.type : entry.event) ?? last.type;
    if (events.at(-1)?.type !== type) events.push({ type, plugins: [] });
    const plugins = events.at(-1).plugins;
    if (plugins.at(-1)?.name !== entry.plugin) plugins.push({ name: entry.plugin, rules: [] });
    plugins.at(-1).rules.push(entry);
  }
  const shown = (rules) => rules.filter((rule) => isWhole || rule.fired || rule.reason === "'when' was false");
  const nodes = events.map((event) => {
    const plugins = event.plugins.filter((plugin) => shown(plugin.rules).length);
    return el("li", {}, el("strong", {}, event.type), " ", el("span", { class: "dim" }, "on ", last.subject),
      el("ul", {}, plugins.length ? plugins.map((plugin) => el("li", {}, el("span", { class: "plugin" }, plugin.name),
        el("ul", {}, shown(plugin.rules).map((rule) => node(rule, outcome, plugin.name))))) : el("li", { class: "dim" }, "no rule fired")));
  });
  return nodes.length ? el("ul", { class: "tree", "aria-label": "Explanation" }, nodes) : empty("No rule listens to this event.");
}

function node(rule, outcome, plugin) {
  const failure = rule.fired && outcome.failures.find((failure) => failure.plugin === plugin && failure.rule === rule.rule);
  if (!rule.fired) return el("li", {}, el("span", { class: "idle" }, rule.rule), " ", el("span", { class: "dim small" }, rule.reason));
  const made = outcome.decisions[plugin] ?? {};
  return el("li", {}, el("span", { class: failure ? "failed" : "fired" }, rule.rule), " ", el("span", { class: "dim small" }, micros(rule.micros)),
    el("ul", {},
      leaf("reads", rule.reads), leaf("writes", rule.writes),
      (rule.decisions ?? []).map((name) => el("li", {}, tag("decides", "good"), " ", name, name in made ? [" = ", el("span", { class: "mono" }, brief(made[name]))] : null)),
      leaf("emits", rule.effects), leaf("raises", rule.raised),
      (rule.shadowed ?? []).map((late) => el("li", {}, tag("too late", "warn"), ` ${late.key}, decided by ${late.by}`)),
      failure && el("li", { class: "bad" }, failure.message)));
}

const leaf = (label, names) => names?.length ? el("li", {}, tag(label), " ", el("span", { class: "mono small" }, names.join(", "))) : null;
