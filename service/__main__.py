"""`python -m service` and the `latchscope` script."""

import gc
import os
import sys


def main() -> None:
    # What is imported lives as long as the process: a fifth of the start would go into looking through it for garbage,
    # and every later search would walk it again.
    gc.disable()
    # Whatever we write (store, spool, captures, exports, audit) may name users and objects of databases: for the owner alone.
    os.umask(0o077)
    try:
        from service.cli.main import cli
    except KeyboardInterrupt:  # Ctrl-C while it starts: nothing has begun, so there is nothing to say
        sys.exit(130)
    gc.freeze()
    gc.enable()
    cli(prog_name="latchscope")


if __name__ == "__main__":
    main()
