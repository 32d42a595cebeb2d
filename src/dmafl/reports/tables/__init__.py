"""Tables as values, made once for every medium; and as Markdown, CSV and JSON files."""
