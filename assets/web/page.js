// The page of railbench: messages come in, and what is drawn follows from them alone, so
// that whoever joins late sees what the others see. Texts are set as text, never as HTML:
// they come from nodes.
"use strict";

const token = location.hash.slice(1);
const at = (path) => token ? path + "?token=" + encodeURIComponent(token) : path;
const byID = (id) => document.getElementById(id);
const make = (tag, props = {}, ...inner) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...inner);
  return e;
};
const svg = (tag, attrs = {}, ...inner) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  e.append(...inner);
  return e;
};
// figure writes a rate in Gb/s; one below 1 with two decimals, as a soft rail's is.
const figure = (v) => v < 0.005 ? "0.0" : v.toFixed(v < 0.995 ? 2 : 1);
const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// state is the fold of the messages.
const state = { rig: {}, fleet: { rows: [] }, places: [], dials: [], board: [], hosts: [], history: [], cells: new Map(), now: {} };
const historyLen = 240;

const fold = {
  snapshot(v) {
    Object.assign(state, { rig: v.rig, fleet: v.fleet || { rows: [] }, places: v.places || [], dials: v.dials || [], board: v.board || [], hosts: v.hosts || [], history: v.history || [], now: v.now });
    state.cells = new Map(v.cells.map((c) => [c.id, c]));
    drawRig(); drawFleet(); drawDials(); drawBoard(); drawHosts(); drawHistory(); drawNow(); drawCells();
  },
  rig(v) { state.rig = v; drawRig(); drawDials(); },
  fleet(v) { state.fleet = v; drawFleet(); },
  places(v) { state.places = v; },
  dials(v) {
    const rails = (all) => JSON.stringify(all.map((d) => [d.node, d.dev]));
    if (rails(v) !== rails(state.dials)) state.history = [];
    state.dials = v;
    drawDials(); drawHistory();
  },
  board(v) { state.board = v; drawBoard(); },
  hosts(v) { state.hosts = v; drawHosts(); },
  point(v) { state.history.push(v); state.history.splice(0, state.history.length - historyLen); drawHistory(); },
  cell(v) {
    const before = state.cells.get(v.id);
    state.cells.set(v.id, v);
    drawCells();
    if (v.grade && (!before || before.running)) setText(byID("said"), `${v.grade}: ${v.title}. ${v.reason}`);
  },
  cleared(id) { state.cells.delete(id); drawCells(); },
  now(v) { state.now = v; drawNow(); },
};

// --- many nodes: which is slow, in which order they stand and when a strip stands in place of their rails is decided
// where the terminal's is, and told.
const perLine = 64, wide = 10, high = 26; // of the strip
const members = new Map(); // by name: { root, set }
const opened = new Set(); // the nodes whose dials are shown

function drawFleet() {
  const f = state.fleet;
  byID("fleet").hidden = !f.rows.length;
  setText(byID("told"), f.told ? `${f.told} (Gb/s on the wire; a full bar is ${f.scale})` : "");
  drawStrip(f);
  for (const r of f.rows) {
    if (!members.has(r.node)) members.set(r.node, member(r.node));
    members.get(r.node).set(r, f);
  }
  const order = f.rows.map((r) => r.node).join("\n");
  if (order !== drawFleet.order) {
    const on = document.activeElement;
    byID("members").replaceChildren(...f.rows.map((r) => members.get(r.node).root));
    if (byID("members").contains(on)) on.focus(); // it has moved, and stays where the keyboard is
    drawFleet.order = order;
  }
  if (!!f.rows.length !== drawFleet.many) {
    drawFleet.many = !!f.rows.length;
    placeNodes();
  }
}

