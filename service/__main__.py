"""`python -m service` and the `latchscope` script."""

import os
import sys

NEEDS_POSIX = (
    "latchscope: it does not run on native Windows, which has no file locks, limits and signals as Linux has them; "
    "run it in WSL, which nobody has tried yet, or on Linux; docs/deploy.md has the list\n"
)


def main() -> None:
    if sys.platform.startswith("win"):  # before any import that would end in a traceback there
        sys.stderr.write(NEEDS_POSIX)
        sys.exit(2)
    # Our files (store, spool, captures, exports, audit) may name users and objects of databases: only the owner may read them.
    os.umask(0o077)
    # Polls share the cores already. For small matrices like ours, more threads of numpy's BLAS only spin. Read when numpy loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["serve"] and sys.stderr.isatty() and not {"-h", "--help"} & set(sys.argv):
        # Loading takes a second, and half a minute on a busy machine. Until then nothing else can be said.
        sys.stderr.write("latchscope: starting …\n")
        sys.stderr.flush()
    try:
        from service.cli.main import cli

        cli(prog_name="latchscope")
    except KeyboardInterrupt:  # Ctrl-C before the command line has its own answer to it, or while it ends
        sys.exit(130)
    except Exception as error:
        from rules.cause import HOME, BadCause  # loaded only now: most commands need no cause

        if not isinstance(error, BadCause):
            raise
        sys.stderr.write(f"latchscope: {error}; correct the file in {HOME}, or install latchscope again\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
