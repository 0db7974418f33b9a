"""A grid of drafting settings over several prompts: what to run, running it, what came of it."""