// A member is a node's line: both directions with their figures, what is amiss in words, and each rail's share.
function member(node) {
  const way = (word) => {
    const rdma = svg("rect", { class: "rdma", height: 10 }), ip = svg("rect", { class: "ip", height: 10 }), sum = make("b");
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, rdma, ip);
    return {
      root: make("span", { className: "way" }, word, bar, sum),
      set([r, i], full) {
        const part = (v) => Math.max(0, Math.min(100, full ? 100 * v / full : 0));
        rdma.setAttribute("width", part(r));
        ip.setAttribute("x", part(r));
        ip.setAttribute("width", part(r + i) - part(r));
        setText(sum, figure(r + i));
      },
    };
  };
  const sent = way("sent "), received = way("received "), why = make("span", { className: "why" }), each = make("span", { className: "each" });
  const open = make("button", { type: "button", textContent: "Rails" });
  open.setAttribute("aria-label", "Rails of " + node);
  open.setAttribute("aria-expanded", opened.has(node));
  open.addEventListener("click", () => {
    opened.has(node) ? opened.delete(node) : opened.add(node);
    open.setAttribute("aria-expanded", opened.has(node));
    placeNodes();
  });
  return {
    root: make("li", {}, make("span", { className: "name", textContent: node }), sent.root, received.root, open, why, each),
    set(r, f) {
      sent.set(r.tx, f.full);
      received.set(r.rx, f.full);
      setText(why, r.why || "");
      setText(each, r.rails.map((x) => `${x.dev} ${x.why || figure(x.tx) + " sent, " + figure(x.rx) + " received"}`).join(" · "));
      open.hidden = !!f.sent; // its dials are not told
    },
  };
}

// The strip is a column a node, sent above its middle and received below: a height and not a colour tells how much,
// and a sign what is none.
function drawStrip(f) {
  const strip = byID("strip"), names = f.sent ? state.places : [];
  strip.hidden = !names.length;
  const key = names.join("\n");
  if (key !== drawStrip.key) {
    drawStrip.key = key;
    drawStrip.columns = names.map((name, i) => {
      const at = i % perLine * wide, bar = () => svg("rect", { x: at + 1, width: wide - 2 });
      const column = { name, tx: bar(), rx: bar(), title: svg("title"), sign: svg("text", { x: at + wide / 2, y: high / 2 + 3 }) };
      column.root = svg("g", {}, column.title, column.tx, column.rx, column.sign);
      return column;
    });
    const lines = [];
    for (let i = 0; i < names.length; i += perLine) {
      const part = drawStrip.columns.slice(i, i + perLine), said = `${i + 1} to ${i + part.length}: ${part[0].name} to ${part.at(-1).name}`;
      const middle = svg("line", { x1: 0, x2: perLine * wide, y1: high / 2, y2: high / 2 });
      const picture = svg("svg", { viewBox: `0 0 ${perLine * wide} ${high}`, role: "img" }, middle, ...part.map((c) => c.root));
      lines.push({ picture, said, part, root: make("figure", {}, picture, make("figcaption", { textContent: said })) });
    }
    drawStrip.lines = lines;
    strip.replaceChildren(make("p", { textContent: "Sent above and received below, a column a node in the rig file's order:" }), ...lines.map((l) => l.root));
  }
  const words = { "?": "not heard", x: "down", 0: "at rest" }, said = (c) => words[c] || `${c} of 8`;
  names.forEach((name, i) => {
    const c = drawStrip.columns[i], tx = f.sent[i], rx = f.received[i];
    if (c.now === tx + rx) return;
    c.now = tx + rx;
    const long = (v) => (Number(v) || 0) * (high / 2 - 1) / 8;
    c.tx.setAttribute("height", long(tx));
    c.tx.setAttribute("y", high / 2 - long(tx));
    c.rx.setAttribute("height", long(rx));
    c.rx.setAttribute("y", high / 2);
    setText(c.sign, tx === "?" ? "?" : tx === "x" ? "×" : "");
    setText(c.title, `${name}: sent ${said(tx)}, received ${said(rx)}`);
  });
  for (const l of names.length ? drawStrip.lines : []) {
    const amiss = l.part.filter((c) => c.sign.textContent).map((c) => c.title.textContent.replace(/: .*received/, "")).join(", ");
    const text = `${l.said}, a column a node${amiss ? "; " + amiss : ""}`;
    if (l.text !== text) l.picture.setAttribute("aria-label", l.text = text);
  }
}

