"""Those outside who are asked for a score: programs of the user, models."""
