"""Where independent pieces of work are done: in processes of this machine, on Ray or on SLURM; one file each."""
