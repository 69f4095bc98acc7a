// Search, tables that sort, filters, hints at tables that scroll, and the chart of a study. Pages say
// all without it.
"use strict";

const value = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.sort ?? cell.textContent.trim();
  const number = parseFloat(text);
  return Number.isNaN(number) ? text : number;
};

// Empty cells stay last, whichever way the column is sorted.
const compare = (a, b, sign) => {
  const empty = (one) => one === "" || one === "–";
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en");
};

function search(place) {
  const [field, list] = [place.querySelector("input"), place.querySelector("ul")];
  const found = (words) => sitePages.filter((one) => words.every((word) => one[0].toLowerCase().includes(word)));
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const pages = words.length ? found(words).slice(0, 10) : [];
    list.replaceChildren(...pages.map(([name, address]) => {
      const [item, link] = [document.createElement("li"), document.createElement("a")];
      [link.textContent, link.href] = [name, place.dataset.root + address];
      item.append(link);
      return item;
    }));
    list.hidden = !pages.length;
  };
  field.addEventListener("input", show);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { list.hidden = true; field.focus(); }
    if (event.key === "Enter" && event.target === field) list.querySelector("a")?.click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [field, ...list.querySelectorAll("a")];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    event.preventDefault();
  });
  place.hidden = false;
}

function hint(region) {
  const text = document.createElement("p");
  text.className = "more";
  region.before(text);
  const show = () => {
    const across = region.scrollWidth > region.clientWidth + 1;
    const down = region.scrollHeight > region.clientHeight + 1;
    text.hidden = !across && !down;
    text.textContent = `Scroll the table for more ${[down && "below ↓", across && "to the right →"].filter(Boolean).join(", ")}`;
  };
  new ResizeObserver(show).observe(region);
  show();
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sorted = head.getAttribute("aria-sort");
      const first = head.dataset.first ?? "ascending";
      const up = (sorted ? sorted !== "ascending" : first === "ascending");
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const sign = up ? 1 : -1;
      body.append(...[...body.rows].sort((a, b) => compare(value(a, column), value(b, column), sign)));
    });
  });
}

function filter(form) {
  const rows = [...document.getElementById(form.dataset.filters).tBodies[0].rows];
  const show = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const fits = (row) => Object.entries(wanted).every(([key, one]) => !one || row.dataset[key] === one);
    rows.forEach((row) => { row.hidden = !fits(row); });
    form.querySelector("output").textContent = `${rows.filter(fits).length} of ${rows.length} rows`;
  };
  form.addEventListener("change", show);
  show();
}

async function chart(place) {
  const { names, seeds, rows, spec, units } = JSON.parse(document.getElementById("chart-data").textContent);
  const form = document.querySelector(".chooser");
  const told = document.getElementById("chart-shows");
  const scores = rows.flatMap(([stream, method, metric, numbers]) => numbers.map((score, place) => ({
    stream: names.stream[stream], method: names.method[method], metric: names.metric[metric], seed: seeds[place], score,
  }))).filter((one) => one.score !== null);
  spec.datasets = { scores };
  const { view } = await vegaEmbed(place, spec, { renderer: "svg", actions: false });
  place.setAttribute("aria-label", place.dataset.label);
  const draw = () => {
    const chosen = new FormData(form);
    const [metric, stream] = [chosen.get("metric"), chosen.get("stream")];
    const [seed, methods] = [Number(chosen.get("seed")), chosen.getAll("method")];
    const any = scores.some((one) => one.metric === metric && one.stream === stream
      && (seed < 0 || one.seed === seed) && methods.includes(one.method));
    place.hidden = !any;
    told.textContent = any ? `${metric}${units[metric] ? ` (${units[metric]})` : ""} on ${stream}` : "No score fits this choice.";
    if (!any) return undefined;
    return view.signal("metric", metric).signal("stream", stream).signal("seed", seed)
      .signal("methods", methods).runAsync();
  };
  form.addEventListener("change", draw);
  form.querySelectorAll("[data-all]").forEach((button) => button.addEventListener("click", () => {
    form.querySelectorAll("[name=method]").forEach((box) => { box.checked = Boolean(button.dataset.all); });
    draw();
  }));
  // A browser may have kept what was chosen before.
  await draw();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".search").forEach(search);
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".wide").forEach(hint);
  document.querySelectorAll("[data-filters]").forEach(filter);
  document.querySelectorAll(".chart").forEach(chart);
});
