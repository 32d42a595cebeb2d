"""Tables as data, and as Markdown, CSV and JSON files."""
