"use strict";
// The pages stand without this: it keeps a live page fresh, and sorts and filters a table of a published site.
(() => {
  const content = document.getElementById("content");

  function follow(address) {
    const told = document.getElementById("live");
    const source = new EventSource(address);
    source.addEventListener("state", (event) => {
      const focused = document.activeElement?.id;
      told.innerHTML = JSON.parse(event.data);
      document.getElementById("status").textContent = told.querySelector("b").textContent;
      if (focused) document.getElementById(focused)?.focus();
      document.documentElement.dataset.updates = Number(document.documentElement.dataset.updates ?? 0) + 1;
    });
  }

  function key(row, at) {
    const cell = row.cells[at];
    return cell.dataset.value ?? cell.textContent.trim().toLowerCase();
  }

  function sort(table, at, button) {
    const down = button.parentNode.ariaSort === "ascending";
    for (const head of table.tHead.rows[0].cells) head.ariaSort = "none";
    button.parentNode.ariaSort = down ? "descending" : "ascending";
    const rows = [...table.tBodies[0].rows].sort((a, b) => key(a, at).localeCompare(key(b, at)));
    table.tBodies[0].append(...(down ? rows.reverse() : rows));
  }

  function filter(table) {
    const rows = [...table.tBodies[0].rows], chosen = {};
    const choices = table.parentNode.insertBefore(document.createElement("p"), table);
    choices.className = "filters";
    for (const name of ["workload", "engine", "verdict", "kind"]) {
      const words = new Set(rows.flatMap((row) => row.dataset[name].split("\n")).filter(Boolean));
      const label = choices.appendChild(document.createElement("label"));
      const select = document.createElement("select");
      select.append(new Option("any", ""), ...[...words].sort().map((word) => new Option(word, word)));
      label.append(name, select);
      select.addEventListener("change", () => {
        chosen[name] = select.value;
        const fits = (row) => Object.entries(chosen).every(([key, word]) => !word || row.dataset[key].split("\n").includes(word));
        for (const row of rows) row.classList.toggle("out", !fits(row));
      });
    }
  }

  for (const table of document.querySelectorAll("table.filtered")) filter(table);
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorting";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, at, button));
    });
  }

  if (content.dataset.events) follow(content.dataset.events);
})();
