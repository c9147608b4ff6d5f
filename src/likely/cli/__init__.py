"""The command line, which calls the workbench."""
