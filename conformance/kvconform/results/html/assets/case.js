// One case in a dialog of its own.

const caseDialog = {
  element: document.getElementById("case"),
  shown: null,
  list: [],

  /** Show a case, one of `list`, through which *previous* and *next* go. */
  async open(one, list) {
    const self = caseDialog;
    self.shown = one;
    self.list = list.includes(one) ? list : [one];
    const detail = await detailOf(one);
    if (self.shown !== one) return;
    self.element.replaceChildren(...caseView(one, detail));
    if (!self.element.open) self.element.showModal();
    self.element.scrollTop = 0;
    self.element.querySelector(".scene")?.append(caseFigureOrNote(detail));
    self.element.querySelector("h2").focus();
    setHash(`case=${encodeURIComponent(one.id)}&matrix=${encodeURIComponent(one.matrix.name)}&run=${one.run}`);
  },

  /** The case before or after the one that is shown. */
  move(by) {
    const self = caseDialog;
    const next = self.list[self.list.indexOf(self.shown) + by];
    if (next) self.open(next, self.list);
  },

  start() {
    const self = caseDialog;
    self.element.addEventListener("close", () => {
      self.shown = null;
      self.element.replaceChildren();
      setHash("");
    });
    self.element.addEventListener("click", (event) => {
      if (event.target === self.element) self.element.close();
    });
    self.element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select")) return;
      if (event.key === "n") self.move(1);
      if (event.key === "p") self.move(-1);
    });
  },
};

/** The address of what is shown, so that it can be sent on; no entry of the history. */
function setHash(text) {
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // some viewers show the page without an address of its own
  }
}

/** The case that the address names. */
function caseOfHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const [id, matrix, run] = [asked.get("case"), asked.get("matrix"), Number(asked.get("run"))];
  return id ? data.cases.find((one) => one.id === id && one.matrix.name === matrix && one.run === run) : null;
}

function caseFigureOrNote(detail) {
  const figure = detail.scene ? caseFigure(detail.scene) : null;
  return figure || make("p", { class: "hint" }, "The records have no picture of this case.");
}

function caseView(one, detail) {
  const at = caseDialog.list.indexOf(one);
  const go = (by, text, key) => make("button", { type: "button", disabled: !caseDialog.list[at + by], title: `${text} (${key})`, onclick: () => caseDialog.move(by) }, text);
  const twins = one.twins.filter((twin) => twin !== one);
  return [
    make("header", { class: "row" },
      make("span", { class: "hint" }, `case ${number(at + 1)} of ${number(caseDialog.list.length)}`), make("span", { class: "spring" }),
      go(-1, "Previous", "p"), go(1, "Next", "n"),
      make("button", { type: "button", onclick: () => caseDialog.element.close() }, "Close")),
    make("h2", { id: "case-title", class: "mono", tabindex: "-1" }, chip(one.outcome), " ", one.id),
    make("p", { class: "about" },
      make("b", null, wordsOf(one.outcome)), ` on ${data.runs[one.run].title}; `, make("span", { class: "mono" }, one.source), `; ${(one.ms / 1000).toFixed(2)} s`),
    one.said ? make("p", { class: "said" }, one.said) : null,
    twins.length ? make("p", { class: "twins" }, "Also in: ", twins.map((twin) => make("button", { type: "button", onclick: () => caseDialog.open(twin, caseDialog.list.includes(twin) ? caseDialog.list : twin.twins) },
      chip(twin.outcome), ` ${data.runs[twin.run].title}`))) : null,
    ...(detail ? detailView(detail) : []),
    make("div", { class: "two" }, axesView(one), checksView(one)),
  ].filter(Boolean);
}

