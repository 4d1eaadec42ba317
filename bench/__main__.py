"""Runs the named benchmarks, or all.

Each module below `bench` has `figures()`, which returns tables. Options after a single name belong to that benchmark.
"""

import argparse
import importlib
import inspect
import pkgutil

from rich.console import Console

import bench


def main() -> None:
    """Print one table per benchmark."""
    names = [module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(names)}")
    asked, options = parser.parse_known_args()
    chosen = asked.names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names)}")
    console = Console(width=110)
    for name in chosen:
        figures = importlib.import_module(f"bench.{name}").figures
        if options and (len(chosen) > 1 or not inspect.signature(figures).parameters):
            parser.error(f"{name} takes no {' '.join(options)}")
        console.print(figures(options) if options else figures())


if __name__ == "__main__":
    main()
