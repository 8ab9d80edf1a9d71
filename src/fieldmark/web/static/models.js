// The choice of the provider for semantic comparison and of the safety judge, as far as the server
// allows one: its own models, or those that need no connection.

import { select } from "./report.js";
import { address, remember } from "./page.js";

// The own models of a request: `lexical` needs no model, and `none` judges nothing.
const LOCAL = { provider: "lexical", safety: "none" };
const LABELS = { provider: "Semantic provider", safety: "Safety judge" };

export function modelSelects(strategies, draft, changed = () => {}) {
  const state = address(Object.keys(LOCAL));
  const controls = Object.entries(LOCAL).map(([key, local]) => {
    const ruled = draft.rest[key], named = ruled && (ruled.type || ruled);
    const own = named || strategies[key];
    const options = [["", `${own} (${named ? "rules" : "server"})`], ...(own === local ? [] : [[local, local]])];
    if (!options.some(([value]) => value === state[key])) state[key] = "";
    const box = select(LABELS[key], options, (value) => { state[key] = value; remember({ [key]: value }); changed(); });
    box.querySelector("select").id = `model-${key}`;
    box.querySelector("select").value = state[key];
    if (options.length === 1) box.title = "The server was started without another one.";
    return box;
  });
  return { controls, chosen: () => Object.fromEntries(Object.entries(state).filter(([, value]) => value)) };
}
