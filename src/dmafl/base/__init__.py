"""What every room uses: arrays, errors, files, processes, random numbers, statistics, the version."""