function detailView(detail) {
  const failed = detail.checks.filter((check) => check.failed);
  const others = detail.checks.filter((check) => !check.failed);
  return [
    make("section", { class: "failed", "aria-label": "Failed checks" }, failed.map(failedCheck)),
    detail.scene ? make("section", { class: "scene", "aria-label": "Tokens and steps" }) : null,
    make("details", { open: true }, make("summary", null, "Failure as the terminal tells it"), copyButton(detail.text, "Copy the text"), make("pre", { class: "text", tabindex: "0", "aria-label": "Failure text" }, detail.text)),
    make("section", { class: "again" }, make("h3", null, "Run it again"), make("pre", { tabindex: "0", "aria-label": "Command" }, detail.again), copyButton(detail.again, "Copy the command")),
    detail.trace.length ? make("details", null, make("summary", null, `All ${number(detail.trace.length)} events`), traceView(detail)) : null,
    detail.stack.length ? make("details", null, make("summary", null, "Stack, innermost call first"), make("pre", { tabindex: "0" }, detail.stack.join("\n"))) : null,
    others.length ? make("details", null, make("summary", null, `${number(others.length)} checks that measured nothing`),
      make("ul", { class: "plain" }, others.map((check) => make("li", null, chip(check.outcome), " ", make("span", { class: "mono" }, `${check.clause} ${check.check}`), ` needs: ${check.expected || "?"}. ${check.detail}`)))) : null,
  ].filter(Boolean);
}

function failedCheck(check) {
  const clause = data.clauses.find(([id]) => id === check.clause);
  const fact = (name, text, cls) => (text ? [make("dt", null, name), make("dd", { class: cls }, text)] : []);
  return make("article", { class: `check s-${(clause?.[2] || "unknown").replaceAll(" ", "-")}` },
    make("p", { class: "clause" }, make("b", { class: "mono" }, check.clause), ` ${clause?.[1] || ""} `,
      make("span", { class: "severity" }, clause?.[2] || ""), clause?.[3] ? make("span", { class: "binds" }, ` ${clause[3]}`) : null),
    make("dl", null,
      fact("check", check.check, "mono"), fact("expected", check.expected), fact("got", check.got, "got"), fact("where", check.detail === check.got ? "" : check.detail)),
    check.more.length ? make("details", null, make("summary", null, `${number(check.more.length)} more of this check`), make("ul", { class: "plain" }, check.more.map((text) => make("li", null, text)))) : null);
}

function traceView(detail) {
  const most = 500;
  const line = (text, at) => {
    const told = detail.broken[at];
    return make("li", { class: told ? "broken" : null }, text, told ? make("b", { class: "mono" }, ` ← ${told}`) : null);
  };
  const list = make("ol", { class: "trace", start: "0" }, detail.trace.slice(0, most).map(line));
  if (detail.trace.length <= most) return list;
  const more = make("button", { type: "button", onclick: () => {
    list.append(...detail.trace.slice(most).map((text, at) => line(text, at + most)));
    more.remove();
  } }, `Show ${number(detail.trace.length - most)} more`);
  return make("div", null, list, more);
}

function copyButton(text, label) {
  const button = make("button", { type: "button", class: "copy", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      button.textContent = "Selected: copy it now";
    }
  } }, label);
  return button;
}

function axesView(one) {
  const rows = one.matrix.axes.map(([name, values], at) => (one.row[at] < 0 ? null : make("tr", null, make("th", { scope: "row" }, name), make("td", { class: "mono" }, values[one.row[at]])))).filter(Boolean);
  return make("section", null, make("h3", null, "Axes"), rows.length ? make("table", null, make("tbody", null, rows)) : make("p", { class: "hint" }, "none"));
}

function checksView(one) {
  const rows = checksOf(one).map((check) => make("tr", { title: check.text },
    make("td", null, chip(check.outcome)), make("th", { scope: "row", class: "mono" }, check.clause), make("td", { class: "mono" }, check.name), make("td", { class: "hint" }, check.why)));
  const declared = data.declared[one.declared].map((at) => data.clauses[at][0]).join(" ");
  return make("section", null, make("h3", null, "Checks"),
    rows.length ? scrollBox("Checks of the case", make("table", { class: "checks" }, make("tbody", null, rows))) : make("p", { class: "hint" }, "none was made"),
    declared ? make("p", { class: "hint" }, "The matrix is about ", make("span", { class: "mono" }, declared), ".") : null);
}
