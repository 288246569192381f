"""``python -m ringlet`` is the `ringlet` command."""

from ringlet.cli.main import main

if __name__ == "__main__":
    main()
