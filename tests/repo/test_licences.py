"""Licences of what we ship: each is known and allows it, and the SBOM lists them."""

import re

from docs.licences import UNKNOWN, as_markdown, rows, shipped, with_licences

LETS_ITSELF_BE_SHIPPED = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "LGPL-3.0-only", "MIT", "MIT-0"),
    *("MPL-2.0", "PSF-2.0", "UPL-1.0", "Zlib"),
}


def test_each_licence_is_known_and_lets_the_package_be_shipped() -> None:
    foreign = {
        name: words for name, words, _ in rows() if not set(re.split(" AND | OR ", words)) <= LETS_ITSELF_BE_SHIPPED
    }
    assert foreign == {} and UNKNOWN not in LETS_ITSELF_BE_SHIPPED


def test_what_is_shipped_follows_from_the_lock_file() -> None:
    packages = shipped()
    assert (
        packages["oracledb"] == () and packages["psycopg-binary"] == ["postgresql"] and "notify" in packages["certifi"]
    )
    assert not {"pytest", "mkdocs-material", "pywin32", "latchscope"} & set(packages)


def test_page_has_a_line_for_each_package() -> None:
    lines = [line for line in as_markdown().splitlines() if line.startswith("| ")]
    assert (
        len(lines) == len(shipped()) + 2
        and "| numpy | BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0 | everybody |" in lines
    )


def test_sbom_tells_the_licence_of_each_component() -> None:
    bom = {"bomFormat": "CycloneDX", "components": [{"name": name} for name in ("numpy", "jinja2", "pywin32")]}
    numpy, jinja2, elsewhere = with_licences(bom)["components"]
    assert numpy["licenses"] == [{"expression": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0"}]
    assert jinja2["licenses"] == [{"license": {"name": "BSD"}}] and "licenses" not in elsewhere
