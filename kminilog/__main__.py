"""`python -m kminilog` does what the command `kminilog` does."""

if __name__ == "__main__":  # whoever imports cli.start gives up Ctrl-C
    from kminilog.cli.start import main

    main()
