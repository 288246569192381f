"""What the neighbours of an entry say about it: which entries are right, and the detail that a ring does not hold.

The room knows arrays and blocks of arrays, not fits.
"""
