"""Which items of two lists belong together: one module per aligner."""
