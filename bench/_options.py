"""The options of benchmarks. Each module has TINY: options with which it still runs every step, and measures nothing."""

import argparse


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """An empty parser; its help shows the defaults."""
    return argparse.ArgumentParser(
        prog=f"python -m bench {name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
