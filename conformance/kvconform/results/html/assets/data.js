"use strict";
// The records, unpacked: `data` holds names once, `cases` one object for each case.

const data = { cases: [] };

/** Text of a data block: base64, then zlib. */
async function unpack(id) {
  const packed = atob(document.getElementById(id).textContent.trim());
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Reads the index; the order of a case's columns is that of `index.py`. */
async function loadIndex() {
  Object.assign(data, await unpack("index"));
  data.cases = [];
  data.matrices.forEach((matrix, at) => {
    matrix.at = at;
    matrix.cases = matrix.cases.map((columns) => {
      const [run, id, outcome, verdict, row, groups, cause, chunk, place, ms, declared, said, source] =
        columns;
      const one = { run, id, verdict, row, groups, cause, chunk, place, ms, declared, matrix };
      one.outcome = data.outcomes[outcome];
      one.said = data.texts[said];
      one.source = data.texts[source];
      one.search = id.toLowerCase();
      one.at = data.cases.length;
      data.cases.push(one);
      return one;
    });
  });
  const twins = new Map();
  for (const one of data.cases) {
    const key = `${one.matrix.at} ${one.id}`;
    if (!twins.has(key)) twins.set(key, []);
    twins.get(key).push(one);
    one.twins = twins.get(key);
  }
}

const loadedChunks = new Map();

/** All that is told of a case that was not as wanted; null of others. */
async function detailOf(one) {
  if (one.chunk < 0) return null;
  if (!loadedChunks.has(one.chunk)) loadedChunks.set(one.chunk, unpack(`chunk-${one.chunk}`));
  return (await loadedChunks.get(one.chunk))[one.place];
}

/** Checks of a case, each with its clause, outcome and why it did not apply. */
function checksOf(one) {
  return data.verdicts[one.verdict].map(([check, outcome, why]) => {
    const [name, clause] = data.checks[check];
    const [id, text, severity, binds] = data.clauses[clause];
    return {
      name, clause: id, text, severity, binds,
      outcome: data.outcomes[outcome],
      why: why < 0 ? "" : data.texts[why],
    };
  });
}

/** Worst first: the order in which outcomes win a cell, and in which they are listed. */
const WORST = ["error", "fail", "xpass", "untestable", "xfail", "pass", "n/a"];
const CLASSES = {
  pass: "pass", fail: "fail", untestable: "untestable", "n/a": "not_applicable",
  xfail: "expected_failure", xpass: "unexpected_pass", error: "error",
};
const isWanted = (outcome) => outcome === "pass" || outcome === "n/a" || outcome === "xfail";
const letterOf = (outcome) => data.letters[outcome][0];
const wordsOf = (outcome) => data.letters[outcome][1];
const number = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

/** How many cases have each outcome. */
function countOutcomes(cases) {
  const counts = new Map();
  for (const one of cases) counts.set(one.outcome, (counts.get(one.outcome) || 0) + 1);
  return counts;
}

/** `4 fail, 8 pass`, the worst first. */
function countsInWords(counts) {
  return WORST.filter((outcome) => counts.has(outcome))
    .map((outcome) => `${number(counts.get(outcome))} ${wordsOf(outcome)}`)
    .join(", ");
}
