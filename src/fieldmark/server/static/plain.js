// A page that needs nothing but its frame.

import "./shell.js";
