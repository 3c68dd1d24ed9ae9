// The page: which view is shown, and what is asked of the daemon while it is.

import * as api from "./api.js";
import { clear } from "./charts.js";
import { el, run } from "./dom.js";
import * as overview from "./overview.js";
import * as plugins from "./plugins.js";
import * as parked from "./parked.js";
import * as sinks from "./sinks.js";
import * as subjects from "./subjects.js";
import * as products from "./products.js";
import * as playground from "./playground.js";

const views = { overview, plugins, parked, sinks, subjects, products, playground };
const refreshPeriod = 2000;
const main = document.getElementById("main");

let shown;
let refreshing;
let generation = 0;

// A part of the address without its escapes; as it is, if somebody typed one that is none.
function unescaped(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// The view's name, and what follows it: `#subjects/user:7`.
function place() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return { name: views[name] ? name : "overview", item: rest.length ? unescaped(rest.join("/")) : undefined };
}

async function show(isFirst) {
  const { name, item } = place();
  const current = ++generation;
  clearTimeout(refreshing);
  clear();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.querySelector("nav a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · ruled`;
  shown = views[name];
  main.replaceChildren();
  main.dataset.view = name;
  delete main.dataset.ready;
  try {
    const content = await shown.show(item);
    if (current !== generation) return;
    main.replaceChildren(...[content].flat());
    await shown.refresh?.();
  } catch (error) {
    if (current !== generation) return;
    main.append(failed(error));
  }
  main.dataset.ready = name;
  if (!isFirst) main.focus({ preventScroll: true });
  if (!isFirst) scrollTo(0, 0);
  schedule();
}

const failed = (error) => el("div", { class: "notice bad", role: "alert" }, el("strong", {}, "This could not be read. "), error.message);

function schedule() {
  clearTimeout(refreshing);
  const current = generation;
  refreshing = setTimeout(async () => {
    if (!document.hidden) {
      await status();
      try { if (current === generation) await shown.refresh?.(); } catch { /* the status says that no answer came */ }
    }
    if (current === generation) schedule();
  }, refreshPeriod);
}

// MARK: Status

const headline = document.getElementById("status");

function badge(name, count, label) {
  const badge = document.getElementById(`badge-${name}`);
  badge.hidden = !count;
  badge.textContent = count > 999 ? "999+" : count;
  badge.setAttribute("aria-label", `${count} ${label}`);
}

async function status() {
  let text, kind;
  try {
    const health = await api.health();
    const errors = health.reload_errors?.errors?.length ?? health.reload_errors?.length ?? 0;
    kind = health.status === "ready" && !errors ? "good" : "bad";
    text = errors ? `${health.status}, rules on disk do not load` : health.status;
    const sum = (numbers) => numbers.reduce((sum, number) => sum + (number ?? 0), 0);
    badge("sinks", sum(Object.values(health.sinks ?? {}).map((sink) => sink.given_up)), "effects given up");
    badge("parked", sum(Object.values(health.parked ?? {})), "parked events");
  } catch (error) {
    kind = "bad";
    text = error.status === 401 ? "the session is over" : error.status ? error.message : "no answer from the daemon";
  }
  headline.className = `status ${kind}`;
  if (headline.textContent !== text) headline.textContent = text;
}

document.getElementById("log-out").addEventListener("click", run(async () => {
  await api.logOut();
  location.replace("/");
}));
window.addEventListener("hashchange", () => show(false));
window.addEventListener("ruled:parked", status);
document.addEventListener("visibilitychange", () => { if (!document.hidden) schedule(); });
await status();
await show(true);
