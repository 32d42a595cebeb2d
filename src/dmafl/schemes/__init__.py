"""The schemes of the comparison: each a short file, all peers behind one interface."""
