"use strict";
/* The timeline of one scheme run on a canvas: one lane per device and task, one bar per phase. Only what is in view is
   drawn, and bars narrower than a pixel are drawn once per pixel, so thousands of jobs cost a few milliseconds. */
const timeline = (() => {
  const LANE = 13;
  const GAP = 5;
  const AWAY = 6; // of the lane that shows when a device is away, where any is
  const AXIS = 26;
  const BEYOND = 1.05; // of the time until a device left or returned for the last time
  const NOTHING_S = 1; // that the axis shows where nothing happened
  const PHASES = ["idle", "download", "wait", "compute", "upload"];

  const open = (host, { tasks, phases, outcomes, describe, say, tip }) => {
    const canvas = host.querySelector("canvas");
    const inside = host.querySelector(".timeline-inside");
    const pen = canvas.getContext("2d");
    let devices = []; // names
    let absences = null; // of each device [left, returned], by time; null where nobody was away
    let jobs = null; // columns
    let lanes = []; // of each lane its jobs, by start
    let spans = []; // of each task its first start and last end
    let view = [0, 1];
    let whole = [0, 1];
    let shownTasks = tasks.map((_, place) => place);
    let cursor = null; // [lane, place in it]
    let width = 0;
    let height = 0;
    let asked = false;
    const times = [];

    const gutter = () => (width > 700 ? 128 : 46);
    const group = () => shownTasks.length * LANE + (absences ? AWAY : 0) + GAP;
    const laneOf = (device, task) => device * tasks.length + task;
    const end = (job) => jobs.start_s[job] + jobs.download_s[job] + jobs.wait_s[job] + jobs.compute_s[job] + jobs.upload_s[job];
    const begin = (job) => jobs.start_s[job] - jobs.idle_s[job];
    const x = (time) => gutter() + ((time - view[0]) / (view[1] - view[0])) * (width - gutter());
    const time = (at) => view[0] + ((at - gutter()) / (width - gutter())) * (view[1] - view[0]);

    const load = (columns) => {
      jobs = columns;
      lanes = Array.from({ length: devices.length * tasks.length }, () => []);
      spans = tasks.map(() => [Infinity, 0]);
      for (let job = 0; job < jobs.start_s.length; job++) {
        lanes[laneOf(jobs.device[job], jobs.task[job])].push(job);
        const span = spans[jobs.task[job]];
        span[0] = Math.min(span[0], begin(job));
        span[1] = Math.max(span[1], end(job));
      }
      for (const lane of lanes) lane.sort((a, b) => jobs.start_s[a] - jobs.start_s[b]);
      const known = Math.max(0, ...spans.map((span) => span[1]));
      const changed = (absences ?? []).flat().reduce((last, [from, to]) => Math.max(last, isFinite(to) ? to : from), 0);
      whole = [0, Math.max(known, changed * BEYOND) || NOTHING_S]; // so that an absence at the end is seen
      view = [...whole];
      cursor = null;
      tip.hidden = true;
      resize();
    };
    const resize = () => {
      if (!jobs) return;
      width = host.clientWidth;
      const content = AXIS + devices.length * group();
      height = Math.min(content, Math.max(160, parseFloat(getComputedStyle(host).maxHeight) || 544) - 2);
      inside.style.height = `${content}px`;
      const scale = devicePixelRatio || 1;
      canvas.width = Math.max(1, Math.round(width * scale));
      canvas.height = Math.max(1, Math.round(height * scale));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      drawSoon();
    };
    const drawSoon = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    };
    /* First job of a lane that may reach into view; jobs of a lane do not overlap. */
    const firstIn = (lane, from) => {
      let low = 0;
      let high = lane.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (end(lane[middle]) < from) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const draw = () => {
      const before = performance.now();
      const ink = page.css("--ink");
      const quiet = page.css("--quiet");
      const line = page.css("--line");
      const colours = { ...phases, wait: page.css("--quiet"), idle: line };
      pen.clearRect(0, 0, width, height);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      const top = host.scrollTop;
      const left = gutter();
      const right = width;
      const perSecond = (width - left) / (view[1] - view[0]);
      const marks = ticks();
      pen.fillStyle = line;
      for (const [at] of marks) pen.fillRect(at, AXIS - 8, 1, height); // under the bars, so as not to cut them
      for (let device = 0; device < devices.length; device++) {
        const y = AXIS + device * group() - top;
        if (y > height || y + group() < AXIS) continue;
        pen.fillStyle = line;
        pen.fillRect(0, y - Math.ceil(GAP / 2), width, 1);
        pen.fillStyle = ink;
        pen.textAlign = "left";
        pen.fillText(clip(devices[device], 42), 6, y + (shownTasks.length * LANE) / 2);
        for (let place = 0; place < shownTasks.length; place++) {
          const task = shownTasks[place];
          const laneTop = y + place * LANE;
          if (left > 100) {
            pen.fillStyle = quiet;
            pen.textAlign = "right";
            pen.font = "10px system-ui, sans-serif";
            pen.fillText(clip(tasks[task], 76), left - 6, laneTop + LANE / 2);
            pen.font = "12px system-ui, sans-serif";
          }
          const lane = lanes[laneOf(device, task)];
          const filled = { idle: -1, download: -1, wait: -1, compute: -1, upload: -1 };
          for (let k = firstIn(lane, view[0]); k < lane.length; k++) {
            const job = lane[k];
            let at = begin(job);
            if (at > view[1]) break;
            const failed = jobs.slot[job] < 0;
            for (const phase of PHASES) {
              const length = jobs[`${phase}_s`][job];
              if (length > 0) {
                let a = left + (at - view[0]) * perSecond;
                let b = a + length * perSecond;
                if (b > left && a < right) {
                  a = Math.max(a, left);
                  b = Math.min(b, right);
                  const pixel = b - a < 1 ? Math.floor(a) : -1;
                  if (pixel < 0 || pixel > filled[phase]) {
                    const thin = phase === "idle" || phase === "wait";
                    pen.fillStyle = colours[phase];
                    pen.globalAlpha = failed ? 0.45 : 1;
                    pen.fillRect(a, laneTop + (thin ? 4 : 1), Math.max(b - a, 0.7), LANE - (thin ? 9 : 2));
                    if (pixel >= 0) filled[phase] = pixel;
                  }
                }
                at += length;
              }
            }
          }
          pen.globalAlpha = 1;
        }
        if (absences) {
          pen.fillStyle = ink;
          let filled = -1;
          for (const [from, to] of absences[device]) {
            if (from > view[1]) break;
            if (to < view[0]) continue;
            const a = Math.max(left + (from - view[0]) * perSecond, left);
            const b = Math.min(left + (to - view[0]) * perSecond, right);
            const pixel = b - a < 1 ? Math.floor(a) : -1;
            if (pixel >= 0 && pixel <= filled) continue;
            pen.fillRect(a, y + shownTasks.length * LANE + 1, Math.max(b - a, 0.7), AWAY - 3);
            filled = Math.max(filled, pixel);
          }
        }
      }
      if (cursor) outline(lanes[cursor[0]][cursor[1]], ink, top);
      ruler(ink, marks);
      times.push(performance.now() - before);
      if (times.length > 200) times.shift();
    };
    const outline = (job, ink, top) => {
      const place = shownTasks.indexOf(jobs.task[job]);
      if (job === undefined || place < 0) return;
      const y = AXIS + jobs.device[job] * group() + place * LANE - top;
      const a = Math.max(gutter(), x(jobs.start_s[job]));
      const b = Math.min(width, x(end(job)));
      if (b < gutter()) return;
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.strokeRect(a - 1, y, Math.max(b - a, 1) + 2, LANE);
    };
    /* Place and text of each mark of the time axis. */
    const ticks = () => {
      const wanted = Math.max(4, Math.floor((width - gutter()) / 110)); // so that one of them has room for its text
      const rough = (view[1] - view[0]) / wanted;
      const size = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough);
      const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step))));
      const first = Math.ceil(view[0] / step);
      const count = Math.floor(view[1] / step) - first + 1;
      return Array.from({ length: Math.max(0, count) }, (_, k) => [x((first + k) * step), `${((first + k) * step).toFixed(digits)} s`]);
    };
    const ruler = (ink, marks) => {
      pen.fillStyle = page.css("--card");
      pen.fillRect(0, 0, width, AXIS - 8);
      pen.fillStyle = ink;
      pen.textAlign = "left";
      pen.fillText("device", 6, 9);
      pen.textAlign = "center";
      for (const [at, text] of marks) if (at > gutter() + 14 && at < width - 24) pen.fillText(text, at, 9);
    };
    const clip = (text, room) => {
      if (pen.measureText(text).width <= room) return text;
      let kept = text.length;
      while (kept > 1 && pen.measureText(`${text.slice(0, kept)}…`).width > room) kept--;
      return `${text.slice(0, kept)}…`;
    };

    // -- moving -----------------------------------------------------------------------------------------------
    const look = (from, to) => {
      const least = whole[1] * 1e-7;
      const length = Math.min(Math.max(to - from, least), whole[1]);
      const start = Math.min(Math.max(from, 0), whole[1] - length);
      view = [start, start + length];
      drawSoon();
    };
    const zoom = (factor, at = (view[0] + view[1]) / 2) => look(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
    const move = (share) => look(view[0] + share * (view[1] - view[0]), view[1] + share * (view[1] - view[0]));
    const fit = (task) => (task === undefined || !(spans[task][1] > 0) ? look(...whole) : look(0, spans[task][1]));

    // -- pointing ---------------------------------------------------------------------------------------------
    const find = (px, py) => {
      const y = py - AXIS + host.scrollTop;
      const device = Math.floor(y / group());
      const place = Math.floor((y - device * group()) / LANE);
      if (!jobs || px < gutter() || py < AXIS || device < 0 || device >= devices.length || place >= shownTasks.length) return null;
      const number = laneOf(device, shownTasks[place]);
      const lane = lanes[number];
      const slack = (2 / (width - gutter())) * (view[1] - view[0]);
      const k = firstIn(lane, time(px) - slack);
      return k < lane.length && begin(lane[k]) <= time(px) + slack ? [number, k] : null;
    };
    const show = (found, px, py) => {
      cursor = found;
      if (!found) {
        tip.hidden = true;
        drawSoon();
        return;
      }
      const job = lanes[found[0]][found[1]];
      tip.replaceChildren(...describe(jobs, job));
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(px + 14, innerWidth - box.width - 6))}px`;
      tip.style.top = `${Math.max(4, py + 18 + box.height > innerHeight ? py - box.height - 12 : py + 18)}px`;
      drawSoon();
    };
    let held = null;
    const pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.clientX);
      held = { at: event.clientX, view: [...view] };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      if (pointers.size === 2 && pointers.has(event.pointerId)) {
        const [one, two] = [...pointers.values()];
        pointers.set(event.pointerId, event.clientX);
        const [a, b] = [...pointers.values()];
        zoom(Math.max(1, Math.abs(one - two)) / Math.max(1, Math.abs(a - b)), time((a + b) / 2 - box.left));
      } else if (held && pointers.size === 1) {
        const by = ((held.at - event.clientX) / (width - gutter())) * (held.view[1] - held.view[0]);
        if (Math.abs(event.clientX - held.at) > 3) look(held.view[0] + by, held.view[1] + by);
      } else show(find(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
    });
    const release = (event) => {
      pointers.delete(event.pointerId);
      held = null;
    };
    canvas.addEventListener("pointerup", (event) => {
      const box = canvas.getBoundingClientRect();
      if (held && Math.abs(event.clientX - held.at) <= 3)
        show(find(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
      release(event);
    });
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => show(null));
    canvas.addEventListener("dblclick", (event) => zoom(0.4, time(event.clientX - canvas.getBoundingClientRect().left)));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        zoom(Math.exp(event.deltaY * 0.002), time(event.clientX - canvas.getBoundingClientRect().left));
      },
      { passive: false },
    );
    host.addEventListener("scroll", drawSoon, { passive: true });

    // -- keys -------------------------------------------------------------------------------------------------
    const choose = (lane, place) => {
      if (!lanes[lane] || !lanes[lane].length) return;
      cursor = [lane, Math.min(Math.max(place, 0), lanes[lane].length - 1)];
      const job = lanes[lane][cursor[1]];
      if (begin(job) < view[0] || end(job) > view[1]) {
        const length = Math.max(view[1] - view[0], 1.2 * (end(job) - begin(job)));
        look(begin(job) - 0.1 * length, begin(job) + 0.9 * length);
      }
      const y = AXIS + jobs.device[job] * group();
      if (y - host.scrollTop < AXIS || y + group() - host.scrollTop > height) host.scrollTop = y - height / 2;
      say(describe(jobs, job).map((part) => part.textContent).join(" "));
      drawSoon();
    };
    const nextLane = (way) => {
      let lane = cursor ? cursor[0] : way > 0 ? -1 : lanes.length;
      for (lane += way; lane >= 0 && lane < lanes.length; lane += way)
        if (lanes[lane].length && shownTasks.includes(lane % tasks.length)) return lane;
      return cursor ? cursor[0] : -1;
    };
    host.addEventListener("keydown", (event) => {
      if (!jobs || event.ctrlKey || event.metaKey || event.altKey) return;
      const keys = {
        ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6),
        "-": () => zoom(1 / 0.6), 0: () => fit(),
        ArrowDown: () => { const lane = nextLane(1); choose(lane, lanes[lane] ? firstIn(lanes[lane], view[0]) : 0); },
        ArrowUp: () => { const lane = nextLane(-1); choose(lane, lanes[lane] ? firstIn(lanes[lane], view[0]) : 0); },
        ".": () => (cursor ? choose(cursor[0], cursor[1] + 1) : choose(nextLane(1), 0)),
        ",": () => (cursor ? choose(cursor[0], cursor[1] - 1) : choose(nextLane(1), 0)),
        Escape: () => show(null),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    new ResizeObserver(resize).observe(host);
    return {
      devices(names, away) {
        devices = names;
        absences = away ? names.map(() => []) : null;
        for (let k = 0; away && k < away.device.length; k++)
          absences[away.device[k]].push([away.left_s[k], away.joined_s[k] ?? Infinity]);
      },
      load, zoom, move, fit, find, draw, drawSoon, times,
      get view() { return [...view]; },
      get absences() { return absences; },
      get count() { return jobs ? jobs.start_s.length : 0; },
      showTasks(list) {
        shownTasks = list.length ? list : tasks.map((_, place) => place);
        resize();
      },
    };
  };

  /* Jobs of a scheme run, as the page carries them: base64 of gzipped JSON. */
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  };
  /* Columns of no job. */
  const nothing = () => Object.fromEntries(["start_s", "device", "task"].map((name) => [name, []]));
  return { open, unpack, nothing };
})();
