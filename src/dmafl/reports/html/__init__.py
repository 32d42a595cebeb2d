"""Pages for a browser: a shell that any page can use, the report of runs, and the same page live."""
