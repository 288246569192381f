"""How a core update is computed: plans, passes over the data, Gram matrices and solves."""
