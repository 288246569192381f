"""Quality of `decompose(x)`, compared with choices that use the truth, the paper's method, and its peers."""
