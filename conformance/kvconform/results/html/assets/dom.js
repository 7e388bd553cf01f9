// Elements made by name.  What records say comes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`onX`: a listener) and children: elements or texts. */
function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** The letter of an outcome, with its words for those who do not see it. */
function chip(outcome) {
  return make("span", { class: `chip o-${CLASSES[outcome]}`, title: wordsOf(outcome) },
    make("span", { "aria-hidden": "true" }, letterOf(outcome)),
    make("span", { class: "hidden" }, wordsOf(outcome)));
}

/** A bar whose parts are as long as outcomes are many. */
function shareBar(counts, total) {
  const parts = WORST.filter((outcome) => counts.has(outcome)).map((outcome) => {
    const part = make("i", { class: `o-${CLASSES[outcome]}` });
    part.style.flexGrow = counts.get(outcome) / total;
    return part;
  });
  return make("span", { class: "share", "aria-hidden": "true" }, parts);
}

/** A box that scrolls by itself, also by keyboard. */
function scrollBox(label, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/**
 * Arrow keys move between the buttons of a table; one of them is in the order of Tab.
 * Empty cells are passed over.
 */
function moveByArrows(table) {
  const places = new Map();
  const cells = [];
  for (const row of table.rows) {
    const line = [];
    for (const cell of row.cells) {
      const button = cell.querySelector("button");
      if (button) places.set(button, [cells.length, line.length]);
      line.push(button);
    }
    cells.push(line);
  }
  const first = places.keys().next().value;
  if (!first) return;
  let current = first;
  first.tabIndex = 0;
  const focus = (button) => {
    current.tabIndex = -1;
    current = button;
    current.tabIndex = 0;
    current.focus();
  };
  const seek = (row, column, down, right) => {
    for (let y = row + down, x = column + right; cells[y] && x >= 0 && x < cells[y].length; y += down, x += right) {
      if (cells[y][x]) return cells[y][x];
    }
    return null;
  };
  const jumps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  table.addEventListener("keydown", (event) => {
    const from = places.get(event.target);
    if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
    const [row, column] = from;
    let to = null;
    if (jumps[event.key]) to = seek(row, column, ...jumps[event.key]);
    else if (event.key === "Home") to = cells[row].find((button) => button);
    else if (event.key === "End") to = cells[row].findLast((button) => button);
    else return;
    event.preventDefault();
    if (to) focus(to);
  });
  table.addEventListener("focusin", (event) => {
    if (places.has(event.target) && event.target !== current) {
      current.tabIndex = -1;
      current = event.target;
      current.tabIndex = 0;
    }
  });
}

/** A list of cases that grows when asked; `open` shows one of them. */
function caseList(cases, open, step = 100) {
  const list = make("ul", { class: "cases" });
  const more = make("button", { type: "button", class: "more" });
  let shown = 0;
  const grow = () => {
    const next = cases.slice(shown, shown + step);
    list.append(...next.map((one) => make("li", null, caseButton(one, () => open(one, cases)))));
    shown += next.length;
    more.hidden = shown >= cases.length;
    more.textContent = `Show ${number(Math.min(step, cases.length - shown))} more of ${number(cases.length - shown)}`;
  };
  more.addEventListener("click", () => {
    const from = shown;
    grow();
    list.children[from].querySelector("button").focus();
  });
  grow();
  return [list, more];
}

function caseButton(one, onclick) {
  const broken = [...new Set(checksOf(one).filter((check) => check.outcome === "fail").map((check) => check.clause))];
  return make("button", { type: "button", class: "case", onclick },
    chip(one.outcome),
    make("span", { class: "id mono" }, one.id),
    broken.length ? make("span", { class: "breaks mono" }, broken.join(" ")) : null,
    data.runs.length > 1 ? make("span", { class: "of" }, data.runs[one.run].title) : null);
}
