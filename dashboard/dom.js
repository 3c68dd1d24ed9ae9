// Elements, tables and texts. Everything that comes from the daemon becomes text, never markup.

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const card = (title, note, ...children) =>
  el("section", { class: "card", "aria-label": title },
    el("header", {}, el("h3", {}, title), note && (note instanceof Node ? note : el("p", {}, note))), ...children);

export const head = (title, note, ...tools) =>
  el("div", { class: "head" }, el("div", {}, el("h2", {}, title), note && el("p", {}, note)), tools.length ? el("div", { class: "actions" }, tools) : null);

export const empty = (text) => el("p", { class: "empty" }, text);

export const tag = (text, kind = "") => el("span", { class: `tag ${kind}` }, text);

// columns: [{ title, value(row), number?, head? }]
export function table(label, columns, rows) {
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    el("table", {},
      el("thead", {}, el("tr", {}, columns.map((column) =>
        el("th", { scope: "col", class: column.number && "number" }, column.title)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((column) => {
        const content = column.value(row);
        return column.head
          ? el("th", { scope: "row", class: column.number && "number" }, content)
          : el("td", { class: column.number && "number" }, content);
      }))))));
}

export const tiles = (entries) => el("dl", { class: "tiles" }, entries.map(([name, value, note]) =>
  el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value, note && " ", note && el("small", {}, note)))));

export const segments = (label, options, chosen, choose) => {
  const group = el("div", { class: "segments", role: "group", "aria-label": label }, options.map(([value, text]) =>
    el("button", {
      type: "button", "aria-pressed": String(value === chosen),
      onclick: (event) => {
        for (const button of group.children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
        choose(value);
      },
    }, text)));
  return group;
};

// MARK: Texts

export const number = (value) => value === null || value === undefined ? "-" : value.toLocaleString("en", { maximumFractionDigits: 1 });
export const percent = (value) => value === null || value === undefined ? "-" : `${number(value)} %`;

export function micros(value) {
  if (value === null || value === undefined) return "-";
  if (value < 1000) return `${number(value < 10 ? value : Math.round(value))} µs`;
  if (value < 1e6) return `${(value / 1000).toPrecision(3)} ms`;
  return `${(value / 1e6).toPrecision(3)} s`;
}

export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [unit, size] = units[first];
  const rest = units[first + 1];
  const whole = Math.floor(seconds / size);
  const part = rest ? Math.floor((seconds % size) / rest[1]) : 0;
  return part ? `${whole} ${unit} ${part} ${rest[0]}` : `${whole} ${unit}`;
}

export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const time = (text) => text ? el("time", { datetime: text }, text.replace("T", " ").replace(/\.\d+Z$/, " UTC").replace(/Z$/, " UTC")) : "-";
export const brief = (value) => typeof value === "string" ? value : JSON.stringify(value);
export const json = (value) => el("pre", { class: "json", tabindex: "0", "aria-label": "JSON" }, JSON.stringify(value, null, 2));

export const failureText = (failure) => {
  const place = failure.file ? `${failure.file}${failure.line ? ":" + failure.line : ""}` : "";
  return { message: failure.message ?? brief(failure), place, kind: failure.kind ?? "" };
};

// MARK: Messages

let toastTimer;
export function toast(text) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.textContent = ""; }, 6000);
}

// Runs what a button starts: the button waits meanwhile, and an error is shown.
export const run = (work) => async (event) => {
  const button = event.currentTarget;
  if (button?.tagName === "BUTTON") button.disabled = true;
  try { await work(event); } catch (error) { toast(error.message); } finally { if (button) button.disabled = false; }
};

// Asks before something that can't be undone.
export function confirmed(title, text, action) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { "aria-labelledby": "dialog-title" },
      el("h3", { id: "dialog-title" }, title), el("p", {}, text),
      el("div", { class: "actions" },
        el("button", { type: "button", onclick: () => dialog.close("") }, "Cancel"),
        el("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, action)));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// MARK: Files

// A cell as CSV; a spreadsheet must not take a text for a formula.
const cell = (value) => {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csv = (columns, rows) => [columns, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");

export function save(name, text, type = "text/csv;charset=utf-8") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const csvButton = (name, columns, rows) =>
  el("button", { type: "button", "aria-label": `Download ${name} as CSV`, onclick: () => save(`${name}.csv`, csv(columns, rows())) }, "CSV");

export const tags = (texts) => el("div", { class: "tags" }, texts.map((text) => tag(text)));
