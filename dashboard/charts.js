// Charts in the theme's colours, each with a name and its values as a table for those who don't see it.

import { el, table, number } from "./dom.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const charts = new Set();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function paint(chart) {
  for (const [index, set] of chart.data.datasets.entries()) {
    const shade = colour(set.shade ?? `series-${index % 6 + 1}`);
    set.borderColor = shade;
    set.pointBackgroundColor = shade;
    set.backgroundColor = chart.config.type === "bar" || !set.fill ? shade : shade + "22";
  }
  for (const scale of Object.values(chart.options.scales)) {
    scale.grid.color = colour("line");
    scale.ticks.color = colour("dim");
    scale.title.color = colour("dim");
  }
  chart.options.plugins.legend.labels.color = colour("text");
  chart.update();
}

// As many labels below a chart as have room.
function fit(chart, size) {
  chart.options.scales.x.ticks.maxTicksLimit = Math.max(2, Math.floor(size.width / 90));
}

dark.addEventListener("change", () => charts.forEach(paint));

// Ends the charts of a view that is left.
export function clear() {
  for (const chart of charts) chart.destroy();
  charts.clear();
}

// A chart that `set` fills: { labels, sets: [{ label, values, shade?, format? }] }.
export function chart(name, { type = "line", unit = "", stacked = false, format = number, low = false, percent = false, hasTable = true } = {}) {
  const canvas = el("canvas", { role: "img", "aria-label": name });
  const values = el("details", { class: "values" }, el("summary", {}, "Values as a table"));
  const element = el("div", {}, el("div", { class: low ? "chart low" : "chart" }, canvas), hasTable ? values : null);
  let drawn;
  let latest;

  const showTable = () => {
    if (!values.open || !latest) return;
    const rows = latest.labels.map((label, index) => ({ label, index }));
    values.replaceChildren(values.firstElementChild, table(`Values of ${name}`, [
      { title: "", head: true, value: (row) => row.label },
      ...latest.sets.map((set) => ({ title: set.label, number: true, value: (row) => format(set.values[row.index]) })),
    ], rows));
  };
  values.addEventListener("toggle", showTable);

  const draw = () => new window.Chart(canvas, {
    type,
    data: { labels: [], datasets: [] },
    options: {
      onResize: fit, animation: false, responsive: true, maintainAspectRatio: false, interaction: { mode: "index", intersect: false },
      elements: { point: { radius: 0, hitRadius: 8 }, line: { borderWidth: 2, cubicInterpolationMode: "monotone" } },
      transitions: still.matches ? { active: { animation: { duration: 0 } } } : {},
      scales: {
        x: { stacked, grid: { display: false }, title: { display: false }, ticks: { maxRotation: 0 } },
        y: {
          stacked, beginAtZero: true, max: percent ? 100 : undefined, suggestedMax: percent ? undefined : 1, grid: {},
          ticks: { maxTicksLimit: 5, callback: (value) => format(value) },
          title: { display: unit !== "", text: unit },
        },
      },
      plugins: {
        legend: { position: "bottom", labels: { boxWidth: 9, boxHeight: 9, usePointStyle: true, pointStyle: "circle" } },
        tooltip: { callbacks: { label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}` } },
      },
    },
  });

  return {
    element,
    set({ labels, sets, summary }) {
      latest = { labels, sets };
      canvas.setAttribute("aria-label", summary ? `${name}: ${summary}` : name);
      showTable();
      if (!window.Chart) {
        canvas.parentElement.hidden = true;
        element.append(values);
        values.open = true;
        return;
      }
      if (!drawn) {
        drawn = draw();
        charts.add(drawn);
      }
      drawn.data.labels = labels;
      drawn.data.datasets = sets.map((set, index) => ({
        label: set.label, data: set.values, shade: set.shade, fill: type === "line" && sets.length === 1, spanGaps: false,
        pointRadius: labels.length < 3 ? 3 : 0, borderRadius: type === "bar" ? 4 : 0, maxBarThickness: 44, order: index,
      }));
      drawn.options.plugins.legend.display = sets.length > 1;
      fit(drawn, drawn);
      paint(drawn);
    },
  };
}
