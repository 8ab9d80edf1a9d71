"""Values by themselves: what is there, what is equal, and how values are read."""
