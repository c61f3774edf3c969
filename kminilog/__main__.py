"""`python -m kminilog` does what the command `kminilog` does."""

from kminilog.cli.main import main

if __name__ == "__main__":
    main()
