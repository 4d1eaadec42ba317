"""`python -m service` and the `latchscope` script."""

from service.cli.main import cli


def main() -> None:
    cli(prog_name="latchscope")


if __name__ == "__main__":
    main()
