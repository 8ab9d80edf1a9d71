"""What every request passes before it is routed: one guard a module, outermost first."""
