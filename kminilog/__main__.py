"""`python -m kminilog` does what the command `kminilog` does."""

if __name__ == "__main__":  # whoever imports the door gives up Ctrl-C
    from kminilog.cli.start import main

    main()