// placeNodes shows the dials of all nodes where they are few, and of many those that were opened.
function placeNodes() {
  const many = state.fleet.rows.length > 0, shown = drawn.filter((n) => !many || opened.has(n.name));
  byID("gauges").replaceChildren(...shown.map((n) => n.root));
  if (!drawn.length && !many) byID("gauges").replaceChildren(make("p", { className: "note", textContent: "No counters yet." }));
}

// --- gauges: an arc from 8 to 4 o'clock; outside what is sent, inside what is received.
const sweep = 240, outer = 42, inner = 34;
const point = (r, part) => {
  const a = (150 + sweep * part) * Math.PI / 180;
  return [50 + r * Math.cos(a), 50 + r * Math.sin(a)];
};
const arcPath = (r) => {
  const [x0, y0] = point(r, 0), [x1, y1] = point(r, 1);
  return `M${x0} ${y0}A${r} ${r} 0 1 1 ${x1} ${y1}`;
};
const long = (r) => 2 * Math.PI * r * sweep / 360;

function arc(r, width, kind) {
  const e = svg("path", { d: arcPath(r), class: "arc " + kind, "stroke-width": width, "stroke-dasharray": `${long(r)} ${2 * long(r)}` });
  e.setAttribute("stroke-dashoffset", long(r));
  return { set(part) { e.setAttribute("stroke-dashoffset", long(r) * (1 - Math.max(0, Math.min(1, part)))); }, e };
}

// needs says how far a scale goes: to the link's rate, or, where nobody knows it, to what was seen.
const round = (v) => { const p = 10 ** Math.floor(Math.log10(Math.max(v, 1))); return [1, 2, 5, 10].map((m) => m * p).find((m) => m >= v); };

function dial(caption, name) {
  const parts = { ip: arc(outer, 7, "ip"), rdma: arc(outer, 7, "rdma"), rip: arc(inner, 4, "ip"), rrdma: arc(inner, 4, "rdma") };
  const mark = svg("line", { class: "mark" }), peak = svg("line", { class: "peak" });
  const big = svg("text", { x: 50, y: 49 }), sub = svg("text", { x: 50, y: 58, class: "small" }), wire = svg("text", { x: 50, y: 66, class: "small" }), foot = svg("text", { x: 50, y: 78, class: "small" });
  const picture = svg("svg", { viewBox: "4 4 92 78", "aria-hidden": "true" },
    svg("path", { d: arcPath(outer), class: "ground", "stroke-width": 7 }), svg("path", { d: arcPath(inner), class: "ground", "stroke-width": 4 }),
    parts.ip.e, parts.rdma.e, parts.rip.e, parts.rrdma.e, mark, peak, big, sub, wire, foot);
  const other = make("span", { className: "other" }), why = make("span", { className: "why" });
  const label = make("figcaption", {}, caption, make("br"), other, " ", why);
  const root = make("figure", { className: "dial" }, picture, label);
  root.setAttribute("role", "meter");
  root.setAttribute("aria-label", name + ", Gb/s on the wire");
  root.setAttribute("aria-valuemin", "0");
  const place = (line, part) => {
    const [x0, y0] = point(outer - 5, part), [x1, y1] = point(outer + 5, part);
    for (const [k, v] of Object.entries({ x1: x0, y1: y0, x2: x1, y2: y1 })) line.setAttribute(k, v);
  };
  return {
    root,
    set({ values, scale, top: given, ceiling, stale, down }) {
      const [tr, ti, rr, ri, peakTx, , payTx, payRx] = values;
      // Both ways as: what programs see, where that is known, and what is on the wire.
      const ways = [{ word: "sent", wire: tr + ti, payload: payTx }, { word: "received", wire: rr + ri, payload: payRx }];
      const [most, least] = ways[1].wire > ways[0].wire ? [ways[1], ways[0]] : ways;
      const top = given || scale || round(Math.max(peakTx, tr + ti, rr + ri, 10));
      parts.rdma.set(tr / top); parts.ip.set((tr + ti) / top);
      parts.rrdma.set(rr / top); parts.rip.set((rr + ri) / top);
      mark.style.display = ceiling && ceiling < top ? "" : "none"; // a faster PCIe link limits nothing
      if (ceiling) place(mark, Math.min(1, ceiling / top));
      peak.style.display = peakTx > 0 ? "" : "none";
      if (peakTx > 0) place(peak, Math.min(1, peakTx / top));
      const known = most.payload >= 0;
      setText(big, figure(known ? most.payload : most.wire));
      setText(sub, known ? `payload ${most.word}` : `${most.word}, on the wire`);
      setText(wire, known ? `${figure(most.wire)} on the wire` : "payload unknown");
      const said = (w) => `${figure(w.wire)} on the wire${w.payload >= 0 ? `, ${figure(w.payload)} payload` : ""}`;
      setText(other, least.wire < 0.005 ? "" : `${least.word} ${figure(least.wire)} wire`);
      setText(foot, `0 to ${+top.toFixed(0)} Gb/s${scale ? "" : " (link unknown)"}`);
      setText(why, stale || (down ? "down" : ""));
      root.classList.toggle("stale", !!stale);
      root.classList.toggle("down", !!down);
      root.setAttribute("aria-valuenow", figure(most.wire));
      root.setAttribute("aria-valuemax", +top.toFixed(1));
      root.setAttribute("aria-valuetext", `${most.word} ${said(most)}; ${least.word} ${said(least)}${stale ? ", " + stale : ""}`);
    },
  };
}

