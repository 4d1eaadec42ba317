"""`python -m service` and the `latchscope` script."""

import gc
import os


def main() -> None:
    # What is imported lives as long as the process: a fifth of the start would go into looking through it for garbage,
    # and every later search would walk it again.
    gc.disable()
    # Whatever we write (store, spool, captures, exports, audit) may name users and objects of databases: for the owner alone.
    os.umask(0o077)
    from service.cli.main import cli

    gc.freeze()
    gc.enable()
    cli(prog_name="latchscope")


if __name__ == "__main__":
    main()
