"""Records shared by all layers: JSON values, outcomes, rules, and the plug-in protocols."""
