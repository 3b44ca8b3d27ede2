"use strict";
// The page stands without this: it searches tables, changes the chart of a figure, hides a series, opens what a
// link points into, and shows the words of the mark that a pointer is near.

const NEAR_PX = 20;
const tip = document.body.appendChild(document.createElement("div"));

async function choose(figure, at) {
  const plots = [...figure.querySelectorAll(".plot")];
  if (!plots[at].firstChild) await unpack(figure, plots.filter((plot) => !plot.firstChild));
  plots.forEach((plot, number) => { plot.hidden = number !== at; });
}

async function unpack(figure, empty) {
  const packed = figure.querySelector("script").textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const charts = await new Response(plain).json();
  empty.forEach((plot, number) => { plot.innerHTML = charts[number]; listen(plot); });
}

function listen(place) {
  for (const button of place.querySelectorAll(".series button")) {
    button.addEventListener("click", () => toggle(button));
  }
  for (const frame of place.querySelectorAll(".frame")) {
    for (const kind of ["pointermove", "pointerdown"]) frame.addEventListener(kind, point);
    frame.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
}

function toggle(button) {
  const shown = button.ariaPressed !== "true";
  button.ariaPressed = shown;
  for (const mark of button.closest(".plot").querySelectorAll("[data-name]")) {
    if (mark.dataset.name === button.value) mark.style.display = shown ? "" : "none";
  }
}

function marks(frame) {
  // a title of its own would be shown a second time, by the browser
  for (const title of frame.querySelectorAll("title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  return [...frame.querySelectorAll("[data-tip]")].filter((mark) => mark.getClientRects().length);
}

function distance(mark, event) {
  const box = mark.getBoundingClientRect();
  const away = (at, low, high) => Math.max(low - at, at - high, 0) + Math.abs(2 * at - low - high) / 1e4;
  return Math.hypot(away(event.clientX, box.left, box.right), away(event.clientY, box.top, box.bottom));
}

function point(event) {
  const found = marks(event.currentTarget).map((mark) => [distance(mark, event), mark.dataset.tip]);
  const [near, words] = found.reduce((a, b) => (b[0] < a[0] ? b : a), [NEAR_PX, ""]);
  tip.hidden = near === NEAR_PX;
  tip.textContent = words;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 12)}px`;
}

// A field above a table that has many rows: those without its words are hidden.
function search(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const label = document.createElement("label"), input = document.createElement("input");
  const found = document.createElement("output");
  label.className = "search";
  input.type = "search";
  label.append(`Search ${rows.length} row${rows.length === 1 ? "" : "s"}`, input, " ", found);
  (table.closest(".scroll") ?? table).before(label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    found.textContent = words.length ? `${shown} found` : "";
  });
}

function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const details = target && target.closest("details:not([open])");
  if (details) { details.open = true; target.scrollIntoView(); }
}

function start() {
  tip.className = "tip";
  tip.hidden = true;
  addEventListener("hashchange", unfold);
  unfold();
  for (const figure of document.querySelectorAll("figure.chart")) {
    const choice = figure.querySelector("select");
    choice?.addEventListener("change", () => choose(figure, choice.selectedIndex));
    if (choice) choose(figure, choice.selectedIndex);
  }
  for (const table of document.querySelectorAll("table.searched")) search(table);
  listen(document);
  document.documentElement.dataset.ready = "yes";
}

start();
