// The drawing of a case: for each KV cache group tokens from left to right, steps from top to bottom.

const TRACKS = [
  ["needed", "needed for the hit"],
  ["verified", "to be there before the hit is told"],
  ["stored", "stored"],
  ["in_flight", "in flight"],
  ["loaded", "loaded"],
  ["missing", "missing"],
];
const LATER = -1;
const ROW = 13;
const BAR = 9;
const NEAR = 7;

/** What a kind of event is drawn as, and what it is called beside its bar. */
const EVENTS = {
  computed: ["computed", "computes"],
  drafted: ["drafted", "drafts"],
  answered: ["answered", "is told"],
  admitted: ["admitted", "gets room"],
  "store copied": ["store", "store"],
  "load copied": ["load", "load"],
  "store copyfailed": ["failed", "store fails"],
  "load copyfailed": ["failed", "load fails"],
  loaded: ["wrong", "wrong load"],
  read: ["wrong", "wrong read"],
  loadfailed: ["wrong", "wrong load"],
};

function verdictInWords(tokens) {
  if (tokens === null) return "unknown";
  if (tokens === LATER) return "later";
  return tokens ? `a hit of ${number(tokens)} tokens` : "a miss";
}

function spansInWords(spans) {
  return spans.map(([start, end]) => `${number(start)}–${number(end)}`).join(", ") || "none";
}

/** The figure with its controls; null where nothing has a place among the tokens. */
function caseFigure(scene) {
  const ends = scene.moments.flatMap((moment) => moment[4].map((span) => span[2]));
  const sizes = scene.pictures.flatMap((picture) => [
    picture.num_tokens, picture.boundary,
    ...picture.tracks.flatMap((track) => TRACKS.flatMap(([name]) => track[name].map((span) => span[1]))),
  ]);
  const whole = Math.max(0, ...ends, ...sizes);
  if (!whole) return null;
  const requests = [...new Set(scene.moments.filter((moment) => moment[2] && moment[4].length).map((moment) => moment[2]))];
  const view = { scene, whole, picture: scene.pictures[0] || null, request: "", all: false };
  const figure = make("figure", { class: "drawing" });
  const canvas = make("div", { class: "canvas", tabindex: "0", role: "group" });
  const caption = make("figcaption");
  const numbers = make("details", { class: "numbers" });
  const redraw = () => {
    const width = Math.max(300, Math.round(canvas.clientWidth || 900));
    canvas.replaceChildren(drawing(view, width));
  };
  const choosePicture = () => {
    [view.from, view.to] = focusOf(view);
    caption.replaceChildren(...captionOf(view));
    numbers.hidden = !view.picture;
    numbers.replaceChildren(make("summary", null, "The lookup in numbers"), view.picture ? numbersOf(view) : "");
    canvas.setAttribute("aria-label", "Tokens from left to right, steps from top to bottom. Plus and minus zoom, left and right move, 0 shows all, f what matters.");
    redraw();
  };
  const actions = {
    "+": () => zoom(view, 0.5), "-": () => zoom(view, 2), "0": () => ([view.from, view.to] = [0, whole]),
    f: () => ([view.from, view.to] = focusOf(view)),
    ArrowLeft: () => pan(view, -0.25), ArrowRight: () => pan(view, 0.25),
  };
  actions["="] = actions["+"];
  canvas.addEventListener("keydown", (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
    redraw();
  });
  const button = (key, sign, label) => make("button", { type: "button", "aria-label": label, title: `${label} (${key})`,
    onclick: () => { actions[key](); redraw(); } }, sign);
  const all = make("input", { type: "checkbox", onchange: (event) => { view.all = event.target.checked; redraw(); } });
  const select = (label, options, change) => options.length < 2 ? null : make("label", null, `${label} `,
    make("select", { onchange: (event) => change(event.target.selectedIndex) }, options.map((text) => make("option", null, text))));
  figure.append(
    make("div", { class: "row controls" },
      select("Lookup", scene.pictures.map((one, at) => `${at + 1}: ${one.request} at step ${scene.moments[one.answer]?.[0] ?? "?"}`),
        (at) => { view.picture = scene.pictures[at]; choosePicture(); }),
      select("Request", requests.length > 1 ? ["all", ...requests] : [], (at) => { view.request = at ? requests[at - 1] : ""; redraw(); }),
      make("label", { class: "tick" }, all, " all steps"),
      make("span", { class: "spring" }),
      make("span", { class: "buttons" }, button("-", "−", "Wider"), button("+", "+", "Closer"), button("ArrowLeft", "←", "Left"),
        button("ArrowRight", "→", "Right"), button("f", "focus", "What matters"), button("0", "all", "All tokens"))),
    caption, canvas, legend(), numbers);
  new ResizeObserver(() => {
    const [svg] = canvas.children;
    if (!svg || Math.abs(canvas.clientWidth - svg.viewBox.baseVal.width) > 1) redraw();
  }).observe(canvas);
  choosePicture();
  return figure;
}

