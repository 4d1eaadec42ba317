"""Prints how often the diagnosis is right, by what a reader sees: one table, in a minute of processor.

`python -m bench truth` has the long form.
"""

import argparse
import os
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the service; read when numpy is loaded
    from tests.truth.by_sight import HEADS, SEED, measured, rows, title

    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the draw; {SEED} if you give none")
    parser.add_argument("--first", metavar="COUNT", type=int, help="only so many instances and published incidents")
    asked = parser.parse_args(arguments)
    found = measured(asked.seed, most=asked.first)
    print(title(found, asked.seed), end="\n\n")
    for cells in (HEADS, ["---"] * len(HEADS), *rows(found)):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
