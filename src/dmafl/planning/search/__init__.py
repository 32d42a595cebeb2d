"""The solver `auto`: starts, descent, local search, rounding and repair; and exhaustive search."""
