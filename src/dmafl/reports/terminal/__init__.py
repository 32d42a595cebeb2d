"""Reports for a terminal: tables, progress bars and live views."""
