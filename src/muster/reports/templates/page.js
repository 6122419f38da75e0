(() => {
  "use strict";
  const root = document.documentElement;
  const state = new URLSearchParams(location.search);
  const keep = (key, value) => {
    if (value) state.set(key, value); else state.delete(key);
    const query = state.toString();
    try { history.replaceState(null, "", (query ? "?" + query : location.pathname) + location.hash); } catch (_) { /* a page without an address keeps no state */ }
  };
  root.classList.add("live");

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const shown = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const button = document.getElementById("theme");
  if (state.get("theme")) root.dataset.theme = state.get("theme");
  const label = () => { button.textContent = shown() === "dark" ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    keep("theme", root.dataset.theme);
    label();
    drawn.forEach(draw);
  });
  label();

  const number = (cell) => {
    const value = cell.dataset.value;
    return value === undefined ? null : value === "" ? NaN : Number(value);
  };
  document.querySelectorAll(".table[data-searched]").forEach((box) => {
    const name = box.id, body = box.querySelector("tbody"), rows = [...body.rows];
    const search = box.querySelector("input"), filter = box.querySelector("select"), count = box.querySelector("output");
    const heads = [...box.querySelectorAll("thead th")];
    const last = heads.length - 1;
    [...new Set(rows.map((row) => row.cells[last].textContent.trim()))].sort().forEach((text) => filter.add(new Option(text, text)));
    const apply = () => {
      const wanted = search.value.trim().toLowerCase();
      let left = 0;
      rows.forEach((row) => {
        const fits = (!wanted || row.cells[0].textContent.toLowerCase().includes(wanted))
          && (!filter.value || row.cells[last].textContent.trim() === filter.value);
        row.hidden = !fits;
        left += fits;
      });
      count.textContent = left + " of " + rows.length + " rows";
      keep(name + ".q", search.value);
      keep(name + ".is", filter.value);
    };
    const sort = (column, down) => {
      const value = (row) => { const n = number(row.cells[column]); return n === null ? row.cells[column].textContent : n; };
      const missing = (v) => typeof v === "number" && Number.isNaN(v);
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return down ? -order : order;
      });
      heads.forEach((head, i) => { if (i === column) head.setAttribute("aria-sort", down ? "descending" : "ascending"); else head.removeAttribute("aria-sort"); });
      body.append(...rows);
      keep(name + ".by", (down ? "-" : "") + column);
    };
    heads.forEach((head, i) => {
      const press = document.createElement("button");
      press.type = "button";
      press.textContent = head.textContent;
      head.replaceChildren(press);
      press.addEventListener("click", () => sort(i, head.getAttribute("aria-sort") === "ascending"));
    });
    search.value = state.get(name + ".q") || "";
    filter.value = state.get(name + ".is") || "";
    search.addEventListener("input", apply);
    filter.addEventListener("change", apply);
    const by = state.get(name + ".by");
    if (by && Math.abs(Number(by)) <= last) sort(Math.abs(Number(by)), by.startsWith("-"));
    apply();
  });

  const drawn = new Set();
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const library = document.getElementById("vega");
  const colours = JSON.parse(document.getElementById("colours").textContent);
  const draw = (figure) => {
    const style = getComputedStyle(root);
    let text = JSON.stringify(specs[figure.dataset.chart]);
    Object.entries(colours).forEach(([name, hex]) => { text = text.replaceAll(hex, style.getPropertyValue("--" + name).trim()); });
    const place = figure.querySelector(".drawn"), still = place.querySelector("svg");
    const stage = document.createElement("div");
    return vegaEmbed(stage, JSON.parse(text), { actions: false, renderer: "svg", ast: true }).then(() => {
      const made = stage.querySelector("svg");
      ["role", "aria-label"].forEach((key) => made.setAttribute(key, still.getAttribute(key)));
      place.replaceChildren(stage);
      drawn.add(figure);
      figure.dataset.live = "yes";
    });
  };
  const load = () => {
    if (window.vegaEmbed || !library) return;
    const script = document.createElement("script");
    script.textContent = library.textContent;
    document.body.append(script);
  };
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    watch.unobserve(entry.target);
    load();
    if (window.vegaEmbed) draw(entry.target);
  }), { rootMargin: "200px" });
  document.querySelectorAll("figure[data-chart]").forEach((figure) => watch.observe(figure));
  root.dataset.ready = "yes";
})();
