"""From damaged data to clean data: what `ringlet.restore` and the command line share.

The room is not called `restore`: importing a package `ringlet.restore` would replace the function of that name.
"""
