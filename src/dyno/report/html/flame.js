"use strict";
// Draws the page's flame graphs: base, candidate or difference; zoom, search, arrow keys.

(() => {
const ROW_REM = 1.36;
const SLIM_PERCENT = 0.06;
const DIGITS = 3;

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).json();
}

function read([name, layer, base, candidate, low, high, differs, children], parent) {
  const frame = { name, layer, base, candidate, low, high, differs, parent };
  frame.children = children.map((child) => read(child, frame));
  const own = (side) => Math.max(0, frame[side] - frame.children.reduce((sum, it) => sum + it[side], 0));
  frame.difference = Math.max(own("base"), own("candidate"))
    + frame.children.reduce((sum, it) => sum + it.difference, 0);
  return frame;
}

function depth(frame) {
  return 1 + Math.max(0, ...frame.children.map(depth));
}

function list(frame) {
  return [frame, ...frame.children.flatMap(list)];
}

class Flame {
  constructor(figure, data) {
    Object.assign(this, { figure, data, view: data.sides.length > 1 ? "difference" : "base", wanted: "" });
    this.root = this.zoomed = this.focused = read(data.frames, null);
    this.all = list(this.root);
    this.rows = figure.querySelector(".flame-rows");
    this.told = figure.querySelector("output");
    this.search = figure.querySelector("[type=search]");
    this.out = figure.querySelector("button");
    for (const choice of figure.querySelectorAll("[type=radio]")) {
      choice.addEventListener("change", () => { this.view = choice.value; this.draw(); });
      if (choice.checked) this.view = choice.value;
    }
    this.search.addEventListener("input", () => this.find(this.search.value));
    this.out.addEventListener("click", () => this.zoom(this.root));
    this.rows.addEventListener("keydown", (event) => this.press(event));
    this.rows.addEventListener("pointerleave", () => this.tell(null));
    this.draw();
  }

  draw() {
    this.rows.replaceChildren();
    this.shown = new Map();
    const callers = [];
    for (let at = this.zoomed.parent; at; at = at.parent) callers.unshift(at);
    callers.forEach((frame, row) => this.place(frame, row, 0, 100));
    this.lay(this.zoomed, callers.length, 0, 100);
    this.rows.style.height = `${(callers.length + depth(this.zoomed)) * ROW_REM}rem`;
    this.out.disabled = this.zoomed === this.root;
    if (!this.shown.has(this.focused)) this.focused = this.zoomed;
    this.shown.get(this.focused).tabIndex = 0;
    this.mark();
  }

  lay(frame, row, left, width) {
    this.place(frame, row, left, width);
    const whole = frame[this.view];
    for (const child of [...frame.children].sort((a, b) => b[this.view] - a[this.view])) {
      const own = whole > 0 ? Math.min(width, width * child[this.view] / whole) : 0;
      if (own > SLIM_PERCENT) this.lay(child, row + 1, left, own);
      left += own;
    }
  }

  place(frame, row, left, width) {
    const box = document.createElement("div");
    box.textContent = width > 2.5 ? frame.name + this.aside(frame) : "";
    box.style.cssText = `left:${left}%;width:${width}%;top:${row * ROW_REM}rem`;
    box.style.setProperty("--strength", `${this.strength(frame)}%`);
    box.classList.toggle("slim", width <= 2.5);
    box.classList.toggle("more", frame.differs && frame.low > 0);
    box.classList.toggle("less", frame.differs && frame.high < 0);
    box.classList.toggle("gone", this.data.sides.length > 1 && (frame.base === 0 || frame.candidate === 0));
    box.setAttribute("role", "treeitem");
    box.setAttribute("aria-level", row + 1);
    box.setAttribute("aria-label", this.describe(frame));
    box.tabIndex = -1;
    box.addEventListener("click", () => { this.focused = frame; this.zoom(frame); });
    box.addEventListener("pointerenter", () => this.tell(frame));
    box.addEventListener("focus", () => { this.focused = frame; this.tell(frame); });
    this.shown.set(frame, box);
    this.rows.append(box);
  }

  aside(frame) {
    if (frame === this.root || !frame.differs) return "";
    return ` ${this.signed(this.change(frame))}`;
  }

