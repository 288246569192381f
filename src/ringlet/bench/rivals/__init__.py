"""What people would use instead of a ring, one module a method, all of one form.

Every method is a function ``(values, observed) -> estimate`` of arrays of one shape. `values` are floats, arbitrary
where `observed` is false. The estimate has no gaps. No argument is changed. Libraries are imported when a method runs.
"""
