"""`python -m service` and the `latchscope` script."""

import os
import sys


def main() -> None:
    # Whatever we write (store, spool, captures, exports, audit) may name users and objects of databases: for the owner alone.
    os.umask(0o077)
    # Polls share the cores already; for matrices as small as ours, more threads of numpy's BLAS only spin. Read when numpy loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from service.cli.main import cli
    except KeyboardInterrupt:  # Ctrl-C while it starts: nothing has begun, so there is nothing to say
        sys.exit(130)
    cli(prog_name="latchscope")


if __name__ == "__main__":
    main()
