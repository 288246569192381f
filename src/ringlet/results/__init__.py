"""Results of a fit: records while it runs, its saved state, and the `Fit` at the end."""
