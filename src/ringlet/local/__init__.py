"""Predictions of entries from their neighbours: which entries are right, and the detail that a ring does not hold.

The room knows arrays and blocks of arrays, not fits.
"""
