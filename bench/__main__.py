"""Runs the benchmarks whose names are given, or all; each module below `bench` offers `figures() -> Table`."""

import argparse
import importlib
import pkgutil

from rich.console import Console

import bench


def main() -> None:
    """Print one table per benchmark."""
    names = [module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(names)}")
    chosen = parser.parse_args().names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names)}")
    console = Console(width=110)
    for name in chosen:
        console.print(importlib.import_module(f"bench.{name}").figures())


if __name__ == "__main__":
    main()
