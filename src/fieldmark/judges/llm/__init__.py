"""The client for language models: prompts, answers, cache, budget."""
