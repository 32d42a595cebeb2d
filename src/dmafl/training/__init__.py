"""Training and testing the tasks of one seed, in this process or in workers; no clock."""
