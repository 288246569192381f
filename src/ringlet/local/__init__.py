"""Predictions of entries from their neighbours: which entries are right, and the detail that a ring cannot describe.

The room knows arrays and blocks of arrays, not fits.
"""
