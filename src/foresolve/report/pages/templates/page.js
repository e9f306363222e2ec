"use strict";
(() => {
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const showTheme = () => {
    const dark = root.dataset.theme === "dark";
    toggle.textContent = dark ? "Light" : "Dark";
    toggle.setAttribute("aria-pressed", String(dark));
  };
  toggle.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("foresolve-theme", root.dataset.theme); } catch (error) { /* private windows keep nothing */ }
    showTheme();
  });
  showTheme();

  // Tables: numbers by value, text by the alphabet; references keep to themselves.
  const key = (row, column) => {
    const cell = row.cells[column];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const before = (a, b) => {
    const empty = (a === "") - (b === "");
    if (empty) return { empty };
    if (typeof a === "number" && typeof b === "number") return { order: a - b };
    return { order: String(a).localeCompare(String(b), undefined, { numeric: true }) };
  };
  for (const button of document.querySelectorAll("th > button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement, table = head.closest("table"), column = head.cellIndex;
      const numeric = [...table.tBodies].some((body) => [...body.rows].some((row) => "value" in row.cells[column].dataset));
      const down = head.getAttribute("aria-sort") === "none" ? numeric : head.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("thead th")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].map((row) => [key(row, column), row]);
        rows.sort(([a], [b]) => {
          const result = before(a, b);
          return result.empty || (down ? -result.order : result.order);
        });
        body.append(...rows.map(([, row]) => row));
      }
    });
  }

  // What is folded is printed too.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open], .unprinted)")) {
      part.open = true;
      opened.push(part);
    }
  });
  addEventListener("afterprint", () => {
    for (const part of opened.splice(0)) part.open = false;
  });
})();
