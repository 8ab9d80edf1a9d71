// The header of every page, which has a button for the color theme.

import { themeButton } from "./theme.js";

document.getElementById("theme-place").append(themeButton());
