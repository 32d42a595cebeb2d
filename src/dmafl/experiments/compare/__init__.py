"""What differs between two runs: what was run, and what came out, with intervals."""
