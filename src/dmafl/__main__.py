"""`python -m dmafl` is the command `dmafl`."""

from dmafl.cli.app import main

main()
