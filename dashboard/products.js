// The products' key figures over time, from the shipped plugins' queries and counters.

import * as api from "./api.js";
import { chart } from "./charts.js";
import { card, csvButton, el, empty, head, number, percent, plural, segments, table, tiles } from "./dom.js";

const ranges = [[7, "7 days"], [30, "30 days"], [90, "90 days"]];
let days = 30;
let parts;

export async function show() {
  parts = { body: el("div", { class: "stack" }) };
  const choice = segments("Range", ranges, days, async (value) => { days = value; await load(); });
  await load();
  return [head("Products", "Key figures by civil day (UTC), of the plugins analytics, onboarding and attribution.", choice), parts.body];
}

const civil = (date) => date.toISOString().slice(0, 10);

const short = (day) => new Date(day + "T00:00:00Z").toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });

// Today by the daemon's clock, which tests may have set.
async function today() {
  const { range } = await api.query("analytics.kpis", {});
  return new Date(range.to + "T00:00:00Z");
}

async function load() {
  const shown = parts;
  const sections = [];
  const rules = await api.rules();
  const has = (name) => rules.plugins.some((plugin) => plugin.queries.includes(name.split(".")[1]) && plugin.name === name.split(".")[0]);
  if (has("analytics.kpis")) sections.push(...await analytics());
  if (has("onboarding.metrics")) sections.push(funnel(await api.query("onboarding.metrics", {})));
  if (has("attribution.installs")) sections.push(attribution((await api.query("attribution.installs", {})).installs));
  if (shown !== parts) return;
  parts.body.replaceChildren(...(sections.length ? sections : [card("No figures", "", empty("None of the plugins analytics, onboarding and attribution is loaded."))]));
}

// MARK: analytics

async function analytics() {
  const to = await today();
  const from = new Date(to);
  from.setUTCDate(from.getUTCDate() - days + 1);
  const { days: list, range } = await api.query("analytics.kpis", { from: civil(from), to: civil(to) });
  const dates = list.map((day) => day.day);
  const labels = dates.map(short);
  const column = (read) => list.map(read);
  const draw = (title, note, options, sets) => {
    const drawn = chart(title, options);
    drawn.set({ labels, sets, summary: `${dates[0]} to ${dates.at(-1)}` });
    return card(title, el("div", { class: "actions" }, el("span", { class: "dim small" }, note),
      csvButton(title.toLowerCase().replaceAll(" ", "-"), ["day", ...sets.map((set) => set.label)], () => dates.map((day, index) => [day, ...sets.map((set) => set.values[index])]))), drawn.element);
  };
  return [
    tiles([
      ["Active users a day", number(range.dau), "mean"], ["Active users in 7 days", number(list.at(-1).wau)],
      ["Sessions", number(range.sessions)], ["Retention after 1 day", percent(range.retention.d1.pct)],
      ["Uploads that succeed", percent(range.uploads.success_pct)], ["Sessions with errors", percent(range.error_impact.pct)],
    ]),
    el("div", { class: "grid" },
      draw("Active users", "per day", {}, [
        { label: "that day", values: column((day) => day.dau) }, { label: "7 days to that day", values: column((day) => day.wau) }]),
      draw("Retention", "of those installed that day", { format: percent, percent: true }, [
        { label: "1 day later", values: column((day) => day.retention.d1.pct) },
        { label: "7 days later", values: column((day) => day.retention.d7.pct) },
        { label: "30 days later", values: column((day) => day.retention.d30.pct) }]),
      draw("Streaks", "users whose streak is that long", { type: "bar" }, [
        { label: "1 day or more", values: column((day) => day.streaks.day_1.users) },
        { label: "3 days or more", values: column((day) => day.streaks.day_3.users) },
        { label: "7 days or more", values: column((day) => day.streaks.day_7.users) }]),
      draw("Milestones", "users who have reached it", {}, ["explorer", "connoisseur", "master"].map((name) => (
        { label: name, values: column((day) => day.milestones[name].users) }))),
      draw("Tiers", "users who have unlocked it", {}, ["silver", "gold", "platinum"].map((name) => (
        { label: name, values: column((day) => day.tiers[name].users) }))),
      draw("Success", "of what users started", { format: percent, percent: true }, [
        { label: "uploads", values: column((day) => day.uploads.success_pct) },
        { label: "analyses", values: column((day) => day.analysis_success_pct) },
        { label: "generations", values: column((day) => day.generation_success_pct) }])),
    card("Errors", plural(range.errors.length, "kind"), range.errors.length ? table("Errors", [
      { title: "Type", head: true, value: (error) => error.type }, { title: "Code", value: (error) => error.code },
      { title: "Count", number: true, value: (error) => number(error.count) },
      { title: "Of requests", number: true, value: (error) => percent(error.pct) }], range.errors) : empty("No error was reported.")),
  ];
}

// MARK: onboarding

function funnel(metrics) {
  const steps = [
    ["Signed up", metrics.signed_up, metrics.signed_up ? 100 : null],
    ["Claimed the welcome stamp within 7 days", metrics.claimed_7d, metrics.pct_7d],
    ["Claimed it within 24 hours", metrics.claimed_24h, metrics.pct_24h],
  ];
  return card("Onboarding", el("div", { class: "actions" },
    el("span", { class: "dim small" }, "of those whose time is over", metrics.mean_seconds_to_first_claim === null ? "" : `, first claim after ${number(metrics.mean_seconds_to_first_claim)} s on average`,
      metrics.bell_rate === null ? "" : `. Opened the bell in ${percent(metrics.bell_rate)} of the weeks of use`),
    csvButton("onboarding", ["step", "users", "pct"], () => steps)),
  el("ol", { class: "funnel" }, steps.map(([step, count, pct]) => el("li", {},
    el("div", { class: "row" }, el("span", {}, step), el("span", {}, el("strong", {}, number(count)), " ", el("span", { class: "dim" }, percent(pct)))),
    el("progress", { max: Math.max(1, metrics.signed_up), value: count, "aria-label": step })))));
}

// MARK: attribution

function attribution(installs) {
  const byDay = new Map();
  const sources = new Map();
  for (const { day, source, count } of installs) {
    byDay.set(day, { ...byDay.get(day), [source]: count });
    sources.set(source, (sources.get(source) ?? 0) + count);
  }
  const names = [...sources.keys()].sort((left, right) => sources.get(right) - sources.get(left));
  const dates = [...byDay.keys()].sort().slice(-days);
  if (!dates.length) return card("Attribution", "installs by source", empty("No install was counted yet."));
  const drawn = chart("Installs by source", { type: "bar", stacked: true });
  const values = (name) => dates.map((day) => byDay.get(day)[name] ?? 0);
  drawn.set({ labels: dates.map(short), sets: names.map((name) => ({ label: name, values: values(name) })), summary: names.map((name) => `${name} ${sources.get(name)}`).join(", ") });
  return card("Attribution", el("div", { class: "actions" }, el("span", { class: "dim small" }, "first launches by source"),
    csvButton("attribution", ["day", ...names], () => dates.map((day) => [day, ...names.map((name) => byDay.get(day)[name] ?? 0)]))), drawn.element);
}
