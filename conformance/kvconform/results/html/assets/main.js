// Puts the parts together.

const OPEN_AT_FIRST = 4;

async function start() {
  await loadIndex();
  const open = (one, list) => caseDialog.open(one, list);
  const blocks = data.matrices.map((matrix) => matrixBlock(matrix, open));
  let unfolded = OPEN_AT_FIRST;
  for (const { block, matrix } of blocks) {
    if (unfolded && matrix.cases.some((one) => !isWanted(one.outcome))) {
      block.open = true;
      unfolded -= 1;
    }
  }
  document.getElementById("matrices").append(...blocks.map(({ block }) => block));
  const unfold = (wanted) => blocks.forEach(({ block }) => { block.open = wanted; });
  document.getElementById("open-all").addEventListener("click", () => unfold(true));
  document.getElementById("close-all").addEventListener("click", () => unfold(false));
  const list = document.getElementById("cases");
  const show = () => {
    const cases = filters.wanted();
    const byMatrix = grouped(cases);
    blocks.forEach(({ show: showBlock, matrix }) => showBlock(byMatrix.get(matrix.at) || []));
    const worst = [...cases].sort((a, b) => WORST.indexOf(a.outcome) - WORST.indexOf(b.outcome) || a.at - b.at);
    const counts = countOutcomes(cases);
    const told = cases.length ? countsInWords(counts) : "no case is as asked for";
    filters.field("count").textContent = filters.isEmpty() ? told : `${number(cases.length)} of ${number(data.cases.length)}: ${told}`;
    list.replaceChildren(...(cases.length ? caseList(worst, open) : [make("p", { class: "hint" }, "No case is as asked for.")]));
  };
  filters.start(show);
  for (const table of document.querySelectorAll("table[data-grid]")) {
    moveByArrows(table);
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const { clause, outcome, run, cause } = button.dataset;
      filters.set({ ...(clause ? { clause, outcome } : { cause: Number(cause) }), run });
      show();
      list.scrollIntoView({ block: "center" });
      (list.querySelector("button") || list).focus({ preventScroll: false });
    });
  }
  caseDialog.start();
  show();
  document.documentElement.dataset.ready = "yes";
  performance.mark("usable");
  const linked = caseOfHash();
  if (linked) open(linked, linked.twins);
}

function grouped(cases) {
  const found = new Map();
  for (const one of cases) {
    if (!found.has(one.matrix.at)) found.set(one.matrix.at, []);
    found.get(one.matrix.at).push(one);
  }
  return found;
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.textContent = `The records in this page could not be read: ${error}. It needs a browser with DecompressionStream, of 2024 or later.`;
  trouble.hidden = false;
});
