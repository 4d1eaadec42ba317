"""The licences of what latchscope is made of: a page of the documentation site, and the licences in an SBOM (`make sbom`).

What is shipped follows from uv.lock: the dependencies, those of each extra, and theirs, on Linux. A licence is what the installed
package says of itself.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from packaging.markers import Marker

LOCK = Path(__file__).resolve().parents[1] / "uv.lock"
US = "latchscope"
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
}
"""Older words for a licence. "BSD" alone is no identifier of SPDX: the package does not say which of them."""
UNKNOWN = "unknown"
_IDENTIFIER = re.compile(r"[\w.+-]+(?: (?:AND|OR) [\w.+-]+)*")


def licence(package: str) -> str:
    """What an installed package says: its expression, else its field, else its classifier."""
    try:
        told = metadata(package)
    except PackageNotFoundError:
        raise SystemExit(f"{package} is in uv.lock and not installed here; run `make .venv/.ready`") from None
    words = [told["License-Expression"], *(told["License"] or "").splitlines()[:1]]
    words += [one.rpartition(" :: ")[2] for one in told.get_all("Classifier") or [] if one.startswith("License")]
    said = next((word for word in words if word and len(word) < 80), UNKNOWN)
    return SPDX.get(said, said)


def shipped() -> Mapping[str, Sequence[str]]:
    """Package → the extras that bring it, or nothing for one that everybody gets."""
    lock = {package["name"]: package for package in tomllib.loads(LOCK.read_text(encoding="utf-8"))["package"]}
    brought: dict[str, list[str]] = {}
    ours = lock[US]
    for extra, wanted in (("", ours["dependencies"]), *ours["optional-dependencies"].items()):
        for name in _reached(lock, wanted):
            brought.setdefault(name, []).append(extra)
    return {name: () if "" in extras else extras for name, extras in sorted(brought.items())}


def _reached(lock: Mapping[str, Any], wanted: Sequence[Mapping[str, Any]]) -> set[str]:
    """The packages that these dependencies lead to on this system."""
    seen: set[tuple[str, str]] = set()
    to_do = list(wanted)
    while to_do:
        one = to_do.pop()
        if "marker" in one and not Marker(one["marker"]).evaluate({"extra": ""}):
            continue
        for extra in ("", *one.get("extra", ())):
            if (one["name"], extra) not in seen:
                seen.add((one["name"], extra))
                package = lock[one["name"]]
                more = (
                    package.get("optional-dependencies", {}).get(extra, ())
                    if extra
                    else package.get("dependencies", ())
                )
                to_do += more
    return {name for name, _ in seen}


def rows() -> list[tuple[str, str, str]]:
    """Package, licence, and who gets it."""
    return [(name, licence(name), ", ".join(extras) or "everybody") for name, extras in shipped().items()]


def as_markdown() -> str:
    """The page with a line for each package."""
    lines = (
        "| " + " | ".join(cells) + " |" for cells in (("package", "licence", "who gets it"), ("---",) * 3, *rows())
    )
    return "\n".join((_PAGE, "", *lines, ""))


_PAGE = """# Licences

latchscope is under the Apache License 2.0. The table has every package that it installs on Linux, the licence that
the package states, and who gets it: everybody, or those who install an extra. Packages for development only are not
shipped and not listed.

`psycopg` is under the LGPL. latchscope uses it unchanged, as a separate library that you can replace.

`make sbom` writes the same as an SBOM into `dist/latchscope.cdx.json`: CycloneDX, with versions and the hashes of the
lock file. It also lists the packages for other systems than Linux, without their licences."""


def with_licences(bom: Mapping[str, Any]) -> dict[str, Any]:
    """A CycloneDX document with the licence of each component that is installed here."""
    known = {name: words for name, words, _ in rows()}

    def told(component: Mapping[str, Any]) -> dict[str, Any]:
        words = known.get(component["name"])
        if words is None:
            return dict(component)
        named = (
            [{"expression": words}]
            if _IDENTIFIER.fullmatch(words) and words != "BSD"
            else [{"license": {"name": words}}]
        )
        return {**component, "licenses": named}

    return {**bom, "components": [told(component) for component in bom["components"]]}


if __name__ == "__main__":
    json.dump(with_licences(json.load(sys.stdin)), sys.stdout, indent=1)
