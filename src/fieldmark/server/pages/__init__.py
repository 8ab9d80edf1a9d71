"""The pages of the application: markup made here, drawn by small scripts of our own."""