let drawn = []; // a node each: { name, rails: [index], total, dials, lines }

function drawDials() {
  const nodes = [...new Set(state.dials.map((d) => d.node))];
  const key = JSON.stringify(state.dials.map((d) => [d.node, d.dev, d.netdev, d.link]));
  if (key === drawDials.key) return drawBoard();
  drawDials.key = key;
  drawn = nodes.map((name) => {
    const rails = state.dials.flatMap((d, i) => d.node === name ? [i] : []);
    const total = dial("all rails", `${name}, all rails`);
    total.root.classList.add("total");
    const dials = rails.map((i) => dial(make("span", {}, state.dials[i].dev, ...(state.dials[i].netdev ? [make("br"), state.dials[i].netdev] : [])), `${name} ${state.dials[i].dev}`));
    const rdma = svg("path", { class: "rdma" }), ip = svg("path", { class: "ip" });
    const middle = svg("line", { x1: 0, x2: historyLen - 1, y1: 50, y2: 50 });
    const picture = svg("svg", { viewBox: `0 0 ${historyLen - 1} 100`, preserveAspectRatio: "none", role: "img" }, ip, rdma, middle);
    const host = make("span"), busy = svg("rect", { height: 10, width: 0 });
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, busy);
    const top = make("span"), foot = make("figcaption", {}, make("span", { textContent: "2 min ago" }), top, make("span", { textContent: "now" }));
    const root = make("section", { className: "node" },
      make("h2", { textContent: name }), make("p", { className: "host" }, bar, host),
      make("div", { className: "dials" }, ...(rails.length > 1 ? [total.root] : []), ...dials.map((d) => d.root)),
      make("figure", { className: "history" }, picture, foot));
    return { name, rails, total, dials, rdma, ip, top, picture, host, busy, root };
  });
  placeNodes();
  drawBoard(); drawHosts();
}

