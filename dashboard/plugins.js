// The plugins in force with their rules, and why the ones on disk do not load.

import * as api from "./api.js";
import { candidates } from "./candidates.js";
import { card, el, empty, head, micros, number, plural, run, table, tag, tags, time, toast } from "./dom.js";
import { loadError } from "./overview.js";

let parts;

export function show() {
  parts = { errors: el("div", {}), candidates: el("div", { class: "stack" }), list: el("div", { class: "stack" }), note: el("p", {}) };
  const reload = el("button", { type: "button", onclick: run(async () => {
    try {
      const result = await api.reload();
      toast(`Loaded: revision ${result.revision}.`);
    } finally { await refresh(); }
  }) }, "Reload the rules");
  const top = head("Plugins", "", reload);
  top.firstElementChild.append(parts.note);
  return [top, parts.errors, parts.candidates, parts.list];
}

export async function refresh() {
  const shown = parts;
  const [rules, health] = await Promise.all([api.rules(), api.health()]);
  const tried = await candidates(health);
  if (shown !== parts) return;
  const isOpen = parts.candidates.querySelector("details")?.open;
  parts.candidates.replaceChildren(...tried);
  parts.candidates.hidden = !tried.length;
  if (isOpen) parts.candidates.querySelector("details")?.setAttribute("open", "");
  parts.note.replaceChildren(`revision ${rules.revision}, loaded `, time(rules.loaded_at));
  const errors = rules.errors?.errors ?? rules.errors ?? [];
  parts.errors.replaceChildren(...(errors.length
    ? [el("div", { class: "notice bad", role: "alert" }, el("strong", {}, "The rules on disk do not load"), el("ul", {}, errors.map(loadError)))]
    : []));
  parts.errors.hidden = !errors.length;
  const open = new Set([...parts.list.querySelectorAll("details[open]")].map((details) => details.dataset.key));
  parts.list.replaceChildren(card("In force", plural(rules.plugins.length, "plugin"), rules.plugins.length ? table("Plugins", [
    { title: "Plugin", head: true, value: (plugin) => [plugin.name, " ", el("span", { class: "dim small" }, plugin.version)] },
    { title: "Runs", number: true, value: (plugin) => number(plugin.runs) },
    { title: "Failures", number: true, value: (plugin) => el("span", { class: plugin.failures ? "bad" : "" }, number(plugin.failures)) },
    { title: "Median", number: true, value: (plugin) => micros(plugin.runs && plugin.p50_us ? plugin.p50_us : null) },
    { title: "p99", number: true, value: (plugin) => micros(plugin.runs && plugin.p99_us ? plugin.p99_us : null) },
    { title: "State", value: (plugin) => plugin.suspended ? tag("suspended", "bad")
      : plugin.runs > 0 && plugin.failures === plugin.runs ? tag("every run fails", "bad")
      : plugin.failures ? tag("has failed", "warn") : tag("good", "good") },
  ], rules.plugins) : empty("No plugin is loaded.")),
  card("Rules and queries", "", rules.plugins.map((plugin) => details(plugin, open.has(plugin.name)))));
}

const details = (plugin, isOpen) => el("details", { class: "entry", "data-key": plugin.name, open: isOpen },
  el("summary", {}, el("strong", {}, plugin.name), ` · ${plural(plugin.rules.length, "rule")}, ${plugin.queries.length === 1 ? "1 query" : `${plugin.queries.length} queries`}`),
  el("p", { class: "dim" }, plugin.about),
  el("h4", {}, "Rules"), tags(plugin.rules.map((rule) => rule.name ?? rule)),
  el("h4", {}, "Queries"), plugin.queries.length ? tags(plugin.queries.map((query) => `${plugin.name}.${query}`)) : empty("none"));
