// Why an event came out as it did: its decisions, and the tree of what each rule did or why it did not fire.

import { brief, card, el, empty, micros, plural, tag } from "./dom.js";

export function decisions(byPlugin) {
  const entries = Object.entries(byPlugin ?? {}).flatMap(([plugin, made]) => Object.entries(made).map(([name, value]) => [`${plugin}.${name}`, value]));
  return entries.length
    ? el("dl", { class: "decisions small" }, entries.map(([name, value]) => [el("dt", {}, name), el("dd", { class: "mono" }, brief(value))]))
    : el("p", { class: "dim small" }, "no decision");
}

// `event` has the type and the subject of the event, which the trace does not name.
export function explanation(outcome, event) {
  const fired = outcome.trace.filter((entry) => entry.fired);
  const idle = outcome.trace.length - fired.length;
  const box = el("div", {});
  const draw = (isWhole) => box.replaceChildren(tree(outcome, event, isWhole));
  draw(false);
  const toggle = el("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const isWhole = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(isWhole));
    draw(isWhole);
  } }, `Show ${plural(idle, "rule")} that did not fire`);
  return card("Explanation", `${fired.length} of ${plural(outcome.trace.length, "rule")} fired`, box, idle ? el("p", {}, toggle) : null);
}

// Events, the first and those that rules raised; below each its plugins, their rules, and what they did.
function tree(outcome, event, isWhole) {
  const events = [];
  for (const entry of outcome.trace) {
    const type = (typeof entry.event === "object" ? entry.event?.type : entry.event) ?? event.type;
    if (events.at(-1)?.type !== type) events.push({ type, plugins: [] });
    const plugins = events.at(-1).plugins;
    if (plugins.at(-1)?.name !== entry.plugin) plugins.push({ name: entry.plugin, rules: [] });
    plugins.at(-1).rules.push(entry);
  }
  const shown = (rules) => rules.filter((rule) => isWhole || rule.fired || rule.reason === "'when' was false");
  const nodes = events.map((raised) => {
    const plugins = raised.plugins.filter((plugin) => shown(plugin.rules).length);
    return el("li", {}, el("strong", {}, raised.type), " ", el("span", { class: "dim" }, "on ", event.subject),
      el("ul", {}, plugins.length ? plugins.map((plugin) => el("li", {}, el("span", { class: "plugin" }, plugin.name),
        el("ul", {}, shown(plugin.rules).map((rule) => node(rule, outcome, plugin.name))))) : el("li", { class: "dim" }, "no rule fired")));
  });
  return nodes.length ? el("ul", { class: "tree", "aria-label": "Explanation" }, nodes) : empty("No rule listens to this event.");
}

function node(rule, outcome, plugin) {
  const failure = rule.fired && outcome.failures.find((failure) => failure.plugin === plugin && failure.rule === rule.rule);
  if (!rule.fired) return el("li", {}, el("span", { class: "idle" }, rule.rule), " ", el("span", { class: "dim small" }, rule.reason), condition(rule));
  const made = outcome.decisions[plugin] ?? {};
  return el("li", {}, el("span", { class: failure ? "failed" : "fired" }, rule.rule), " ", el("span", { class: "dim small" }, micros(rule.micros)),
    el("ul", {},
      leaf("reads", rule.reads), leaf("writes", rule.writes),
      (rule.decisions ?? []).map((name) => el("li", {}, tag("decides", "good"), " ", name, name in made ? [" = ", el("span", { class: "mono" }, brief(made[name]))] : null)),
      leaf("emits", rule.effects), leaf("raises", rule.raised), leaf("sends", rule.sends), leaf("timers", rule.timers),
      leaf("publishes", rule.publishes), leaf("topics", rule.topics), leaf("forgets", rule.forgets),
      leaf("counts", rule.counts), leaf("once", rule.once),
      (rule.shadowed ?? []).map((late) => el("li", {}, tag("too late", "warn"), ` ${late.key}, decided by ${late.by}`)),
      failure && el("li", { class: "bad" }, failure.message)));
}

// The operand of `when` that was false, with the values in it.
function condition(rule) {
  if (!rule.condition) return null;
  const values = Object.entries(rule.condition.values ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return el("ul", {}, el("li", {}, tag("false"), " ", el("span", { class: "mono small" }, rule.condition.text)), leaf("with", values));
}

const leaf = (label, names) => names?.length ? el("li", {}, tag(label), " ", el("span", { class: "mono small" }, names.join(", "))) : null;
