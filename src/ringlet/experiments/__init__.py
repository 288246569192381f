"""The experiments of the paper: data, noise, methods, scores and figures."""