// drawHosts tells the nodes beside their rails, and above all what is an alarm: that is read aloud.
function drawHosts() {
  for (const n of drawn) {
    const h = state.hosts.find((x) => x.node === n.name) || {};
    setText(n.host, [h.cores ? `CPU ${h.busy.toFixed(1)} of ${h.cores} cores` : "CPU unknown", h.adapter ? `adapter ${h.adapter} °C` : "", h.gpu ? `GPU ${h.gpu} °C` : ""].filter((s) => s).join(" · "));
    n.busy.setAttribute("width", h.cores ? Math.min(100, 100 * h.busy / h.cores) : 0);
  }
  const all = state.hosts.flatMap((h) => h.alarms.map((a) => ({ node: h.node, ...a })));
  const key = JSON.stringify(all);
  if (key === drawHosts.key) return;
  drawHosts.key = key;
  byID("alarms").replaceChildren(...all.map((a) => make("li", { className: a.grade },
    make("span", { className: "grade", textContent: a.grade }), make("strong", { textContent: a.node + " " }), a.text)));
}

// waysOf are what all rails of a node sent and what they received, over the history: RDMA, and both.
const waysOf = (n) => [[0, 1], [2, 3]].map(([r, i]) => {
  const sum = (which) => state.history.map((p) => {
    const known = n.rails.map((k) => p[k]).filter((x) => x);
    return known.length ? known.reduce((s, x) => s + which.reduce((t, w) => t + x[w], 0), 0) : null;
  });
  return { rdma: sum([r]), both: sum([r, i]) };
});

function drawBoard() {
  for (const n of drawn) {
    const sum = [0, 0, 0, 0, 0, 0, 0, 0];
    const scale = (state.rig.nodes || []).find((x) => x.name === n.name)?.link || 0; // of its cables
    const stale = n.rails.map((i) => state.dials[i]?.stale || "");
    n.rails.forEach((i, k) => {
      const d = state.dials[i], v = state.board[i];
      if (!d || !v) return;
      n.dials[k].set({ values: v, scale: d.link, ceiling: d.ceiling, stale: d.stale, down: d.down });
      if (d.down || d.stale) return; // a rate of before is none of now
      v.forEach((x, j) => { sum[j] = j < 6 || x >= 0 && sum[j] >= 0 ? sum[j] + x : -1; });
    });
    sum[4] = 0; // peaks of different moments have no sum
    // One for the dial and the history: what fills one fills the other.
    n.full = scale || round(Math.max(10, sum[0] + sum[1], sum[2] + sum[3], ...waysOf(n).flatMap((w) => w.both)));
    n.total.set({ values: sum, scale, top: n.full, ceiling: 0, stale: stale.every((s) => s) ? stale[0] || "" : "", down: false });
  }
  if (drawn.some((n) => n.full !== n.history)) drawHistory();
}

// area is what lies between two curves, a part for each stretch in which both are known: above the
// middle, or where full is negative below it.
function area(low, high, first, full) {
  const y = (v) => (50 - 48 * v / full).toFixed(2);
  let path = "";
  for (let i = 0; i < high.length; i++) {
    if (high[i] === null) continue;
    let j = i;
    while (j + 1 < high.length && high[j + 1] !== null) j++;
    const there = [], back = [];
    for (let k = i; k <= j; k++) {
      there.push(`${first + k} ${y(high[k])}`);
      back.unshift(`${first + k} ${y(low[k])}`);
    }
    path += `M${there.join("L")}L${back.join("L")}Z`;
    i = j;
  }
  return path;
}

function drawHistory() {
  for (const n of drawn) {
    const ways = waysOf(n), first = historyLen - state.history.length, most = n.full, full = [most, -most];
    n.history = n.full; // its scale
    n.rdma.setAttribute("d", ways.map((w, i) => area(w.rdma.map(() => 0), w.rdma, first, full[i])).join(""));
    n.ip.setAttribute("d", ways.map((w, i) => area(w.rdma, w.both, first, full[i])).join(""));
    setText(n.top, `sent above, received below, 0 to ${+most.toFixed(0)} Gb/s on the wire`);
    const said = (w) => w.both.at(-1) == null ? "unknown" : `${figure(w.rdma.at(-1))} Gb/s of RDMA and ${figure(w.both.at(-1) - w.rdma.at(-1))} of IP`;
    n.picture.setAttribute("aria-label", `${n.name}, the last two minutes of all rails, now sent ${said(ways[0])}, received ${said(ways[1])}`);
  }
}

