// Jobs and their progress: analyses of runs, and batches that a page waits for.

import { request } from "./api.js";
import { button, el, replace } from "./dom.js";
import { plural, whole } from "./labels.js";
import { problem } from "./page.js";

// Runs with more cases are analyzed only on request.
export const MANY = 2000;

export function isFinished({ state }) {
  return ["done", "cancelled", "failed"].includes(state);
}

// Call `changed` with every state of a job until it ends, and return the last one.
export function follow(job, changed) {
  return new Promise((resolve, reject) => {
    changed(job);
    if (isFinished(job)) return resolve(job);
    const source = new EventSource(`/api/jobs/${job.id}/events`);
    source.addEventListener("job", (event) => {
      const found = JSON.parse(event.data);
      changed(found);
      if (!isFinished(found)) return;
      source.close();
      resolve(found);
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) request(`/api/jobs/${job.id}`).then(resolve, reject);
    });
    return null;
  });
}

// Analyze runs in a job, whose progress and cancel button are shown in `box`. Returns its result, or
// null if it was cancelled.
export async function analyze(body, box, text) {
  const bar = el("progress", { "aria-label": text, max: 1 });
  const status = el("span", { class: "quiet", role: "status" }, text);
  const job = await request("/api/analyses", { method: "POST", body });
  replace(box, el("div", { class: "progress-line" }, status, bar, button("Cancel", () => request(`/api/jobs/${job.id}`, { method: "DELETE" }), { "aria-label": `Cancel: ${text}` })));
  const found = await follow(job, ({ cases, bytes_total: total }) => {
    if (total) bar.value = Math.min(1, cases / total);
    status.textContent = cases ? `${text} ${total ? `${whole(Math.min(cases, total))} of ${plural(total, "case")} read.` : `${plural(cases, "case")} read.`}` : text;
  });
  if (found.state === "failed") throw Object.assign(new Error(found.error.message), { problems: found.error.problems || [], code: found.error.code, status: 422 });
  return found.state === "done" ? found.result : null;
}

// A box that is filled by an analysis: at once, or of a large run after a click on a button. `work` is
// called with the box, which shows the progress, and returns nodes, or null if it was cancelled.
export function analyzed(work, { isLarge, text, id }) {
  const box = el("div"), ask = () => replace(box, button(text, load, { id }));
  async function load() {
    try {
      const nodes = await work(box);
      if (nodes === null) ask();
      else replace(box, nodes);
    } catch (error) {
      replace(box, problem(error));
    }
  }
  if (isLarge) ask();
  else load();
  return box;
}
