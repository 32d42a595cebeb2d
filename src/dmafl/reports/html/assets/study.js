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
