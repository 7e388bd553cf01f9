// Which cases are asked for.

const filters = {
  form: document.getElementById("filters"),
  cause: null,
  setting: false,
  field: (name) => document.getElementById(`f-${name}`),
  value(name) {
    return filters.field(name).value;
  },

  /** Cases that the form asks for, those not as wanted first. */
  wanted() {
    const text = filters.value("text").trim().toLowerCase().split(/\s+/).filter(Boolean);
    const [outcome, clause, severity, group, run] = ["outcome", "clause", "severity", "group", "run"].map(filters.value);
    const differs = filters.field("differs")?.checked;
    const verdicts = clause || severity ? filters.verdicts(clause, severity, outcome) : null;
    const fits = (found) => !outcome || (outcome === "bad" ? !isWanted(found) : found === outcome);
    return data.cases.filter((one) =>
      (verdicts ? verdicts.has(one.verdict) : fits(one.outcome)) &&
      (!run || one.run === Number(run)) &&
      (!group || one.groups.includes(Number(group))) &&
      (filters.cause === null || one.cause === filters.cause) &&
      (!differs || one.twins.length !== data.runs.length || one.twins.some((twin) => twin.outcome !== one.outcome)) &&
      text.every((word) => one.search.includes(word)));
  },

  /** Verdicts with a check of the clause and severity, and of the outcome: equal ones are judged once. */
  verdicts(clause, severity, outcome) {
    const fits = (found) => !outcome || (outcome === "bad" ? !isWanted(found) : found === outcome);
    const found = new Set();
    data.verdicts.forEach((verdict, at) => {
      const some = verdict.some(([check, result]) => {
        const [id, , grade] = data.clauses[data.checks[check][1]];
        return (!clause || id === clause) && (!severity || grade === severity) && fits(data.outcomes[result]);
      });
      if (some) found.add(at);
    });
    return found;
  },

  /** Ask for these, and for nothing else; who sets them shows them. */
  set(values) {
    filters.setting = true;
    filters.form.reset();
    filters.setting = false;
    for (const [name, value] of Object.entries(values)) {
      if (name !== "cause") filters.field(name).value = value;
    }
    filters.cause = values.cause ?? null;
    filters.showCause();
  },

  showCause() {
    const tag = filters.field("cause");
    tag.hidden = filters.cause === null;
    if (filters.cause === null) return;
    const [clause, check, text] = data.causes[filters.cause];
    tag.textContent = `cause: ${clause} ${check}: ${text}`;
  },

  isEmpty() {
    return filters.cause === null && !filters.field("differs")?.checked &&
      ["text", "outcome", "clause", "severity", "group", "run"].every((name) => !filters.value(name));
  },

  /** Calls `changed` whenever the form asks for other cases. */
  start(changed) {
    let due = 0;
    const later = (ms) => {
      clearTimeout(due);
      due = setTimeout(changed, ms);
    };
    filters.field("text").addEventListener("input", () => later(120));
    filters.form.addEventListener("change", (event) => {
      if (event.target !== filters.field("text")) later(0);
    });
    filters.form.addEventListener("reset", () => {
      filters.cause = null;
      filters.showCause();
      if (!filters.setting) setTimeout(changed);
    });
    filters.form.addEventListener("submit", (event) => event.preventDefault());
  },
};
