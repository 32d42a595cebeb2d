"use strict";
/* The plots of a study. Everything shown is in files beside the page too. */
page.draw = (data) => {
  const { state, shown, series, faint, plain } = page;
  const ofTasks = (name, build) => data.tasks.forEach((_, task) => page.plot(`${name}-${task}`, () => build(task)));
  // Colours of tasks come after those of schemes, those of variants after them.
  const ofTask = (task) => data.schemes.length + task;
  const ofVariant = (variant) => ofTask(data.tasks.length) + variant;
  const bandTraces = (band, name, place) => {
    if (!band) return [];
    const { colour, dash, symbol } = series(place);
    const traces = [];
    if (band.low.some((end) => end !== null))
      traces.push({
        x: [...band.x, ...band.x.toReversed()], y: [...band.high, ...band.low.toReversed()], fill: "toself", mode: "lines",
        fillcolor: faint(colour.length === 7 ? colour : "#888888", 0.15), line: { width: 0 }, hoverinfo: "skip", showlegend: false,
      });
    traces.push({
      x: band.x, y: band.mean, name: plain(name), mode: "lines+markers", line: { color: colour, dash, width: 2 },
      marker: { color: colour, symbol, size: 7, maxdisplayed: 12 }, hovertemplate: `%{y:.3f} at %{x:.4g}<extra>${plain(name)}</extra>`,
    });
    return traces;
  };
  const empty = (traces) =>
    traces.length ? {} : { annotations: [{ text: "not run", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }] };
  const legend = { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } } };

  /* Factors with their intervals, `at` the height of each; an interval without an end goes on to the edge, with an arrow. */
  const factors = (entries, reading, edges, size) => {
    const traces = [];
    for (const scheme of new Set(entries.map((one) => one.scheme))) {
      const { colour, symbol } = series(scheme);
      const own = entries.filter((one) => one.scheme === scheme && one[reading].mean !== null);
      const bounds = own.map((one) => (one[reading].low === null && one[reading].high === null ? null : [one[reading].low ?? edges[0], one[reading].high ?? edges[1]]));
      const name = plain(data.schemes[scheme]);
      traces.push({
        x: own.map((one) => one[reading].mean), y: own.map((one) => one.at), name, mode: "markers",
        marker: { color: colour, symbol: own.map((one) => symbol + (one.guessed ? "-open" : "")), size },
        error_x: {
          type: "data", symmetric: false, color: faint(colour, 0.55), thickness: 1.5, width: 0,
          array: own.map((one, place) => (bounds[place] ? bounds[place][1] - one[reading].mean : 0)),
          arrayminus: own.map((one, place) => (bounds[place] ? one[reading].mean - bounds[place][0] : 0)),
        },
        text: own.map((one) => `${plain(data.tasks[one.task])}, ${plain(data.partitions[one.partition])}<br>${one[reading].text}`),
        hovertemplate: `%{text}<extra>${name}</extra>`,
      });
      const open = own.filter((one, place) => bounds[place] && one[reading].high === null);
      if (open.length)
        traces.push({
          x: open.map(() => edges[1] / 1.04), cliponaxis: false, y: open.map((one) => one.at), mode: "markers", hoverinfo: "skip", showlegend: false,
          marker: { color: colour, symbol: "triangle-right", size: size + 1 },
        });
    }
    return traces;
  };
  /* From the least to the largest number that is shown, with room on both sides. */
  const edgesOf = (entries, reading) => {
    const ends = entries.flatMap((one) => [one[reading].mean, one[reading].low, one[reading].high]).filter((end) => end !== null);
    return [Math.min(0.7, ...ends) / 1.15, Math.max(2, ...ends) * 1.25];
  };
  /* Ticks at 1, 2 and 5 of every decade, or fewer where there is less room [px]. */
  const timesAxis = (title, edges, room) => {
    const decades = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
    const ticks = [[1, 2, 5], [1, 3], [1]]
      .map((steps) => decades.flatMap((decade) => steps.map((step) => +(step * decade).toPrecision(1))).filter((tick) => tick >= edges[0] && tick <= edges[1]))
      .find((some, place) => some.length * 30 <= room || place === 2);
    return { title, type: "log", range: edges.map(Math.log10), tickvals: ticks, ticktext: ticks.map((tick) => `${tick}×`), tickangle: 0, zeroline: false };
  };
  const roomOf = (name, beside) => document.getElementById(`plot-${name}`).offsetWidth - beside;
  const one = () => [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { width: 1.5, color: page.css("--quiet") } }];
  const legible = { size: 12, color: page.css("--ink") };

  page.plot("overview", () => {
    const own = data.ratios.filter((one_) => one_.target === "1" && !one_.guessed && shown("schemes", one_.scheme) && shown("tasks", one_.task));
    const rows = [...new Set(own.map((one_) => one_.scheme))].toSorted((a, b) => b - a);
    const places = data.tasks.length * data.partitions.length;
    const placed = own.map((one_) => ({ ...one_, at: rows.indexOf(one_.scheme) + 0.35 - (0.7 * (one_.task * data.partitions.length + one_.partition)) / (places - 1 || 1) }));
    const edges = edgesOf(placed, "raw");
    return {
      traces: factors(placed, "raw", edges, 7),
      layout: {
        xaxis: timesAxis("times the energy of dma-fl", edges, roomOf("overview", 120)), shapes: one(), ...empty(placed),
        yaxis: { tickvals: rows.map((_, place) => place), ticktext: rows.map((scheme) => plain(data.schemes[scheme])), range: [-0.6, rows.length - 0.4], showgrid: false, zeroline: false },
      },
    };
  });
  ofTasks("ratios", (task) => {
    const [target, reading] = [state.target ?? "1", state.reading ?? "raw"];
    const all = data.ratios.filter((one_) => one_.target === target && shown("schemes", one_.scheme));
    const own = all.filter((one_) => one_.task === task);
    const rows = [];
    const headings = [];
    data.partitions.forEach((name, partition) => {
      const here = own.filter((one_) => one_.partition === partition).toSorted((a, b) => a.scheme - b.scheme);
      if (!here.length) return;
      headings.push({ at: -rows.length, name });
      rows.push(null, ...here);
    });
    const placed = rows.flatMap((row, place) => (row ? [{ ...row, at: -place }] : []));
    const edges = edgesOf(all, reading);
    const beside = placed.map((row) => ({ text: row[reading].text.replace(/ \[.*/, "") + (row.guessed ? " †" : ""), xref: "paper", x: 1, xanchor: "left", xshift: 4, y: row.at, showarrow: false, font: { ...legible, color: page.css("--ink") } }));
    const above = headings.map(({ at, name }) => ({ text: `<b>${plain(name)}</b>`, xref: "paper", x: 0, xanchor: "left", y: at, showarrow: false, font: { ...legible, color: page.css("--quiet") } }));
    return {
      traces: factors(placed, reading, edges, 8),
      layout: {
        xaxis: timesAxis(`times the ${reading === "time" ? "time" : "energy"} of dma-fl`, edges, roomOf(`ratios-${task}`, 170)), shapes: one(), margin: { l: 8, r: 56, t: 8, b: 8 },
        yaxis: { tickvals: placed.map((row) => row.at), ticktext: placed.map((row) => plain(data.schemes[row.scheme])), range: [0.6 - rows.length, 0.6], showgrid: false, zeroline: false },
        ...(placed.length ? { annotations: [...beside, ...above] } : empty([])),
      },
    };
  });
  ofTasks("curves", (task) => {
    const partition = +(state.partition ?? 0);
    const axis = state.axis ?? "aggregation";
    const own = data.curves.filter((one) => one.partition === partition && one.task === task && shown("schemes", one.scheme));
    const traces = own.flatMap((one) => bandTraces(one[axis], data.schemes[one.scheme], one.scheme));
    const lines = axis === "energy" ? data.targets[partition][task] : [];
    const shapes = lines.map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { dash: "dot", width: 1, color: page.css("--quiet") } }));
    const x = axis === "energy" ? { title: "energy [J]", type: "log" } : { title: "aggregations" };
    return { traces, layout: { xaxis: x, yaxis: { title: "test accuracy" }, shapes, ...empty(traces) } };
  });
  const shares = (raised) => {
    const own = data.shares.filter((one) => one.raised === raised);
    const traces = own.flatMap((one) => bandTraces(one.band, data.tasks[one.task], ofTask(one.task)));
    return { traces, layout: { xaxis: { title: `importance of ${plain(data.tasks[raised])}`, type: "log" }, yaxis: { title: "share of SGD steps [%]", rangemode: "tozero" }, ...legend, ...empty(traces) } };
  };
  ofTasks("importance", (task) => {
    const quantity = state.importance ?? "accuracy";
    if (quantity === "share") return shares(task);
    const own = data.importances.filter((one) => one.task === task);
    const traces = own.flatMap((one, place) => bandTraces(one[quantity], `importance ${one.importance}`, place));
    const title = quantity === "accuracy" ? "test accuracy" : "energy so far [J]";
    return { traces, layout: { xaxis: { title: "aggregations" }, yaxis: { title }, ...legend, ...empty(traces) } };
  });
  ofTasks("drift", (raised) => {
    const quantity = state.drift ?? "active drift";
    const own = data.drifts.filter((one) => one.raised === raised && one.quantity === quantity);
    const traces = own.flatMap((one) => bandTraces(one.band, data.tasks[one.task], ofTask(one.task)));
    const ticks = own.length ? own[0].ticks : [];
    return {
      traces,
      layout: {
        xaxis: { title: `${quantity} of ${plain(data.tasks[raised])} [1/s]`, tickvals: ticks.map((_, place) => place), ticktext: ticks },
        yaxis: { title: "time, relative to no drift", type: "log" }, ...legend, ...empty(traces),
      },
    };
  });
  ofTasks("ablation", (task) => {
    const own = data.ablation.filter((one) => one.task === task);
    const traces = own.flatMap((one) => bandTraces(one.band, data.variants[one.variant], ofVariant(one.variant)));
    return { traces, layout: { xaxis: { title: "energy [J]", type: "log" }, yaxis: { title: "test accuracy" }, ...legend, ...empty(traces) } };
  });
};