function zoom(view, factor) {
  const width = Math.min(view.whole, Math.max(8, (view.to - view.from) * factor));
  const middle = (view.from + view.to) / 2;
  view.from = Math.max(0, Math.min(view.whole - width, middle - width / 2));
  view.to = view.from + width;
}

function pan(view, share) {
  const width = view.to - view.from;
  view.from = Math.max(0, Math.min(view.whole - width, view.from + share * width));
  view.to = view.from + width;
}

/** The tokens about the boundaries, and all that is missing, wrong or begins after the front. */
function focusOf(view) {
  const { picture, whole, scene } = view;
  if (!picture) return [0, whole];
  const points = [picture.got, picture.expected ?? 0].filter((tokens) => tokens > 0);
  if (picture.difference) points.push(picture.difference.token);
  for (const track of picture.tracks) {
    for (const name of ["missing", "needed", "verified", "loaded"]) {
      for (const span of track[name]) {
        points.push(span[1]);
        if (name === "missing" || span[0] > picture.local_tokens) points.push(span[0]);
      }
    }
  }
  if (!points.length) return [0, whole];
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const least = Math.max(64, ...scene.groups.map((group) => group.chunk_tokens));
  const margin = Math.max((high - low) * 0.12, (least - high + low) / 2, ...scene.groups.map((group) => group.block_tokens * 2));
  const range = [Math.max(0, low - margin), Math.min(whole, high + margin)];
  return range[1] - range[0] > 0.6 * whole ? [0, whole] : range;
}

function captionOf(view) {
  const { picture, scene } = view;
  if (!picture) return [make("p", null, "No single lookup is at fault; the events of all steps are drawn.")];
  const step = scene.moments[picture.answer]?.[0];
  const wrong = picture.difference;
  return [
    make("p", null, make("b", { class: "mono" }, picture.request), ` asked at step ${step}, with ${number(picture.local_tokens)} of its ${number(picture.num_tokens)} tokens in the pool: expected `,
      make("b", { class: "is-expected" }, verdictInWords(picture.expected)), ", got ", make("b", { class: "is-got" }, verdictInWords(picture.got)), "."),
    picture.expected === null ? make("p", { class: "hint" }, "What was there at that moment is not known; needed is what this verdict asks for.") : null,
    wrong ? make("p", null, `The first wrong byte is byte ${number(wrong.byte)} of layer ${wrong.layer} of token ${number(wrong.token)} in group `,
      make("b", { class: "mono" }, wrong.group), ` on rank ${wrong.rank}; found there: `, make("b", null, wrong.found), ".") : null,
  ].filter(Boolean);
}

function numbersOf(view) {
  const rows = view.picture.tracks.map((track) => make("tr", null, make("th", { scope: "row", class: "mono" }, track.group),
    TRACKS.map(([name]) => make("td", null, spansInWords(track[name])))));
  return scrollBox("The lookup in numbers", make("table", null,
    make("thead", null, make("tr", null, make("th", { scope: "col" }, "group"), TRACKS.map(([name]) => make("th", { scope: "col" }, name.replace("_", " "))))),
    make("tbody", null, rows)));
}

