// Rules that are tried: a shadow beside the live rules, and a rollout to some subjects.

import * as api from "./api.js";
import { brief, card, duration, el, micros, number, plural, table, tag } from "./dom.js";

const shownDecisions = 20;
const shownExamples = 5;

// A card for each that runs, from what health names.
export async function candidates(health) {
  const [shadow, rollout] = await Promise.all([health.shadow ? api.shadow() : null, health.rollout ? api.rollout() : null]);
  return [shadow && shadowCard(shadow), rollout && rolloutCard(rollout)].filter(Boolean);
}

function shadowCard(shadow) {
  const behind = shadow.behind_s > 2 ? `, ${duration(shadow.behind_s)} behind` : "";
  const different = shadow.decisions.filter((decision) => decision.changed + decision.new + decision.gone);
  return card("Shadow", `revision ${shadow.candidate} on ${shadow.percent} %${behind}`,
    shadow.error ? el("p", { class: "bad" }, shadow.error) : null,
    el("p", {}, `${plural(shadow.events, "event")} of ${plural(shadow.subjects, "subject")}: ${number(shadow.outcomes.equal)} equal, `,
      el("strong", {}, `${number(shadow.outcomes.changed)} changed`), shadow.skipped ? `, ${plural(shadow.skipped, "subject")} skipped` : ""),
    different.length ? table("Decisions that differ", [
      { title: "Decision", head: true, value: (decision) => `${decision.plugin}.${decision.key}` },
      { title: "Equal", number: true, value: (decision) => number(decision.equal) },
      { title: "Changed", number: true, value: (decision) => number(decision.changed) },
      { title: "New", number: true, value: (decision) => number(decision.new) },
      { title: "Gone", number: true, value: (decision) => number(decision.gone) },
      { title: "Commonest change", value: (decision) => change(decision.changes[0]) },
    ], different.slice(0, shownDecisions)) : null,
    runTimes(shadow.run_times),
    shadow.examples.length ? el("details", {}, el("summary", {}, "Last differences"),
      el("ul", { class: "plain" }, shadow.examples.slice(-shownExamples).reverse().map((example) => el("li", {},
        el("a", { href: `#subjects/${encodeURIComponent(example.subject)}` }, example.subject), " ",
        el("span", { class: "mono small" }, example.event), el("div", { class: "sides" }, side("live", example.before), side("shadow", example.after)))))) : null);
}

const change = (change) => change ? el("span", { class: "mono small" }, `${brief(change.before ?? "none")} → ${brief(change.after ?? "none")}`) : "";

const side = (title, outcome) => el("div", {}, tag(title), " ",
  el("span", { class: "mono small" }, outcome ? brief(outcome.decisions) : "does not happen"));

function rolloutCard(rollout) {
  const sides = [
    { side: "live rules", events: rollout.live_events, failures: rollout.failures.live },
    { side: "candidate", events: rollout.events, failures: rollout.failures.candidate },
  ];
  return card("Rollout", `revision ${rollout.candidate} on ${rollout.percent} %, ${plural(rollout.subjects, "subject")}`,
    table("Sides of the rollout", [
      { title: "Side", head: true, value: (row) => row.side },
      { title: "Events", number: true, value: (row) => number(row.events) },
      { title: "Failures", number: true, value: (row) => el("span", { class: row.failures ? "bad" : "" }, number(row.failures)) },
    ], sides),
    runTimes(rollout.run_times ?? []));
}

const runTimes = (plugins) => plugins.length ? table("Run time of a plugin on one event", [
  { title: "Run time", head: true, value: (plugin) => plugin.plugin },
  { title: "Live median", number: true, value: (plugin) => micros(plugin.live?.p50_us ?? null) },
  { title: "Live p99", number: true, value: (plugin) => micros(plugin.live?.p99_us ?? null) },
  { title: "Candidate median", number: true, value: (plugin) => micros(plugin.candidate?.p50_us ?? null) },
  { title: "Candidate p99", number: true, value: (plugin) => micros(plugin.candidate?.p99_us ?? null) },
], plugins) : null;
