"""The core update, and the one loop that all solvers run in."""
