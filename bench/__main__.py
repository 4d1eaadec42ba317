"""Runs the named benchmarks, or all.

Each module below `bench` has `figures()`, which returns tables. Options after a single name belong to that benchmark;
`NAME --help` lists them.
"""

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from rich.console import Console

import bench


def names() -> list[str]:
    """Every benchmark."""
    return [module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")]


def main(arguments: Sequence[str]) -> None:
    """Print one table per benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, add_help=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(names())}")
    parser.add_argument(
        "--tiny", action="store_true", help="the smallest form: shows that it runs, and measures nothing"
    )
    asked, options = parser.parse_known_args(arguments)
    if not asked.names and {"-h", "--help"} & {*options}:
        parser.print_help()
        return
    chosen = asked.names or names()
    if unknown := [name for name in chosen if name not in names()]:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names())}")
    if options and len(chosen) > 1:
        parser.error(f"{' '.join(options)}: options belong to one benchmark; name it")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the service; read when a benchmark loads numpy
    console = Console(width=110)
    for name in chosen:
        module = importlib.import_module(f"bench.{name}")
        console.print(module.figures([*(module.TINY.split() if asked.tiny else ()), *options]))


if __name__ == "__main__":
    main(sys.argv[1:])
