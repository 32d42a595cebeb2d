"""The paper's algorithm: successive convex approximation on relaxed schedules."""