// --- what runs, and what it came to
function drawRig() {
  setText(byID("rig"), [state.rig.name, ...(state.rig.nodes || []).filter((n) => n.state === "disconnected").map((n) => n.name + ": no connection")].filter((s) => s).join(" · "));
  byID("simulated").hidden = !state.rig.simulated;
  setText(byID("version"), "railbench " + (state.rig.railbench || ""));
  document.title = `${state.rig.simulated ? "SIMULATED " : ""}${state.rig.name || ""} railbench`;
}

function drawNow() {
  const n = state.now;
  setText(byID("cell"), n.cell ? `${n.title} (${n.cell}), ${n.for} s${n.queue ? `, ${n.queue} more wait` : ""}` : "Nothing runs.");
  for (const [id, text] of [["command", n.command || ""], ["tail", (n.tail || []).join("\n")]]) {
    setText(byID(id), text);
    byID(id).hidden = !text;
  }
}

function verdict(tag, v) {
  const e = make(tag, { className: v.running ? "" : v.grade },
    make("span", { className: "grade", textContent: v.running ? "RUNNING" : v.grade }), make("strong", { textContent: v.title || v.id }),
    make("br"), v.running ? "" : v.reason + " ", make("small", { textContent: v.running ? "" : v.took }));
  if (v.evidence && v.evidence.length) {
    e.append(make("details", {}, make("summary", { textContent: "What it rests on" }), make("ul", {}, ...v.evidence.map((t) => make("li", { textContent: t })))));
  }
  return e;
}

const shown = new Map(); // by id: { text, e }, so that an opened evidence stays open

function drawCells() {
  const all = [...state.cells.values()].sort((a, b) => b.run - a.run || (a.id < b.id ? -1 : 1));
  const counts = new Map();
  for (const c of all) if (!c.running && c.grade) counts.set(c.grade, (counts.get(c.grade) || 0) + 1);
  setText(byID("counts"), all.length ? [...counts].map(([g, n]) => `${n} ${g}`).join(", ") : "Nothing has run yet.");
  for (const id of shown.keys()) if (!state.cells.has(id)) shown.delete(id);
  byID("list").replaceChildren(...all.map((c) => {
    const text = JSON.stringify(c), had = shown.get(c.id);
    if (!had || had.text !== text) shown.set(c.id, { text, e: verdict("li", c) });
    return shown.get(c.id).e;
  }));
}

// --- the notebook
const spans = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).map((s) =>
  s.startsWith("`") && s.length > 2 ? make("code", { textContent: s.slice(1, -1) }) :
  s.startsWith("**") && s.length > 4 ? make("strong", { textContent: s.slice(2, -2) }) :
  s.startsWith("*") && s.length > 2 ? make("em", { textContent: s.slice(1, -1) }) :
  s.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));

