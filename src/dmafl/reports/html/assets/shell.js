"use strict";
/* What every page of ours shares: theme, controls, plots that draw themselves when they come into view, tables as CSV,
   and, on a live page, the news. A page gives `page.draw`, a function that is called with the data. */
const page = (() => {
  const root = document.documentElement;
  const plots = new Map();
  const state = {};
  const hidden = {};
  let seen = null;
  let listeners = [];

  // -- small helpers ------------------------------------------------------------------------------------------
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const stored = (name, value) => {
    try {
      return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value);
    } catch {
      return null; // a page from a file may have no storage
    }
  };
  const number = (value, digits = 4) => {
    if (value === null || value === undefined || !isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 1);
    return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, size >= 1 ? Math.ceil(Math.log10(size + 1)) : 0) });
  };
  /* Text for Plotly, which takes some HTML: a name must stay a name. */
  const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const make = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  // -- colours ------------------------------------------------------------------------------------------------
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "4px,2px", "2px,2px", "8px,2px,2px,2px"];
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "pentagon"];
  /* A page may say which look of the palette each of its schemes has; else they have them in turn. */
  const series = (scheme) => {
    const { palette, dark: darker, looks } = result.data;
    const place = looks?.[scheme] ?? scheme;
    const named = palette[place % palette.length];
    const again = Math.floor(place / DASHES.length); // a second series of one colour has another dash
    return {
      colour: dark() ? darker[named] ?? named : named,
      dash: DASHES[(place + again) % DASHES.length],
      symbol: SYMBOLS[(place + again) % SYMBOLS.length],
    };
  };
  /* Colours of what is no scheme. */
  const tint = (place) => {
    const tints = result.data.tints[dark() ? "dark" : "light"];
    return tints[place % tints.length];
  };
  const faint = (colour, share) => {
    const value = parseInt(colour.slice(1), 16);
    return `rgba(${value >> 16},${(value >> 8) & 255},${value & 255},${share})`;
  };
  const dark = () => root.dataset.theme === "dark";
  const setTheme = (name) => {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${name === "dark" ? "light" : "dark"} colours`);
    for (const swatch of all("[data-series]")) swatch.style.background = series(+swatch.dataset.series).colour;
    redraw();
  };

  // -- plots --------------------------------------------------------------------------------------------------
  const axis = (more = {}) => ({
    gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true, ...more,
    title: { text: more.title, standoff: 8 },
  });
  const draw = (name) => {
    const one = plots.get(name);
    const place = document.getElementById(`plot-${name}`);
    if (!one || !place) return;
    one.stale = false;
    const { traces, layout = {} } = one.build();
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: "zoom",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: css("--ink") },
      margin: { l: 8, r: 12, t: 8, b: 8 }, hoverlabel: { namelength: -1 },
    };
    for (const key of Object.keys(layout)) if (/^[xy]axis\d*$/.test(key)) layout[key] = axis(layout[key]);
    Plotly.react(place, traces, { ...base, ...layout }, { displayModeBar: false, responsive: true });
  };
  const inView = (place) => {
    const box = place.getBoundingClientRect();
    return box.width > 0 && box.bottom > -300 && box.top < innerHeight + 300;
  };
  const redraw = () => {
    for (const [name, one] of plots) {
      one.stale = true;
      const place = document.getElementById(`plot-${name}`);
      if (place && inView(place)) draw(name);
    }
    for (const listener of listeners) listener();
  };
  const plot = (name, build) => {
    const place = document.getElementById(`plot-${name}`);
    if (!place) return;
    plots.set(name, { build, stale: true });
    seen.observe(place);
  };
  /* A plot of many rows may be taller than others. */
  const tall = (name, px) => {
    const place = document.getElementById(`plot-${name}`);
    if (px > place.clientHeight) place.style.height = `${px}px`;
  };
  const drawAll = () => {
    for (const [name, one] of plots) if (one.stale) draw(name);
  };

  // -- controls -----------------------------------------------------------------------------------------------
  const read = (input) => {
    const name = input.dataset.state;
    if (input.type === "radio") {
      if (input.checked) state[name] = input.value;
    } else state[name] = input.type === "checkbox" ? input.checked : input.value;
  };
  const shown = (kind, place) => !(hidden[kind] && hidden[kind].has(place));
  const changed = (event) => {
    const input = event.target;
    if (input.dataset.state) {
      read(input);
      for (const other of all(`select[data-state="${input.dataset.state}"]`)) other.value = state[input.dataset.state];
    } else if (input.dataset.shown) {
      const kind = (hidden[input.dataset.shown] ??= new Set());
      input.checked ? kind.delete(+input.value) : kind.add(+input.value);
      hideParts();
    } else return;
    redraw();
  };
  const hideParts = () => {
    for (const part of all("[data-task]")) part.hidden = !shown("tasks", +part.dataset.task);
    for (const part of all("[data-scheme]")) part.hidden = !shown("schemes", +part.dataset.scheme);
  };

  // -- tables and text that can be taken along ------------------------------------------------------------------
  const save = (name, kind, content) => {
    const address = URL.createObjectURL(new Blob([content], { type: kind }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  /* The plots of a figure as one SVG that stands alone: with title, names of the plots, and what colours mean. */
  const picture = async (figure, plots_) => {
    const [gap, head, across] = [16, 40, 3];
    const shown_ = plots_.filter((place) => place.offsetWidth);
    const width = Math.max(460, ...shown_.map((place) => place.offsetWidth));
    const height = Math.max(380, ...shown_.map((place) => place.offsetHeight + 40));
    const text = (x, y, size, words) =>
      `<text x="${x}" y="${y}" font-size="${size}" fill="${css("--ink")}">${plain(words).replace(/[\x00-\x1f]/g, " ")}</text>`;
    const parts = [];
    for (const [number_, place] of shown_.entries()) {
      const last = new Map(place.data.map((trace, at) => [trace.name, at]));
      const traces = place.data.map((trace, at) => ({ ...trace, showlegend: Boolean(trace.name) && trace.showlegend !== false && last.get(trace.name) === at }));
      const layout = {
        ...place.layout, width, height, autosize: false, paper_bgcolor: css("--card"), showlegend: traces.some((trace) => trace.showlegend),
        legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 }, traceorder: "normal" },
      };
      const made = await Plotly.toImage({ data: traces, layout }, { format: "svg", width, height, imageDataOnly: true });
      const [x, y] = [gap + (number_ % across) * (width + gap), head + 24 + Math.floor(number_ / across) * (height + gap + 24)];
      parts.push(text(x + 8, y - 8, 15, place.parentElement.querySelector("h3")?.textContent ?? ""), made.replace("<svg ", `<svg x="${x}" y="${y}" `));
    }
    const section = figure.closest("section")?.querySelector("h2")?.textContent;
    const title = [document.title, section].filter(Boolean).join(". ");
    const whole = [gap + Math.min(across, shown_.length) * (width + gap), head + Math.ceil(shown_.length / across) * (height + gap + 24)];
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${whole[0]}" height="${whole[1]}" viewBox="0 0 ${whole[0]} ${whole[1]}" font-family="sans-serif">` +
      `<rect width="100%" height="100%" fill="${css("--card")}"/>${text(gap + 8, 26, 17, title)}${parts.join("")}</svg>`;
  };
  /* A picture as PNG, with two pixels for each of the page's, so that it is sharp in print too. */
  const pixels = async (svg) => {
    const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
    await image.decode();
    const canvas = make("canvas", { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  };
  const csv = (table) =>
    all("tr", table)
      .map((row) => all("th,td", row).map((cell) => `"${cell.textContent.replaceAll('"', '""')}"`).join(","))
      .join("\r\n");
  const addButtons = () => {
    for (const table of all(".scroll > table")) {
      const button = make("button", { type: "button", textContent: "Save as CSV" });
      const caption = table.caption ? table.caption.textContent : "table";
      button.setAttribute("aria-label", `Save as CSV: ${caption}`);
      button.addEventListener("click", () => save("table.csv", "text/csv", csv(table)));
      table.parentElement.before(button);
    }
    for (const block of all("pre.copy")) {
      const button = make("button", { type: "button", textContent: "Copy" });
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(block.textContent);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(block); // no clipboard: leave it marked
        }
      });
      block.before(button);
    }
    for (const figure of all("figure")) {
      const own = all(".plot", figure);
      if (!own.length) continue;
      const name = own[0].id.replace("plot-", "").replace(/-0$/, "");
      for (const [kind, type, made] of [["PNG", "image/png", pixels], ["SVG", "image/svg+xml", (text) => text]]) {
        const button = make("button", { type: "button", textContent: `Save as ${kind}` });
        button.setAttribute("aria-label", `Save as ${kind}: ${own[0].getAttribute("aria-label")}`);
        button.addEventListener("click", async () => {
          for (const place of own) draw(place.id.replace("plot-", ""));
          save(`${name}.${kind.toLowerCase()}`, type, await made(await picture(figure, own)));
        });
        figure.querySelector("figcaption").after(button);
      }
    }
  };
  const spy = () => {
    const links = all("nav a");
    let current = null;
    for (const section of all("main > section")) if (section.getBoundingClientRect().top < innerHeight / 3) current = section.id;
    for (const link of links)
      link.hash === `#${current}` ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  };

  // -- live ---------------------------------------------------------------------------------------------------
  const follow = (poll_s) => {
    const told = document.getElementById("live-state");
    let stamp = null;
    let lost = 0;
    const ask = async () => {
      try {
        const answer = await fetch(`content.json?have=${stamp}`, { cache: "no-store" });
        if (!answer.ok && answer.status !== 204) throw new Error(answer.statusText);
        lost = 0;
        if (answer.status === 200) {
          const news = await answer.json();
          stamp = news.stamp;
          replace(news);
          told.textContent = news.ended ? "The run has ended." : `Live. Last news ${new Date().toLocaleTimeString()}.`;
          if (news.ended) return;
        }
      } catch {
        lost += 1;
        if (lost > 2) {
          told.textContent = "The run has ended or was stopped; this page shows what came last.";
          return;
        }
      }
      setTimeout(ask, poll_s * 1000);
    };
    told.textContent = "Live.";
    ask();
  };
  const replace = (news) => {
    const main = document.getElementById("main");
    const open = new Set(all("details[open]", main).map((one) => all("details", main).indexOf(one)));
    const at = scrollY;
    const focused = all("button,select,input,summary,[tabindex]", main).indexOf(document.activeElement);
    for (const place of all(".plot", main)) Plotly.purge(place);
    main.innerHTML = news.main; // escaped where it was made
    document.title = news.title;
    document.getElementById("contents").innerHTML = news.contents;
    result.data = news.data;
    all("details", main).forEach((one, place) => (one.open = open.has(place)));
    for (const input of all("[data-state]", main)) {
      const value = state[input.dataset.state];
      if (value === undefined) continue;
      if (input.type === "radio") input.checked = input.value === value;
      else if (input.type === "checkbox") input.checked = value;
      else if ([...input.options].some((option) => option.value === value)) input.value = value;
    }
    for (const input of all("[data-shown]", main)) input.checked = shown(input.dataset.shown, +input.value);
    prepare();
    scrollTo({ top: at, behavior: "instant" });
    if (focused >= 0) all("button,select,input,summary,[tabindex]", main)[focused]?.focus({ preventScroll: true });
  };

  // -- start --------------------------------------------------------------------------------------------------
  const prepare = () => {
    plots.clear();
    listeners = [];
    seen?.disconnect();
    seen = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const name = entry.target.id.replace("plot-", "");
          if (entry.isIntersecting && plots.get(name)?.stale) draw(name);
        }
      },
      { rootMargin: "300px" },
    );
    for (const input of all("[data-state]")) read(input);
    hideParts();
    addButtons();
    result.draw?.(result.data);
    setTheme(root.dataset.theme);
  };
  const start = () => {
    result.data = JSON.parse(document.getElementById("data").textContent);
    const wish = matchMedia("(prefers-color-scheme: dark)");
    root.dataset.theme = stored("dmafl-theme") ?? (wish.matches ? "dark" : "light");
    wish.addEventListener("change", () => stored("dmafl-theme") ?? setTheme(wish.matches ? "dark" : "light"));
    document.getElementById("theme").addEventListener("click", () => {
      const name = dark() ? "light" : "dark";
      stored("dmafl-theme", name);
      setTheme(name);
    });
    document.addEventListener("change", changed);
    document.addEventListener("scroll", spy, { passive: true });
    let before = null;
    addEventListener("beforeprint", () => {
      before ??= root.dataset.theme;
      setTheme("light");
      drawAll();
    });
    addEventListener("afterprint", () => {
      setTheme(before ?? root.dataset.theme);
      before = null;
    });
    prepare();
    spy();
    if (root.dataset.live) follow(+root.dataset.live);
  };
  const result = {
    data: null, draw: null, state, all, css, make, number, plain, series, tint, faint, plot, tall, drawAll, redraw, shown, start,
    onRedraw: (listener) => listeners.push(listener),
  };
  return result;
})();
