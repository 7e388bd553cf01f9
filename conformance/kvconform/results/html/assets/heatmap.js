// Matrices: each a heat map of two of its axes for each run.

const NO_AXIS = -1;

/** The block of one matrix; its heat maps are drawn when it is opened. */
function matrixBlock(matrix, open) {
  const block = make("details", { class: "matrix" });
  const summary = make("summary");
  block.append(summary);
  const state = { cases: [], axes: [matrix.telling[0] ?? NO_AXIS, matrix.telling[1] ?? NO_AXIS], drawn: false };
  const redraw = () => {
    block.querySelectorAll(":scope > :not(summary)").forEach((old) => old.remove());
    state.drawn = block.open;
    if (block.open) block.append(heatMaps(matrix, state, open, redraw));
  };
  block.addEventListener("toggle", () => {
    if (block.open !== state.drawn) redraw();
  });
  const show = (cases) => {
    state.cases = cases;
    block.hidden = !cases.length;
    const counts = countOutcomes(cases);
    summary.replaceChildren(
      make("span", { class: "mono title" }, matrix.name),
      shareBar(counts, cases.length || 1),
      make("span", { class: "told" }, countsInWords(counts)));
    redraw();
  };
  return { block, show, matrix };
}

function heatMaps(matrix, state, open, redraw) {
  const below = make("div", { class: "cell-cases", "aria-live": "polite" });
  const present = data.runs.map((run, at) => at).filter((at) => state.cases.some((one) => one.run === at));
  return make("div", { class: "maps" },
    matrix.axes.length ? axisChoice(matrix, state, redraw) : null,
    make("div", { class: "side-by-side" }, present.map((run) => heatMap(matrix, state, run, below, open))),
    below);
}

function axisChoice(matrix, state, redraw) {
  const choose = (which, text) => {
    const select = make("select", {
      "data-axis": which,
      onchange: (event) => {
        const chosen = Number(event.target.value);
        if (state.axes[1 - which] === chosen && chosen !== NO_AXIS) state.axes[1 - which] = state.axes[which];
        state.axes[which] = chosen;
        const block = event.target.closest("details");
        redraw();
        block.querySelector(`select[data-axis="${which}"]`).focus();
      },
    });
    const names = [[NO_AXIS, "(all in one)"], ...matrix.axes.map(([name, values], at) => [at, `${name} (${values.length})`])];
    select.append(...names.map(([at, name]) => make("option", { value: at, selected: at === state.axes[which] }, name)));
    return make("label", null, `${text} `, select);
  };
  return make("div", { class: "row axes" }, choose(0, "Rows"), choose(1, "Columns"));
}

/** Values of an axis that these cases have; one nameless value where there is no axis. */
function valuesOf(matrix, axis, cases) {
  if (axis === NO_AXIS) return [[0, "all"]];
  const [, labels] = matrix.axes[axis];
  const used = new Set(cases.map((one) => one.row[axis]));
  const found = labels.map((label, at) => [at, label]).filter(([at]) => used.has(at));
  return used.has(-1) ? [...found, [-1, "(none)"]] : found;
}

function heatMap(matrix, state, run, below, open) {
  const cases = state.cases.filter((one) => one.run === run);
  const [down, across] = state.axes;
  const place = (one, axis) => (axis === NO_AXIS ? 0 : one.row[axis]);
  const cells = new Map();
  for (const one of cases) {
    const key = `${place(one, down)} ${place(one, across)}`;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(one);
  }
  const rows = valuesOf(matrix, down, state.cases);
  const columns = valuesOf(matrix, across, state.cases);
  const name = (axis) => (axis === NO_AXIS ? "" : matrix.axes[axis][0]);
  const title = `Heat map of ${matrix.name}, ${data.runs[run].title}`;
  const grid = make("table", { class: "heat", role: "grid", "aria-label": title },
    make("thead", null,
      across === NO_AXIS ? null : make("tr", null, make("td"), make("th", { colspan: columns.length, scope: "colgroup", class: "axis" }, name(across))),
      make("tr", null,
        make("th", { scope: "col", class: "axis" }, name(down)),
        columns.map(([, label]) => make("th", { scope: "col", class: "value", title: label }, make("span", null, across === NO_AXIS ? "" : label))))),
    make("tbody", null, rows.map(([y, label]) =>
      make("tr", null,
        make("th", { scope: "row", class: "value", title: label }, make("span", null, label)),
        columns.map(([x, across_label]) => {
          const found = cells.get(`${y} ${x}`);
          const where = [[down, label], [across, across_label]]
            .filter(([axis]) => axis !== NO_AXIS).map(([axis, value]) => `${name(axis)} ${value}`).join(", ");
          const show = (button) => showCell(below, found, where, open, button);
          return make("td", { role: "gridcell" }, found ? heatCell(found, where || matrix.name, show) : null);
        })))));
  moveByArrows(grid);
  return scrollBox(title, data.runs.length > 1 ? make("p", { class: "run" }, data.runs[run].title) : null, grid);
}

/** A cell: the worst outcome's letter, how many have it, of how many; darker the more there are. */
function heatCell(cases, where, show) {
  const counts = countOutcomes(cases);
  const worst = WORST.find((outcome) => counts.has(outcome));
  const many = counts.get(worst);
  const depth = Math.ceil((4 * many) / cases.length);
  const told = many === cases.length ? number(many) : `${number(many)}/${number(cases.length)}`;
  const words = `${where}: ${countsInWords(counts)}`;
  return make("button", {
    type: "button", tabindex: "-1", class: `cell o-${CLASSES[worst]} depth-${depth}`,
    "aria-label": words, title: words,
    onclick: (event) => show(event.currentTarget),
  }, make("b", null, letterOf(worst)), make("span", null, told));
}

function showCell(below, cases, where, open, button) {
  const maps = below.closest(".maps");
  maps.querySelectorAll(".cell[aria-pressed]").forEach((old) => old.removeAttribute("aria-pressed"));
  button.setAttribute("aria-pressed", "true");
  const close = () => {
    below.replaceChildren();
    button.removeAttribute("aria-pressed");
    button.focus();
  };
  const sorted = [...cases].sort((a, b) => WORST.indexOf(a.outcome) - WORST.indexOf(b.outcome) || a.at - b.at);
  const title = make("h3", { tabindex: "-1" }, where ? `${number(cases.length)} cases with ${where}` : `${number(cases.length)} cases`);
  below.onkeydown = (event) => {
    if (event.key === "Escape") close();
  };
  below.replaceChildren(
    make("div", { class: "row" }, title, make("span", { class: "spring" }), make("button", { type: "button", onclick: close }, "Close")),
    ...caseList(sorted, open, 50));
  below.querySelector(".cases button").focus();
}