function legend() {
  const entry = (cls, text) => {
    const box = draw("svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" }, patterns(), draw("rect", { x: 1, y: 1.5, width: 20, height: BAR, class: `bar ${cls}` }));
    return make("span", null, box, ` ${text}`);
  };
  return make("p", { class: "legend", "aria-hidden": "true" },
    TRACKS.map(([name, text]) => entry(`t-${name}`, text)),
    entry("e-computed", "computed"), entry("e-store", "store copied"), entry("e-load", "load copied"), entry("e-failed", "copy failed"));
}

function patterns() {
  const lines = (id, path) => draw("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    draw("rect", { width: 6, height: 6, class: `${id}-ground` }), draw("path", { d: path, class: `${id}-line` }));
  return draw("defs", null,
    lines("flight", "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2"),
    lines("gone", "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2 M0,0 l6,6"));
}

/** Rows of one group: events by step, and the tracks where the lookup was answered. */
function rowsOf(view, position) {
  const rows = [];
  const many = view.scene.moments.some((moment) => moment[3] > 0);
  view.scene.moments.forEach(([step, kind, request, rank, spans], at) => {
    const own = spans.filter(([group]) => group === position || group === LATER).map(([, start, end]) => [start, end]);
    const known = EVENTS[kind];
    const asked = !view.request || !request || request === view.request;
    if (own.length && asked) {
      const [cls, verb] = known || ["other", kind];
      const copy = kind.startsWith("store") || kind.startsWith("load c");
      const label = `${request ? `${request} ` : ""}${verb}${many && copy ? `, rank ${rank}` : ""}`;
      const last = rows[rows.length - 1];
      if (last && last.step === step && last.label === label) last.spans.push(...own);
      else rows.push({ step, label, cls: `e-${cls}`, spans: own });
    }
    if (view.picture && at === view.picture.answer) {
      const track = view.picture.tracks[position];
      const shown = view.picture.expected === null ? ["needed"] : ["needed", "stored"];
      for (const [name] of TRACKS) {
        if (track && (track[name].length || shown.includes(name))) {
          rows.push({ step, label: name.replace("_", " "), cls: `t-${name}`, spans: track[name], track: true });
        }
      }
      const spot = view.picture.difference;
      if (spot && spot.group === view.scene.groups[position].name) {
        rows.push({ step, label: "wrong byte", cls: "", spans: [], track: true, spot });
      }
    }
  });
  return rows;
}

/** Rows near the lookup, unless all are asked for; what is left out is told. */
function nearRows(view, rows) {
  const first = rows.findIndex((row) => row.track);
  if (view.all || first < 0 || rows.length <= 3 * NEAR) return view.all ? rows : first < 0 ? shorten(rows) : rows;
  const last = rows.findLastIndex((row) => row.track);
  const kept = rows.slice(Math.max(0, first - NEAR), last + 1 + NEAR);
  const before = Math.max(0, first - NEAR);
  const after = rows.length - Math.min(rows.length, last + 1 + NEAR);
  return [...(before ? [{ left: `${before} earlier rows` }] : []), ...kept, ...(after ? [{ left: `${after} later rows` }] : [])];
}

function shorten(rows) {
  const most = 4 * NEAR;
  return rows.length <= most ? rows : [{ left: `${rows.length - most} earlier rows` }, ...rows.slice(-most)];
}

function drawing(view, width) {
  const narrow = width < 560;
  const left = narrow ? 124 : 196;
  const right = 10;
  const { from, to } = view;
  const x = (token) => left + ((token - from) / (to - from)) * (width - left - right);
  const labelChars = Math.floor((left - (narrow ? 24 : 54)) / 6);
  const scale = { x, from, to, left, labelChars, end: width - right, perToken: (width - left - right) / (to - from), narrow };
  const parts = [];
  let y = overview(view, scale, parts);
  for (let position = 0; position < view.scene.groups.length; position += 1) y = groupPanel(view, scale, position, y, parts);
  const marks = boundaryMarks(view, scale, y);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${y + 6}`, class: "tokens", role: "img", "aria-label": described(view) },
    patterns(), draw("clipPath", { id: "inside" }, draw("rect", { x: left, y: 0, width: scale.end - left, height: y + 6 })), parts, marks);
  return svg;
}

function described(view) {
  const { picture } = view;
  if (!picture) return "Events of the case by step and token.";
  const told = picture.tracks.filter((track) => track.missing.length).map((track) => `missing of group ${track.group}: ${spansInWords(track.missing)}`);
  return [`Expected ${verdictInWords(picture.expected)}, got ${verdictInWords(picture.got)}`, ...told].join("; ");
}

/** The strip that says which part of all tokens is shown, and the ruler. */
function overview(view, scale, parts) {
  const { whole } = view;
  const at = (token) => scale.left + (token / whole) * (scale.end - scale.left);
  parts.push(
    draw("text", { x: 0, y: 27, class: "ruler" }, "tokens"),
    draw("rect", { x: scale.left, y: 4, width: scale.end - scale.left, height: 4, rx: 2, class: "strip" }),
    draw("rect", { x: at(view.from), y: 3, width: Math.max(3, at(view.to) - at(view.from)), height: 6, rx: 3, class: "window" }));
  let tick = 1;
  while (tick * scale.perToken < 64) tick *= 2;
  for (let token = Math.ceil(scale.from / tick) * tick; token <= scale.to; token += tick) {
    const place = scale.x(token);
    const anchor = place > scale.end - 20 ? "end" : "middle";
    parts.push(draw("path", { d: `M${r(place)},31v4`, class: "tick" }), draw("text", { x: r(place), y: 27, class: "ruler", "text-anchor": anchor }, number(token)));
  }
  return 52;
}

const r = (value) => Math.round(value * 10) / 10;

function groupPanel(view, scale, position, top, parts) {
  const group = view.scene.groups[position];
  const window_ = group.window ? ` window ${number(group.window)}` : "";
  const kept = group.extra_retained ? ` + ${group.extra_retained} retained` : "";
  const title = `${group.kind}${window_}${kept}${group.eagle ? ", draft" : ""}; block ${number(group.block_tokens)}, chunk ${number(group.chunk_tokens)}`;
  const name = draw("tspan", { class: "name" }, clipped(group.name, scale.narrow ? 20 : 40));
  parts.push(draw("text", { x: 0, y: top + 11, class: "group" }, name, draw("tspan", { class: "quiet", dx: 8 }, clipped(title, scale.narrow ? 40 : 90))));
  const rows = nearRows(view, rowsOf(view, position));
  const first = top + 30;
  const height = Math.max(1, rows.length) * ROW + 4;
  parts.push(draw("rect", { x: scale.left, y: first - 2, width: scale.end - scale.left, height, class: "panel" }));
  gridLines(group, scale, first - 2, height, parts);
  if (!rows.length) parts.push(draw("text", { x: scale.left + 6, y: first + 9, class: "quiet" }, "no event of this group has a place"));
  let step = null;
  rows.forEach((row, at) => {
    const y = first + at * ROW;
    if (row.left) {
      parts.push(draw("text", { x: 0, y: y + 9, class: "quiet" }, row.left));
      step = null;
      return;
    }
    if (row.step !== step) {
      parts.push(draw("text", { x: 0, y: y + 9, class: "step" }, scale.narrow ? String(row.step) : `step ${row.step}`));
      if (at) parts.push(draw("path", { d: `M0,${y - 1.5}H${scale.end}`, class: "between" }));
      step = row.step;
    }
    const label = draw("text", { x: scale.left - 6, y: y + 9, class: row.track ? "track" : "event", "text-anchor": "end" }, clipped(row.label, scale.labelChars));
    label.append(draw("title", null, row.label));
    parts.push(label);
    const bars = row.spans.filter(([start, end]) => end > scale.from && start < scale.to).map(([start, end]) => {
      const begin = Math.max(scale.left, scale.x(start));
      const stop = Math.min(scale.end, scale.x(end));
      return draw("rect", { x: r(begin), y: y + 1, width: r(Math.max(1.5, stop - begin)), height: BAR, class: `bar ${row.cls}` },
        draw("title", null, `${row.label}: tokens ${number(start)}–${number(end)}`));
    });
    parts.push(...bars);
    if (row.spot) parts.push(...wrongByte(row.spot, scale, y));
  });
  return first + height + 16;
}

function clipped(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Blocks as fine lines, chunks as strong ones with their numbers, as far as there is room. */
function gridLines(group, scale, top, height, parts) {
  const lines = (size, cls) => {
    if (!(size > 0) || size * scale.perToken < 5) return;
    const path = [];
    for (let token = Math.ceil(scale.from / size) * size; token <= scale.to; token += size) path.push(`M${r(scale.x(token))},${top}v${height}`);
    parts.push(draw("path", { d: path.join(""), class: cls }));
  };
  lines(group.block_tokens, "block-line");
  lines(group.chunk_tokens, "chunk-line");
  const pixels = group.chunk_tokens * scale.perToken;
  if (!(pixels >= 3)) return;
  const each = Math.ceil(26 / pixels);
  for (let chunk = Math.floor(scale.from / group.chunk_tokens); chunk * group.chunk_tokens < scale.to; chunk += 1) {
    const [begin, end] = [Math.max(scale.from, chunk * group.chunk_tokens), Math.min(scale.to, (chunk + 1) * group.chunk_tokens)];
    const x = scale.x((begin + end) / 2);
    if (chunk % each || x - 11 < scale.left || x + 11 > scale.end) continue;
    parts.push(draw("text", { x: r(x), y: top - 4, class: "chunk", "text-anchor": "middle" }, String(chunk)));
  }
  parts.push(draw("text", { x: scale.left - 6, y: top - 4, class: "chunk", "text-anchor": "end" }, "chunk"));
}

/** A mark at the first wrong byte, and whose bytes were found there. */
function wrongByte(spot, scale, y) {
  const outside = spot.token < scale.from || spot.token >= scale.to;
  const x = Math.min(scale.end - 6, Math.max(scale.left + 6, scale.x(spot.token + 0.5)));
  const right = x > (scale.left + scale.end) / 2;
  const room = Math.floor((right ? x - scale.left : scale.end - x) / 6.2);
  return [
    outside ? null : draw("path", { d: `M${r(x)},${y + 1 + BAR / 2}m-4,-4l8,8m0,-8l-8,8`, class: "wrong-mark" }),
    draw("text", { x: r(x + (right ? -9 : 9)), y: y + 9, class: "wrong-text", "text-anchor": right ? "end" : "start" },
      clipped(`token ${number(spot.token)}${outside ? " (outside)" : ""}, found: ${spot.found}`, room), draw("title", null, spot.found)),
  ].filter(Boolean);
}

/** Where the hit was to end and where it ended, through all groups. */
function boundaryMarks(view, scale, bottom) {
  const { picture } = view;
  if (!picture) return [];
  const same = picture.expected === picture.got;
  const marks = [[picture.expected, same ? "expected and got" : "expected", "m-expected"], ...(same ? [] : [[picture.got, "got", "m-got"]])];
  const both = marks.filter(([tokens]) => tokens > 0).length === 2;
  return marks.flatMap(([tokens, name, cls], at) => {
    if (!(tokens > 0)) return [];
    const x = Math.min(scale.end, Math.max(scale.left, scale.x(tokens)));
    const outside = tokens < scale.from || tokens > scale.to;
    const right = both ? (picture.expected < picture.got) === (at === 1) : x < (scale.left + scale.end) / 2;
    const room = right ? x + 130 < scale.end : x - 130 > 0;
    const toRight = room ? right : !right;
    return [
      outside ? null : draw("path", { d: `M${r(x)},38V${bottom - 8}`, class: `mark ${cls}` }),
      draw("text", { x: r(x + (toRight ? 4 : -4)), y: 46, class: `mark-text ${cls}`, "text-anchor": toRight ? "start" : "end" }, `${name} ${number(tokens)}${outside ? " (outside)" : ""}`),
    ].filter(Boolean);
  });
}
