// The color theme, which the browser remembers.

import { button, el, replace, spoken } from "./dom.js";

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

export function stored(name, value) {
  // Browsers can deny access to storage, also to a local file; nothing is stored then.
  try {
    if (value === null) localStorage.removeItem(name);
    else if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function themeButton() {
  const names = Object.keys(THEMES);
  let current = stored("fieldmark-theme");
  if (!names.includes(current)) current = "auto";
  const control = button("", () => {
    current = names[(names.indexOf(current) + 1) % names.length];
    stored("fieldmark-theme", current);
    apply();
  }, { id: "theme", class: "theme" });
  function apply() {
    document.documentElement.dataset.theme = current;
    replace(control, el("span", { "aria-hidden": "true" }, "◐ "), spoken("Color theme: "), THEMES[current]);
  }
  apply();
  return control;
}
