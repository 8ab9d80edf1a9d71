"""Asking language models: what is sent, what is believed, what it costs."""
