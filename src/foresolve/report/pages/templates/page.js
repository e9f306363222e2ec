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

  // One instance: the truth, predictions and decisions, and what they cost.
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  // Four significant digits, and all of those before the point; powers of ten only where zeros would go on and on.
  const number = (value) => {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value), most = size > 0 ? Math.max(0, 3 - Math.floor(Math.log10(size))) : 0;
    const plain = size === 0 || (size >= 1e-4 && size < 1e15);
    const text = plain ? (Number(value.toFixed(most)) + 0).toLocaleString("en-US", { maximumFractionDigits: 8, useGrouping: size >= 1e4 })
      : String(Number(value.toPrecision(4)));
    return text.replace(/-/g, "−");
  };
  const share = (part) => (part >= 0.9995 ? "● chosen" : part > 1e-6 ? "◐ " + number(part) : "");
  const methodRow = (choice, worst, worded) => {
    const row = make("tr"), name = make("th"), cost = make("td"), bar = make("span", "", "cost-bar " + (choice.role || "plain"));
    name.scope = "row";
    const fit = make("span", null, "fit");
    fit.append(make("span", "", "dot " + (choice.role || "plain")), choice.method);
    name.append(fit);
    bar.style.width = worst > 0 ? Math.max(0, (100 * choice.cost) / worst) + "%" : "0";
    cost.append(make("span", number(choice.cost)), bar);
    row.append(name, make("td", number(choice.value)), cost);
    if (worded) row.append(make("td", choice.words, "decision"));
    return row;
  };
  const headed = (titles) => {
    const table = make("table"), head = make("thead"), row = make("tr");
    for (const title of titles) {
      const cell = make("th"), fit = make("span", title, "fit");
      cell.scope = "col";
      fit.title = title;
      cell.append(fit);
      row.append(cell);
    }
    head.append(row);
    table.append(head, make("tbody"));
    return table;
  };
  const scrolled = (table, label) => {
    const box = make("div", null, "wide");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    box.append(table);
    return box;
  };
  const methods = (instance, unit) => {
    const worded = instance.choices.some((choice) => choice.words);
    const titles = ["method", "value" + (unit ? " (" + unit + ")" : ""), "what it cost"];
    const table = headed(worded ? [...titles, "decision"] : titles);
    table.className = "choices";
    if (worded) table.tHead.rows[0].lastChild.className = "decision";
    const worst = Math.max(...instance.choices.map((choice) => choice.cost));
    const best = make("tr", null, "best-row"), name = make("th", "best decision known");
    name.scope = "row";
    best.append(name, make("td", number(instance.optimum)), make("td", "0"));
    if (worded) best.append(make("td", instance.best_words, "decision"));
    const rows = [...instance.choices].sort((a, b) => a.cost - b.cost).map((choice) => methodRow(choice, worst, worded));
    table.tBodies[0].append(best, ...rows);
    return table;
  };
  const items = (data, instance) => {
    const shown = instance.choices.filter((choice) => choice.predictions.length || choice.chosen.length);
    const table = headed([data.item, "true " + data.parameter, "best", ...shown.map((choice) => choice.method)]);
    table.className = "items";
    instance.items.forEach((item, place) => {
      const row = make("tr"), name = make("th");
      name.scope = "row";
      name.append(make("span", item, "fit"));
      row.append(name, make("td", number(instance.truth[place])), make("td", share(instance.best[place] || 0), "mark"));
      for (const choice of shown) {
        const part = choice.chosen[place] || 0, cell = make("td", number(choice.predictions[place]), part > 1e-6 ? "chosen" : "");
        if (part > 1e-6) cell.append(make("span", share(part), "aside mark"));
        row.append(cell);
      }
      table.tBodies[0].append(row);
    });
    return table;
  };
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const figure of document.querySelectorAll("[data-picker]")) {
    const picker = data[Number(figure.dataset.picker)], select = figure.querySelector("select");
    const target = figure.querySelector(".shown");
    const show = () => {
      const instance = picker.instances[select.selectedIndex];
      target.replaceChildren(scrolled(methods(instance, picker.unit), "What methods decided"));
      if (instance.items.length) target.append(scrolled(items(picker, instance), "Truth, predictions and decisions"));
      if (instance.left_out) target.append(make("p", instance.left_out + " more, which matter less here, are left out.", "note"));
    };
    // The first instance that tells methods apart.
    const told = picker.instances.findIndex((one) => new Set(one.choices.map((choice) => number(choice.cost))).size > 1);
    select.selectedIndex = Math.max(0, told);
    select.addEventListener("change", show);
    for (const button of figure.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => {
        const count = picker.instances.length;
        select.selectedIndex = (select.selectedIndex + Number(button.dataset.step) + count) % count;
        show();
      });
    }
    show();
  }

  // What is folded is printed too.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      part.open = true;
      opened.push(part);
    }
  });
  addEventListener("afterprint", () => {
    for (const part of opened.splice(0)) part.open = false;
  });
})();
