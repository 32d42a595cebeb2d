"""Plans: a schedule with its world, its worth and its proof, saved to and checked from one file."""
