"""The command `dmafl`, also as `python -m dmafl`: listens to signals first, then imports the commands."""

from dmafl.cli.stopping import guarded


def main() -> None:
    """Run the command."""

    def command() -> None:
        from dmafl.cli.app import command_line

        command_line()

    guarded(command)


if __name__ == "__main__":
    main()
