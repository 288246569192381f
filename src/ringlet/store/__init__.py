"""What stays: the .ring file, output files, and writing that leaves whole files or none."""