  change(frame) {
    const own = this.data.ownCode && frame !== this.root;
    return own ? (frame.low + frame.high) / 2 : frame.candidate - frame.base;
  }

  strength(frame) {
    const share = Math.abs(this.change(frame)) / Math.max(this.root.base, 1e-9);
    return Math.round(Math.min(70, 28 + 400 * share));
  }

  time(ns) {
    const value = ns / this.data.factor;
    const places = value === 0 ? 0 : Math.max(0, DIGITS - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toFixed(Math.min(places, 6)).replace("-", "−");
  }

  signed(ns) {
    return `${ns > 0 ? "+" : ""}${this.time(ns)} ${this.data.unit}`;
  }

  describe(frame) {
    const sides = `${this.name(frame)} ${this.data.unit} ${this.data.per}`;
    const what = this.data.ownCode && frame !== this.root ? "its own code " : "";
    const ends = `${what}${this.signed(this.change(frame))} [${this.time(frame.low)}, ${this.time(frame.high)}]`;
    const layer = frame.layer && frame.layer !== frame.name ? ` (${frame.layer})` : "";
    if (this.data.sides.length < 2) return `${frame.name}${layer}: ${sides}`;
    const only = frame.base === 0 ? ", new" : frame.candidate === 0 ? ", gone" : "";
    return `${frame.name}${layer}: ${sides}; ${ends}${frame.differs ? "" : ", not sure"}${only}`;
  }

  name(sums) {
    return this.data.sides.map((side, at) => `${side} ${this.time(at ? sums.candidate : sums.base)}`).join(", ");
  }

  tell(frame) {
    this.told.textContent = frame ? this.describe(frame) : this.summary || this.told.dataset.hint;
  }

  zoom(frame) {
    this.zoomed = frame;
    this.draw();
    this.shown.get(this.focused).focus({ preventScroll: true });
  }

  press(event) {
    const row = () => [...this.shown.keys()].filter((it) => it.parent === this.focused.parent);
    const beside = (step) => { const all = row(); return all[all.indexOf(this.focused) + step]; };
    const moves = {
      ArrowUp: () => this.focused.parent,
      ArrowDown: () => [...this.shown.keys()].find((it) => it.parent === this.focused),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => this.root,
    };
    if (event.key === "Enter" || event.key === " ") this.zoom(this.focused);
    else if (event.key === "Escape") this.zoom(this.zoomed.parent ?? this.root);
    else if (event.key === "/") this.search.focus();
    else if (moves[event.key]) this.move(moves[event.key]());
    else return;
    event.preventDefault();
  }

  move(frame) {
    if (!frame || !this.shown.has(frame)) return;
    this.shown.get(this.focused).tabIndex = -1;
    this.shown.get(frame).tabIndex = 0;
    this.shown.get(frame).focus({ preventScroll: false });
  }

  find(words) {
    this.wanted = words.trim().toLowerCase();
    this.mark();
  }

  matches(frame) {
    return this.wanted !== "" && `${frame.name}\n${frame.layer}`.toLowerCase().includes(this.wanted);
  }

  mark() {
    const hits = this.all.filter((frame) => frame !== this.root && this.matches(frame));
    const within = ({ parent }) => parent && parent !== this.root && (this.matches(parent) || within(parent));
    const outer = hits.filter((frame) => !within(frame));
    const sum = (side) => outer.reduce((total, frame) => total + frame[side], 0);
    for (const [frame, box] of this.shown) {
      box.classList.toggle("hit", this.matches(frame));
      box.classList.toggle("miss", this.wanted !== "" && !this.matches(frame));
    }
    this.summary = this.wanted === "" ? "" : `${hits.length} frame${hits.length === 1 ? "" : "s"} found: `
      + `${this.name({ base: sum("base"), candidate: sum("candidate") })} ${this.data.unit} ${this.data.per}`;
    this.tell(null);
  }
}

addEventListener("DOMContentLoaded", async () => {
  for (const figure of document.querySelectorAll("figure.flame")) {
    figure.flame = new Flame(figure, await unpack(figure.querySelector("script").textContent));
  }
});
})();
