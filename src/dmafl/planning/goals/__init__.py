"""Goals in place of weights: numbers of aggregations and prices that meet them, and plans with these."""
