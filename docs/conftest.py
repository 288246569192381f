"""Examples in the pages are tested; what builds the site is not imported by the tests, for it needs Sphinx."""

collect_ignore_glob = ["*.py", "_ext/*", "_build/*", "jobs/*", "reference/generated/*"]
