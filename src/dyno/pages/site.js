"use strict";
// The pages stand without this: it keeps a live page fresh, and sorts a table of a published site.
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
