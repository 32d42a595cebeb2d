"""A campaign: many independent pieces of work, kept by content, done side by side."""
