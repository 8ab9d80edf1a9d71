"""The client for language models: prompts, responses, cache and budget."""
