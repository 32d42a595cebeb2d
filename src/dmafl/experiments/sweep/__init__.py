"""The same scenario with some settings varied: a run or a plan for every combination, kept by content."""
