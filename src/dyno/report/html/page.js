"use strict";
// Draws every figure of the page from the JSON beside it, in the colours of the style sheet.

const KEEP = {responsive: true, displayModeBar: false};

function coloured(data, style) {
  if (typeof data === "string" && data.startsWith("var(--")) {
    return style.getPropertyValue(data.slice(4, -1)).trim();
  }
  if (Array.isArray(data)) return data.map((item) => coloured(item, style));
  if (data === null || typeof data !== "object") return data;
  return Object.fromEntries(Object.entries(data).map(([k, v]) => [k, coloured(v, style)]));
}

function axis(own) {
  return {
    gridcolor: "var(--line)", zerolinecolor: "var(--faint)", linecolor: "var(--faint)",
    zeroline: false, automargin: true, ...own,
    title: {standoff: 14, font: {size: 13}, ...own?.title},
  };
}

function dressed(chart) {
  const style = getComputedStyle(document.documentElement);
  const font = {family: getComputedStyle(document.body).fontFamily, size: 13, color: "var(--quiet)"};
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font,
    margin: {l: 12, r: 12, t: 36, b: 12}, height: chart.height_px,
    hoverlabel: {bgcolor: "var(--ground)", bordercolor: "var(--faint)", font: {color: "var(--ink)"}},
    legend: {orientation: "h", x: 0, y: 1, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)"},
    ...chart.layout, xaxis: axis(chart.layout.xaxis), yaxis: axis(chart.layout.yaxis),
    yaxis2: axis(chart.layout.yaxis2),
  };
  return coloured({data: chart.data, layout}, style);
}

async function draw(figure) {
  const charts = JSON.parse(figure.querySelector("script").textContent);
  const chart = charts[figure.querySelector("select")?.value ?? 0];
  const plot = figure.querySelector(".plot");
  plot.setAttribute("aria-label", chart.described);
  plot.style.height = `${chart.height_px}px`;
  const {data, layout} = dressed(chart);
  await Plotly.react(plot, data, layout, KEEP);
  figure.dataset.drawn = chart.label;
}

async function unpack(id) {
  const packed = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const details = target && target.closest("details:not([open])");
  if (details) { details.open = true; target.scrollIntoView(); }
}

async function start() {
  addEventListener("hashchange", unfold);
  unfold();
  await unpack("plotly");
  const figures = [...document.querySelectorAll("figure.chart")];
  const visible = (figure) => figure.closest("details:not([open])") === null;
  const drawAll = () => Promise.all(figures.filter(visible).map(draw));
  for (const figure of figures) {
    figure.querySelector("select")?.addEventListener("change", () => draw(figure));
    figure.closest("details")?.addEventListener("toggle", () => visible(figure) && draw(figure));
  }
  await drawAll();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", drawAll);
  }
  document.documentElement.dataset.ready = "yes";
}

start();
