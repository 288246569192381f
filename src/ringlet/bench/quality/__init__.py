"""How good a first try is: `decompose(x)` against choices made with the truth in hand, the paper's, and its peers'."""
