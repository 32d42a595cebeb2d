"""Loss models: the expected loss of a task as a function of its schedule; one file per model."""
