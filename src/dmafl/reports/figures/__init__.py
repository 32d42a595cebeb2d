"""Reports as figures, drawn with matplotlib."""
