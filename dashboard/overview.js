// Load over time, and what is wrong.

import * as api from "./api.js";
import { chart } from "./charts.js";
import { card, duration, el, head, micros, number, plural, segments, tiles } from "./dom.js";

const spans = [["short", "5 minutes"], ["long", "1 hour"]];
let span = "short";
let parts;

export function show() {
  parts = {
    note: el("p", {}), problems: el("div", { class: "stack" }), tiles: el("div", {}),
    events: chart("Events per second", { unit: "events/s" }),
    times: chart("Run time of a plugin on an event", { format: micros }),
    failures: chart("Failures per second", { low: true, unit: "failures/s" }),
    waiting: chart("Messages and effects that wait", { low: true }),
  };
  const choice = segments("Time span", spans, span, (value) => { span = value; refresh(); });
  const top = head("Overview", "", choice);
  top.firstElementChild.append(parts.note);
  return [
    top, parts.problems, parts.tiles,
    el("div", { class: "grid" },
      card("Events", "per second", parts.events.element),
      card("Run time", "of a plugin on one event, every sixteenth is measured", parts.times.element),
      card("Failures", "per second", parts.failures.element),
      card("Waiting", "messages to other subjects, effects to sinks", parts.waiting.element)),
  ];
}

export async function refresh() {
  const shown = parts;
  const [health, samples] = await Promise.all([api.health(), api.samples()]);
  if (shown !== parts) return;
  parts.note.textContent =
    `revision ${health.revision}, ${plural(health.workers, "worker")}, store ${health.store}, up ${duration(health.uptime_s)}`;
  showProblems(health);
  showTiles(health, samples.series[0]);
  draw(samples.series[span === "short" ? 0 : 1]);
}

function showProblems(health) {
  const errors = health.reload_errors?.errors ?? health.reload_errors ?? [];
  const notices = [];
  if (health.problems?.length) {
    notices.push(el("div", { class: "notice bad" }, el("strong", {}, plural(health.problems.length, "problem")),
      el("ul", {}, health.problems.map((problem) => el("li", {}, problem)))));
  }
  if (errors.length) {
    notices.push(el("div", { class: "notice bad" },
      el("strong", {}, "What is on disk does not load; the rules of this revision stay in force."),
      el("ul", {}, errors.map(loadError))));
  }
  if (health.unconfigured_sinks?.length) {
    notices.push(el("div", { class: "notice warn" }, el("strong", {}, "Without configuration: "),
      health.unconfigured_sinks.length === 1
        ? `the sink ${health.unconfigured_sinks[0]} keeps its effects until the configuration says where they go.`
        : `the sinks ${health.unconfigured_sinks.join(", ")} keep their effects until the configuration says where they go.`));
  }
  parts.problems.hidden = notices.length === 0;
  parts.problems.replaceChildren(...notices);
}

export const loadError = (error) => el("li", {}, el("code", {}, `${error.file ?? ""}${error.line ? ":" + error.line : ""}`), " ", error.message);

function showTiles(health, series) {
  const recent = series.events.slice(-5);
  const rate = recent.length ? recent.reduce((sum, count) => sum + count, 0) / recent.length / series.period_s : null;
  const last = (values) => values.findLast((value) => value !== null) ?? null;
  const failures = series.failures.reduce((sum, count) => sum + count, 0);
  const effects = Object.values(health.sinks ?? {}).reduce((sum, sink) => sum + (sink.waiting ?? 0), 0);
  parts.tiles.replaceChildren(tiles([
    ["Events a second", number(rate)], ["Run time, median", micros(last(series.run_p50_us))],
    ["Run time, p99", micros(last(series.run_p99_us))], ["Failures", number(failures), "in 5 min"],
    ["Messages waiting", number(health.messages?.waiting)], ["Effects waiting", number(effects)],
  ]));
}

function draw(series) {
  const end = series.end ? Date.parse(series.end) : Date.now();
  const count = series.events.length;
  const labels = series.events.map((_, index) => clock(end - (count - 1 - index) * series.period_s * 1000, series.period_s));
  const rates = (values) => values.map((value) => value / series.period_s);
  const peak = (values) => Math.max(0, ...values);
  const events = rates(series.events);
  parts.events.set({
    labels, sets: [{ label: "events/s", values: events }], summary: `now ${number(events.at(-1))}, peak ${number(peak(events))}`,
  });
  parts.times.set({
    labels,
    sets: [{ label: "median", values: series.run_p50_us }, { label: "99th percentile", values: series.run_p99_us, shade: "series-3" }],
    summary: `highest 99th percentile ${micros(peak(series.run_p99_us))}`,
  });
  parts.failures.set({
    labels, sets: [{ label: "failures/s", values: rates(series.failures), shade: "bad" }],
    summary: `${number(series.failures.reduce((sum, value) => sum + value, 0))} in all`,
  });
  parts.waiting.set({
    labels, sets: [{ label: "messages", values: series.messages }, { label: "effects", values: series.effects, shade: "series-3" }],
    summary: `${number(series.messages.at(-1))} messages, ${number(series.effects.at(-1))} effects`,
  });
}

function clock(milliseconds, period) {
  return new Date(milliseconds).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: period < 10 ? "2-digit" : undefined });
}
