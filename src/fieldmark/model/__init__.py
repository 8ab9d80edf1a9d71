"""Records that every layer shares: JSON values, outcomes, rules, and the plug-in protocols."""