// A block of Markdown goes on while its lines are of its kind; what is none of these is a paragraph.
const ruleOfTable = /^\|[\s:|-]+\|\s*$/, item = /^([-*]|\d+\.) +/, begins = /^(\||```|>|#+ |([-*]|\d+\.) )/;

function prose(text) {
  const out = [], lines = text.split("\n");
  const taken = (goesOn) => {
    const block = [];
    while (lines.length && goesOn(lines[0], block)) block.push(lines.shift());
    return block;
  };
  while (lines.length) {
    const l = lines[0];
    if (!l.trim()) lines.shift();
    else if (l.startsWith("```")) {
      lines.shift();
      const code = taken((line) => !line.startsWith("```"));
      lines.shift();
      out.push(make("pre", { textContent: code.join("\n"), tabIndex: 0 }));
    } else if (l.startsWith("|") && ruleOfTable.test(lines[1] || "")) {
      const rows = taken((line) => line.startsWith("|")).map((r) => r.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, "|")));
      const row = (tag, cells) => make("tr", {}, ...cells.map((c) => make(tag, {}, ...spans(c))));
      out.push(make("div", { className: "scroll", tabIndex: 0 }, make("table", {},
        make("thead", {}, row("th", rows[0])), make("tbody", {}, ...rows.slice(2).map((r) => row("td", r))))));
    } else if (item.test(l)) {
      const items = [];
      for (const line of taken((line, block) => line.trim() && (!block.length || item.test(line) || !begins.test(line)))) {
        item.test(line) ? items.push(line.replace(item, "")) : items.push(items.pop() + " " + line.trim());
      }
      out.push(make(/^\d/.test(l) ? "ol" : "ul", {}, ...items.map((t) => make("li", {}, ...spans(t)))));
    } else if (l.startsWith(">")) {
      out.push(make("blockquote", {}, ...prose(taken((line) => line.startsWith(">")).map((line) => line.replace(/^> ?/, "")).join("\n"))));
    } else if (/^#+ /.test(l)) out.push(make("h4", {}, ...spans(lines.shift().replace(/^#+ +/, ""))));
    else out.push(make("p", {}, ...spans(taken((line, block) => line.trim() && (!block.length || !begins.test(line))).join(" "))));
  }
  return out;
}

function table(t) {
  const row = (tag, cells) => make("tr", {}, ...cells.map((c) => make(tag, { textContent: c })));
  return make("div", { className: "scroll", tabIndex: 0 }, make("table", {}, make("caption", { textContent: t.title }),
    make("thead", {}, row("th", t.columns || [])), make("tbody", {}, ...t.rows.map((r) => row("td", r)))), make("p", { textContent: t.note }));
}

function notebookCell(c) {
  const e = make("section", {}, make("h3", { textContent: c.title || c.id }), ...prose(c.prose), ...c.scripts.map((s) => make("pre", { textContent: s, tabIndex: 0 })));
  if (c.output.length) e.append(make("pre", { textContent: c.output.join("\n"), tabIndex: 0 }));
  if (c.run) {
    const v = verdict("div", c);
    v.classList.add("verdict");
    e.append(v);
  }
  e.append(...c.tables.map(table), ...prose(c.tail));
  return e;
}

async function openNotebook() {
  const box = byID("notebook");
  try {
    const answer = await fetch(at("notebook"));
    if (!answer.ok) throw new Error(await answer.text());
    const n = await answer.json();
    box.replaceChildren(...(n.simulated ? [make("p", { className: "note", textContent: "SIMULATED: nothing here was measured on hardware." })] : []),
      ...n.parts.flatMap((p) => [make("h2", { textContent: p.title }), ...prose(p.prose), ...p.cells.map(notebookCell)]));
  } catch (e) {
    box.replaceChildren(make("p", { className: "note", textContent: "The notebook can't be read: " + e.message }));
  }
}

byID("read").addEventListener("click", async () => {
  const open = byID("notebook").hidden;
  if (open) await openNotebook();
  byID("notebook").hidden = !open;
  byID("live").hidden = open;
  byID("read").setAttribute("aria-expanded", open);
  setText(byID("read"), open ? "Gauges" : "Notebook");
});
byID("big").addEventListener("click", () => {
  byID("big").setAttribute("aria-pressed", document.body.classList.toggle("big"));
});

// --- the stream. A browser comes back by itself and says what it has read last.
const stream = new EventSource(at("events"));
for (const name of Object.keys(fold)) {
  stream.addEventListener(name, (m) => {
    const v = JSON.parse(m.data);
    if (v !== null) fold[name](v);
  });
}
const link = (text, lost) => { setText(byID("link"), text); byID("link").classList.toggle("lost", lost); };
stream.addEventListener("open", () => link("live", false));
stream.addEventListener("error", () => link(stream.readyState === EventSource.CLOSED ?
  "refused: is this the whole address that railbench has printed?" : "connection lost, trying again", true));
