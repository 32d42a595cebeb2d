"use strict";
/* The plots of a run's report. Everything shown is in the tables too. */
page.draw = (data) => {
  if (!data.tasks) return; // a run that has saved nothing yet
  const { state, shown, series, tint, faint, plain, number, make } = page;
  const AXES = { aggregation: "aggregations", time_s: data.clock, energy_J: "energy [J]" };
  const PHASES = [["uplink_J", "upload", "uploads"], ["compute_J", "compute", "computations"], ["downlink_J", "download", "downloads"]];
  const phaseColour = (name) => data.phases[name];
  const unit = () => Math.min(+(state.unit ?? 0), data.units.length - 1);
  const ofTasks = (name, build) => data.tasks.forEach((_, task) => page.plot(`${name}-${task}`, () => build(task)));
  const curvesOf = (task) => data.curves.filter((one) => one.task === task && shown("schemes", one.scheme));
  /* The sum; nothing where a part of it was not measured. */
  const total = (values) => (values.includes(null) ? null : values.reduce((sum, value) => sum + value, 0));
  /* An axis of what is spent: logarithmic where the ends are apart, sensible from the first test on. */
  const spentAxis = (title, values, log) => {
    const known = values.filter((value) => value > 0);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    if (!log || !known.length || high / low < 3) return { title, type: "linear", rangemode: "tozero", ...(known.length ? {} : { range: [0, 1] }) };
    if (high / low >= 1000) return { title, type: "log", dtick: 1 };
    const powers = Array.from({ length: 5 }, (_, place) => 10 ** (Math.floor(Math.log10(low)) + place - 1));
    const tickvals = powers.flatMap((power) => [1, 2, 5].map((digit) => digit * power));
    return { title, type: "log", tickvals, ticktext: tickvals.map((value) => number(value, 1)) };
  };
  /* An axis of accuracy or loss: of few tests all of it, so that it does not jump about. */
  const LEAST_SPAN = 0.1; // of accuracies: what is nearly one value is not blown up
  const qualityAxis = (value, title, own) => {
    if (Math.max(0, ...own.map((one) => one.mean.aggregation.length)) < 3) return value === "accuracy" ? { title, range: [0, 1] } : { title, rangemode: "tozero" };
    const known = own.flatMap((one) => one.mean[value]).filter((one) => one !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    if (value !== "accuracy" || !(high - low < LEAST_SPAN)) return { title };
    return { title, range: [(low + high - LEAST_SPAN) / 2, (low + high + LEAST_SPAN) / 2] };
  };
  /* The end of an interval as it is drawn: two seeds have intervals that no accuracy and no loss can reach. */
  const reachable = (value, end) => (end === null ? null : Math.max(0, value === "accuracy" ? Math.min(1, end) : end));
  const nothing = (there, text) => (there ? {} : { annotations: [{ text, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5, font: { color: page.css("--quiet") } }] });
  const key = (colour, text) => make("span", {}, Object.assign(make("i"), { style: `background:${colour}` }), text);
  /* What colours mean, once above all plots of a figure; a saved picture has it in every plot. */
  const legend = (name, entries) => document.getElementById(`legend-${name}`)?.replaceChildren(...entries.map(([colour, text]) => key(colour, text)));

  // -- every scheme against one ---------------------------------------------------------------------------------
  const against = () => {
    const place = document.getElementById("against-tables");
    if (!place) return;
    const chosen = +(state.against ?? data.first);
    place.replaceChildren(
      ...data.tasks.map((task, number_) => {
        if (!shown("tasks", number_)) return null;
        const pairs = data.pairs.filter((one) => one.task === number_ && one.a === chosen && shown("schemes", one.b));
        if (!pairs.length) return make("p", { className: "small", textContent: `Nothing to compare ${data.schemes[chosen]} with on ${task}.` });
        const weak = (scheme) => pairs.some((one) => one.no_better.includes(scheme));
        const rows = pairs.map((one) => make("tr", {}, make("th", { scope: "row", textContent: data.schemes[one.b] }), points(one), times(one, "energy"), times(one, "time")));
        const head = ["against", "points", "energy", "time"].map((name) => make("th", { scope: "col", textContent: name }));
        const names = [chosen, ...pairs.map((one) => one.b)].filter(weak).map((scheme) => data.schemes[scheme]);
        const note = names.length ? make("p", { className: "small", textContent: `No better than ${data.chances[number_]}, and so without ratios: ${names.join(", ")}.` }) : null;
        const caption = make("caption", { textContent: `${data.schemes[chosen]} on ${task}` });
        return make("div", { className: "card" }, make("table", {}, caption, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)), note);
      }).filter(Boolean),
    );
  };
  const signed = (value) => value.toFixed(1).replace("-", "−");
  /* A figure with its interval; bold only where there is one that leaves out `none`. */
  const withInterval = (text, low, high, none, show) => {
    const cell = make("td", { className: low === null ? "" : low > none || high < none ? "clear" : "unclear" }, text);
    if (low !== null) cell.append(make("div", { className: "small", textContent: `${show(low)} to ${show(high)}` }));
    return cell;
  };
  const points = (one) => {
    const [mean, low, high] = one.accuracy.map((value) => (value === null ? null : 100 * value));
    return withInterval(`${mean > 0 ? "+" : ""}${signed(mean)}`, low, high, 0, signed);
  };
  const times = (one, what) => {
    const given = one[what];
    if (given[0] === null) return make("td", {}, "–");
    const less = given[0] >= 1;
    const [mean, low, high] = less || given[1] === null ? [less ? given[0] : 1 / given[0], given[1], given[2]] : [1 / given[0], 1 / given[2], 1 / given[1]];
    return withInterval(`${number(mean, 3)}× ${less ? "less" : "more"}`, low, high, 1, (value) => number(value, 3));
  };

  // -- curves and front -----------------------------------------------------------------------------------------
  ofTasks("curves", (task) => {
    const axis = state.axis ?? data.axis;
    const value = state.value ?? "accuracy";
    const own = curvesOf(task);
    const xaxis = spentAxis(AXES[axis], own.flatMap((one) => one.mean[axis]), axis !== "aggregation" && !state.straight);
    if (axis === "aggregation") xaxis.range = [0, 1.02 * data.slots[task]];
    const log = xaxis.type === "log";
    const traces = [];
    for (const one of own) {
      const { colour, dash, symbol } = series(one.scheme);
      const name = plain(data.schemes[one.scheme]);
      const kept = one.mean[axis].map((_, place) => place).filter((place) => !log || one.mean[axis][place] > 0);
      const pick = (column) => kept.map((place) => one.mean[column][place]);
      const low = pick(`${value}_low`);
      if (low.some((end) => end !== null)) {
        const x = pick(axis);
        traces.push({
          x: [...x, ...x.toReversed()], y: [...pick(`${value}_high`), ...low.toReversed()].map((end) => reachable(value, end)), fill: "toself", mode: "lines",
          fillcolor: faint(colour, 0.15), line: { width: 0 }, hoverinfo: "skip",
        });
      }
      if (state.every)
        for (const seed of Object.values(one.seeds))
          traces.push({ x: seed[axis], y: seed[value], mode: "lines", line: { color: faint(colour, 0.45), width: 1 }, hoverinfo: "skip" });
      traces.push({
        x: pick(axis), y: pick(value), name, mode: "lines+markers", line: { color: colour, dash, width: 2 },
        marker: { color: colour, symbol, size: 7, maxdisplayed: 14 },
        hovertemplate: `%{y:.3f} at %{x:.4g}<extra>${name}</extra>`,
      });
    }
    return { traces, layout: { xaxis, yaxis: qualityAxis(value, value === "accuracy" ? "test accuracy" : "test loss", own), ...nothing(traces.length, "no test yet") } };
  });
  ofTasks("front", (task) => {
    const traces = [];
    for (const one of curvesOf(task)) {
      const { colour, symbol } = series(one.scheme);
      const name = plain(data.schemes[one.scheme]);
      const last = one.mean.accuracy.length - 1;
      const [low, middle, high] = ["accuracy_low", "accuracy", "accuracy_high"].map((column) => reachable("accuracy", one.mean[column][last]));
      const error = high === null ? undefined : { type: "data", symmetric: false, array: [high - middle], arrayminus: [middle - low], color: colour, thickness: 1.5 };
      const way = one.mean.energy_J.map((_, place) => place).filter((place) => one.mean.energy_J[place] > 0);
      traces.push({
        x: way.map((place) => one.mean.energy_J[place]), y: way.map((place) => one.mean.accuracy[place]), mode: "markers", name,
        marker: { color: faint(colour.length === 7 ? colour : "#888888", 0.5), symbol, size: 5 }, hovertemplate: `%{y:.3f} for %{x:.4g} J<extra>${name}</extra>`,
      });
      if (one.mean.energy_J[last] > 0)
        traces.push({
          x: [one.mean.energy_J[last]], y: [one.mean.accuracy[last]], mode: "markers", name, error_y: error,
          marker: { color: colour, symbol, size: 13, line: { color: page.css("--card"), width: 1.5 } }, hovertemplate: `%{y:.3f} for %{x:.4g} J at the end<extra>${name}</extra>`,
        });
    }
    const front = data.fronts[task];
    traces.unshift({ x: front.energy_J, y: front.accuracy, mode: "lines", line: { shape: "hv", color: page.css("--quiet"), width: 2, dash: "dot" }, hoverinfo: "skip", name: "front" });
    const spent = curvesOf(task).flatMap((one) => one.mean.energy_J);
    return { traces, layout: { xaxis: spentAxis("energy [J]", spent, true), yaxis: qualityAxis("accuracy", "test accuracy", curvesOf(task)), ...nothing(spent.length, "no test yet") } };
  });

  // -- timeline -------------------------------------------------------------------------------------------------
  const host = document.getElementById("timeline-view");
  const describe = (jobs, job) => {
    const list = make("dl");
    const add = (name, text) => list.append(make("dt", { textContent: name }), make("dd", { textContent: `${text} ` }));
    const outcome = data.outcomes[jobs.outcome[job]];
    add("from", `${number(jobs.start_s[job], 6)} s`);
    for (const phase of ["idle", "download", "wait", "compute", "upload"])
      if (jobs[`${phase}_s`][job] > 0) add(phase, `${number(jobs[`${phase}_s`][job])} s`);
    add("work", `${jobs.steps[job]} steps of ${jobs.batch[job]}`);
    add("frequency", `${number(jobs.frequency_MHz[job])} MHz`);
    add("version", jobs.version[job]);
    if (jobs.slot[job] >= 0) {
      add("slot", jobs.slot[job]);
      add("staleness", jobs.staleness[job]);
      add("mixing weight", number(jobs.mix_weight[job], 3));
    }
    if (outcome !== "aggregated") add("outcome", outcome);
    add("samples", jobs.samples[job]);
    for (const [key, , name] of PHASES) add(name, `${number(jobs[key][job], 3)} J`);
    const ids = placeOf(unit()).id;
    return [make("strong", { textContent: `Device ${ids[jobs.device[job]]}, ${data.tasks[jobs.task[job]]}. ` }), list];
  };
  const placeOf = (place) => data.places.find((one) => one.run === data.units[place].run && one.seed === data.units[place].seed);
  let bars = null;
  let loaded = null;
  const showTimeline = async () => {
    if (!host) return;
    const wanted = unit();
    const tasks = data.tasks.map((_, place) => place).filter((place) => shown("tasks", place));
    if (loaded !== wanted) {
      loaded = wanted;
      const said = document.getElementById("timeline-said");
      said.textContent = "";
      const packed = data.jobs[wanted];
      const jobs = packed ? await timeline.unpack(packed) : null;
      if (loaded !== wanted) return; // another choice came in between
      bars ??= timeline.open(host, {
        tasks: data.tasks, phases: data.phases, outcomes: data.outcomes, describe,
        say: (text) => (said.textContent = text), tip: document.getElementById("timeline-tip"),
      });
      bars.devices(placeOf(wanted).id, data.absences[wanted]);
      bars.load(jobs ?? timeline.nothing());
      if (!jobs) said.textContent = "The jobs of this scheme and seed are not in the page.";
      else if (!jobs.start_s.length) said.textContent = "No job has ended.";
      window.dmaflTimeline = bars; // for those who look behind the scenes, and for tests
    }
    bars?.showTasks(tasks);
  };
  if (host) {
    const phases = ["idle", "download", "compute", "upload"].map((name) => [name === "idle" ? "var(--line)" : phaseColour(name), name]);
    legend("timeline", data.absences.some(Boolean) ? [...phases, ["var(--ink)", "away"]] : phases);
    for (const button of page.all("[data-zoom]"))
      button.addEventListener("click", () => ({ in: () => bars?.zoom(0.5), out: () => bars?.zoom(2), all: () => bars?.fit() })[button.dataset.zoom]());
    for (const button of page.all("[data-span]")) button.addEventListener("click", () => bars?.fit(+button.dataset.span));
  }

  // -- who trains what ------------------------------------------------------------------------------------------
  const tasksShown = () => data.tasks.map((_, place) => place).filter((place) => shown("tasks", place));
  page.plot("work", () => {
    const of = data.devices[unit()];
    const kind = state.work ?? "jobs";
    const value = (device, task) => (kind === "energy" ? total(PHASES.map(([key]) => of[key][device][task])) : of[kind][device][task]);
    const ids = placeOf(unit()).id;
    const tasks = tasksShown();
    const z = tasks.map((task) => ids.map((_, device) => value(device, task)));
    const few = ids.length <= 30;
    return {
      traces: [{
        type: "heatmap", x: ids.map((_, device) => device), y: tasks.map((_, place) => place), z, zmin: 0, zmax: Math.max(0, ...z.flat()) || 1,
        colorscale: [[0, page.css("--card")], [1, dark() ? "#0072b2" : "#56b4e9"]], textfont: { color: page.css("--ink") }, // read on every colour
        xgap: few ? 2 : 0, ygap: 2, text: z.map((row) => row.map((one) => number(one, 3))), texttemplate: few && innerWidth > 600 ? "%{text}" : "",
        hovertemplate: `device %{x}: %{text} ${kind === "energy" ? "J" : kind === "jobs" ? "jobs" : "samples"}<extra></extra>`, colorbar: { thickness: 10, outlinewidth: 0 },
      }],
      layout: {
        xaxis: { title: "device", ...(few ? { tickvals: ids.map((_, device) => device), ticktext: ids.map(plain) } : {}), showgrid: false },
        yaxis: { tickvals: tasks.map((_, place) => place), ticktext: tasks.map((task) => plain(data.tasks[task])), autorange: "reversed", showgrid: false },
      },
    };
  });
  const dark = () => document.documentElement.dataset.theme === "dark";

  // -- staleness ------------------------------------------------------------------------------------------------
  const mostStale = (task) => Math.max(0, ...data.staleness.filter((one) => one.task === task).map((one) => one.share.length - 1));
  ofTasks("staleness", (task) => ({
    traces: data.staleness.filter((one) => one.task === task && shown("schemes", one.scheme)).map((one) => ({
      type: "bar", x: one.share.map((_, stale) => stale), y: one.share, name: plain(data.schemes[one.scheme]), marker: { color: series(one.scheme).colour },
      hovertemplate: `%{y:.1%} of staleness %{x}<extra>${plain(data.schemes[one.scheme])}, mean ${number(one.mean, 3)}</extra>`,
    })),
    layout: {
      barmode: "group", xaxis: { title: "staleness", tickformat: "d", nticks: 8, ...(mostStale(task) < 8 ? { dtick: 1 } : {}) },
      yaxis: { title: "share of jobs", tickformat: ".0%", rangemode: "tozero" }, ...nothing(data.staleness.length, "no job yet"),
    },
  }));

  // -- energy ---------------------------------------------------------------------------------------------------
  ofTasks("energy", (task) => {
    const own = data.energy.filter((one) => one.task === task && shown("schemes", one.scheme));
    legend("energy", PHASES.map(([, phase, name]) => [phaseColour(phase), name]));
    return {
      traces: PHASES.map(([key, phase, name]) => ({
        type: "bar", orientation: "h", y: own.map((one) => plain(data.schemes[one.scheme])), x: own.map((one) => one[key]), name, marker: { color: phaseColour(phase) },
        hovertemplate: `%{x:.4g} J<extra>${name}</extra>`,
      })),
      layout: { barmode: "stack", xaxis: { title: "energy [J]" }, yaxis: { autorange: "reversed" } },
    };
  });
  page.plot("device-energy", () => {
    const of = data.devices[unit()];
    const { id: ids, battery_J: batteries } = placeOf(unit());
    const tasks = tasksShown();
    const share = state.device === "share";
    const paid = PHASES.filter(([key]) => key !== "downlink_J"); // the base station pays for downloads
    const value = (key, device) => {
      const joules = total(tasks.map((task) => of[key][device][task]));
      return joules === null ? null : share ? (batteries[device] ? (100 * joules) / batteries[device] : null) : joules;
    };
    const traces = paid.map(([key, phase, name]) => ({
      type: "bar", x: ids.map((_, device) => device), y: ids.map((_, device) => value(key, device)), name, marker: { color: phaseColour(phase) },
      hovertemplate: `device %{x}: %{y:.4g} ${share ? "% of its battery" : "J"}<extra>${name}</extra>`,
    }));
    const most = Math.max(0, ...ids.map((_, device) => traces.reduce((sum, trace) => sum + (trace.y[device] ?? 0), 0)));
    const known = batteries.filter((battery) => battery !== null);
    const [least, largest] = [Math.min(...known), Math.max(...known)];
    const near = known.length && most > 0 && least < 5 * most;
    if (!share && near)
      traces.push({
        x: ids.map((_, device) => device), y: batteries, name: "battery", mode: "markers", marker: { symbol: "line-ew", size: 16, line: { width: 3, color: page.css("--ink") } },
        hovertemplate: "device %{x}: battery of %{y:.4g} J<extra></extra>",
      });
    legend("device-energy", [...paid.map(([, phase, name]) => [phaseColour(phase), name]), ...(!share && near ? [["var(--ink)", "battery"]] : [])]);
    const said = known.length ? least === largest ? `every battery: ${number(least, 3)} J` : `batteries: ${number(least, 3)} to ${number(largest, 3)} J` : "no limits of batteries";
    return {
      traces,
      layout: {
        barmode: "stack", yaxis: { title: share ? "share of the battery [%]" : "energy [J]", rangemode: "tozero", ...(!share && near ? { range: [0, 1.08 * Math.min(largest, 6 * most)] } : {}) },
        xaxis: { title: share ? "device" : `device (${said})`, ...(ids.length <= 30 ? { tickvals: ids.map((_, device) => device), ticktext: ids.map(plain) } : {}) },
      },
    };
  });

  // -- plans and predictions ------------------------------------------------------------------------------------
  ofTasks("terms", (task) => {
    const own = data.terms.filter((one) => one.task === task);
    const names = [...new Set(data.terms.flatMap((one) => Object.keys(one.terms).filter((name) => one.terms[name])))];
    legend("terms", names.map((name, place) => [tint(place), name.replaceAll("_", " ")]));
    page.tall(`terms-${task}`, 90 + 18 * own.length);
    return {
      traces: names.map((name) => ({
        type: "bar", orientation: "h", y: own.map((one) => plain(one.plan)), x: own.map((one) => one.terms[name] ?? 0), name: plain(name.replaceAll("_", " ")),
        marker: { color: tint(names.indexOf(name)), line: { width: 1, color: page.css("--card") } }, hovertemplate: `%{x:.4g}<extra>${plain(name)}</extra>`,
      })),
      layout: { barmode: "relative", bargap: own.length < 4 ? 0.6 : 0.2, xaxis: { title: own.every((one) => one.model.startsWith("calibrated")) ? "predicted loss, by cause" : `bound, by cause (${plain([...new Set(own.map((one) => one.model))].join(", "))})` }, yaxis: { autorange: "reversed", ...(own.length <= 24 ? { dtick: 1, tickfont: { size: 10 } } : {}) } },
    };
  });
  ofTasks("prediction", (task) => {
    const seen = new Set();
    let of = "loss";
    const traces = [];
    for (const one of data.predictions) {
      if (one.task !== task || !shown("schemes", one.scheme) || seen.has(one.scheme)) continue;
      seen.add(one.scheme);
      const { colour, symbol } = series(one.scheme);
      const name = plain(data.schemes[one.scheme]);
      of = one.of;
      if (one.low) traces.push({ x: [...one.aggregation, ...one.aggregation.toReversed()], y: [...one.high, ...one.low.toReversed()], fill: "toself", mode: "lines", line: { width: 0 }, fillcolor: faint(colour, 0.15), hoverinfo: "skip", showlegend: false });
      traces.push({ x: one.aggregation, y: one.reached, name: `${name}, reached`, mode: "lines+markers", marker: { symbol, color: colour }, line: { color: colour, width: 2 }, hovertemplate: `%{y:.3f} reached<extra>${name}</extra>` });
      traces.push({ x: one.aggregation, y: one.predicted, name: `${name}, predicted`, mode: "lines", line: { color: colour, width: 2, dash: "dash" }, hovertemplate: `%{y:.3f} predicted<extra>${name}</extra>` });
    }
    return { traces, layout: { xaxis: { title: "aggregations" }, yaxis: { title: `test ${of}` } } };
  });

  // -- drift ----------------------------------------------------------------------------------------------------
  ofTasks("drift", (task) => {
    const traces = [];
    const own = data.samples.find((one) => one.task === task && one.unit === unit());
    const { scheme, seed } = data.units[unit()];
    const curve = data.curves.find((one) => one.task === task && one.scheme === scheme);
    const [held, lossy] = [tint(0), tint(1)];
    legend("drift", [[held, "samples"], [lossy, "test loss"]]);
    if (own) {
      traces.push({ x: [...own.time_s, ...own.time_s.toReversed()], y: [...own.high, ...own.low.toReversed()], fill: "toself", mode: "lines", line: { width: 0 }, fillcolor: faint(held, 0.18), hoverinfo: "skip", showlegend: false });
      traces.push({ x: own.time_s, y: own.mean, mode: "markers", marker: { color: held, size: 6 }, name: "samples", hovertemplate: "%{y:.4g} samples at %{x:.4g} s<extra></extra>" });
    }
    const tests = curve?.seeds[seed];
    if (tests) traces.push({ x: tests.time_s, y: tests.loss, yaxis: "y2", mode: "lines+markers", line: { color: lossy, width: 2 }, marker: { symbol: "square", size: 6 }, name: "test loss", hovertemplate: "loss %{y:.3f} at %{x:.4g} s<extra></extra>" });
    return {
      traces,
      layout: {
        xaxis: { title: data.clock }, yaxis: { title: "samples of a device", rangemode: "tozero" },
        yaxis2: { title: "test loss", overlaying: "y", side: "right", showgrid: false, rangemode: "tozero", tickmode: "auto", nticks: 6 },
      },
    };
  });

  // -- map ------------------------------------------------------------------------------------------------------
  /* Beside each mark a place for its name that covers no other name or mark; none where there is none. [px] */
  const namePlaces = (x, y, names) => {
    const PLACES = [["top center", 0, -1], ["bottom center", 0, 1], ["middle right", 1, 0], ["middle left", -1, 0], ["top right", 1, -1], ["top left", -1, -1], ["bottom right", 1, 1], ["bottom left", -1, 1]];
    const [radius, high] = [10, 16];
    const taken = x.map((_, i) => [x[i] - radius, y[i] - radius, x[i] + radius, y[i] + radius]);
    const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    return names.map((name, i) => {
      const wide = 9 * name.length + 4;
      for (const [place, right, down] of PLACES) {
        const [cx, cy] = [x[i] + right * (radius + wide / 2), y[i] + down * (radius + high / 2)];
        const box = [cx - wide / 2, cy - high / 2, cx + wide / 2, cy + high / 2];
        if (taken.some((other, k) => k !== i && meet(box, other))) continue;
        taken.push(box);
        return place;
      }
      return null;
    });
  };
  page.plot("map", () => {
    const place = data.places[+(state.place ?? 0)] ?? data.places[0];
    const rate = place[`${state.channel ?? "uplink"}_Mbit_s`];
    const rings = [0.25, 0.5, 0.75, 1].map((share) => share * place.radius_m);
    const circle = (radius) => ({ type: "circle", x0: -radius, x1: radius, y0: -radius, y1: radius, line: { color: page.css("--line"), width: 1 } });
    const paths = (place.paths ?? []).map(([x, y]) => ({ x, y, mode: "lines", line: { color: faint("#888888", 0.5), width: 1 }, hoverinfo: "skip" }));
    const few = place.id.length <= 60;
    const host_ = document.getElementById("plot-map");
    const reach = 1.12 * place.radius_m;
    const scale = Math.max(40, Math.min(host_.offsetWidth - 150, host_.offsetHeight - 60)) / (2 * reach); // px per m
    const station = [[0, ...place.x_m], [0, ...place.y_m]].map((values, axis) => values.map((value) => (axis ? -value : value) * scale));
    const beside = few ? namePlaces(...station, ["", ...place.id]).slice(1) : [];
    return {
      traces: [
        ...paths,
        { x: place.x_m.flatMap((x) => [0, x, null]), y: place.y_m.flatMap((y) => [0, y, null]), mode: "lines", line: { color: page.css("--line"), width: 1, dash: "dot" }, hoverinfo: "skip", visible: few },
        {
          x: place.x_m, y: place.y_m, mode: few ? "markers+text" : "markers", text: place.id.map((id, i) => (beside[i] ? plain(id) : "")), textposition: beside.map((at) => at ?? "top center"), hovertext: place.id.map(plain),
          customdata: place.distance_m.map((distance, i) => [distance, place.uplink_Mbit_s[i], place.downlink_Mbit_s[i]]),
          marker: { size: few ? 15 : 8, color: rate, colorscale: [[0, "#d55e00"], [0.5, "#f0e442"], [1, "#009e73"]], line: { color: page.css("--ink"), width: 1 }, showscale: true, colorbar: { title: { text: "Mbit/s" }, thickness: 10, outlinewidth: 0 } },
          hovertemplate: "device %{hovertext}: %{customdata[0]:.4g} m<br>uplink %{customdata[1]:.4g} Mbit/s<br>downlink %{customdata[2]:.4g} Mbit/s<extra></extra>",
        },
        { x: [0], y: [0], mode: "markers", marker: { symbol: "star", size: 18, color: page.css("--ink") }, hovertemplate: "base station<extra></extra>" },
      ],
      layout: { shapes: rings.map(circle), xaxis: { title: "m", zeroline: false, showgrid: false, range: [-reach, reach] }, yaxis: { title: "m", range: [-reach, reach], scaleanchor: "x", zeroline: false, showgrid: false } },
    };
  });

  page.onRedraw(against);
  page.onRedraw(showTimeline);
  page.onRedraw(() => bars?.drawSoon());
};
