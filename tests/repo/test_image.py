"""The image without an engine: the steps of the Dockerfile run by hand, its entry point runs as an unprivileged user."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rules.cause import catalogue
from tests.ports import free_port
from tests.repo.processes import eventually, fetch, fetch_json, running

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
NOBODY = 65534
CONTEXT_RULES = [one for one in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if one and one[0] != "#"]


@dataclass(frozen=True)
class Step:
    """One instruction of a Dockerfile."""

    name: str
    rest: str
    stage: int

    @property
    def words(self) -> list[str]:
        """The operands without the options."""
        return [one for one in self.rest.split() if not one.startswith("--")]

    @property
    def argv(self) -> list[str] | None:
        """The exec form, or None when it is a line for a shell."""
        found = re.search(r"\[.*\]\s*$", self.rest)
        return json.loads(found.group()) if found else None


def steps(text: str) -> list[Step]:
    """The instructions, with comments dropped, continued lines joined and build arguments at their defaults."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for name, default in re.findall(r"^ARG (\w+)=(\S+)$", kept, re.MULTILINE):
        kept = kept.replace(f"${{{name}}}", default)
    made: list[Step] = []
    stage = -1
    for line in re.sub(r"\\\n\s*", " ", kept).splitlines():
        name, _, rest = line.strip().partition(" ")
        if name:
            stage += name == "FROM"
            made.append(Step(name, rest.strip(), stage))
    return made


def in_context(path: str) -> bool:
    """Whether .dockerignore lets a path of the checkout into the build. The last matching rule decides."""
    inside = True
    for rule in CONTEXT_RULES:
        pattern = rule.removeprefix("!")
        if any(fnmatch.fnmatch(each, pattern) for each in (path, path.split("/")[0], f"**/{path.rsplit('/', 1)[-1]}")):
            inside = rule.startswith("!")
    return inside


def test_build_context_holds_only_what_is_copied() -> None:
    copied = {
        source
        for one in steps(DOCKERFILE)
        if one.name == "COPY" and "--from=" not in one.rest
        for source in one.words[:-1]
    }
    allowed = {one.removeprefix("!") for one in CONTEXT_RULES if one.startswith("!")}
    assert allowed - {"instantclient"} == copied, "beside the folder that a build argument may name"
    assert not in_context("service/__pycache__") and not in_context("dashboards") and not in_context(".git")


def test_image_and_makefile_use_the_same_uv() -> None:
    (version,) = re.findall(r"^UV_VERSION := (\S+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert f'"uv=={version}"' in DOCKERFILE


def test_image_has_the_version_of_the_project() -> None:
    (version,) = re.findall(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert f'image.version="{version}"' in DOCKERFILE
    assert f"image: latchscope:{version}" in (ROOT / "docker-compose.yml").read_text("utf-8")


# What the Dockerfile does, without an engine.


def unprivileged() -> dict[str, object]:
    """Makes subprocess run as an unprivileged user; empty if we are not root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def python_for_everybody() -> str:
    """A Python of 3.11 or newer that an unprivileged user may run."""
    for one in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        probe = [os.path.realpath(one), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(probe, check=False, cwd="/", **unprivileged()).returncode == 0:  # type: ignore[call-overload]
                return probe[0]
        except OSError:
            continue
    pytest.skip(f"no Python >= 3.11 that uid {NOBODY} may run")


@pytest.fixture(scope="module")
def image() -> Iterator[Path]:
    """/opt/latchscope as the build stage makes it: the same files, the same two `uv sync`."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    root = Path(tempfile.mkdtemp(prefix="latchscope-image-"))
    root.chmod(0o755)
    source, target = root / "src", root / "opt"
    source.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "UV_PROJECT"))},
        "UV_PROJECT_ENVIRONMENT": str(target),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_PYTHON": python_for_everybody(),
    }
    for step in steps(DOCKERFILE):
        if step.stage == 0 and step.name == "COPY":
            *names, folder = step.words
            for name in names:
                copy_in(ROOT / name, source / folder if len(names) == 1 and folder != "./" else source / name)
        if step.stage == 0 and step.name == "RUN" and step.argv and step.argv[0] == "uv":
            # The engine has no cache to spare; here it saves the downloads.
            command = [uv, *(one for one in step.argv[1:] if one != "--no-cache")]
            done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    shutil.rmtree(source)
    yield target
    shutil.rmtree(root)


def copy_in(path: Path, to: Path) -> None:
    """A file or folder of the context, without what .dockerignore leaves out."""
    if path.is_dir():
        shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(path, to)


@pytest.fixture(scope="module")
def address(image: Path) -> Iterator[str]:
    """The entry point, run by an unprivileged user in a separate folder."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="latchscope-nobody-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        environment = {"PATH": f"{image}/bin:/usr/bin:/bin", "TMPDIR": name, "PYTHONDONTWRITEBYTECODE": "1"}
        (entry,) = [one.argv for one in steps(DOCKERFILE) if one.name == "ENTRYPOINT"]
        assert entry is not None
        command = [str(image / "bin" / entry[0]), "demo", "--port", str(port)]
        log = Path(tempfile.gettempdir()) / f"{folder.name}.log"
        with running(command, log, cwd=folder, env=environment, **unprivileged()) as process:
            eventually(lambda: fetch(f"http://127.0.0.1:{port}/healthz")[0] == 200 or None, log.read_text)
            if os.geteuid() == 0:
                assert Path(f"/proc/{process.pid}").stat().st_uid == NOBODY
            yield f"http://127.0.0.1:{port}"
        # uvicorn shuts down in order and then passes the signal on.
        assert process.returncode in (0, -15) and "latchscope: stopped" in log.read_text(), log.read_text()
        log.unlink()


def test_image_holds_no_development_tools(image: Path) -> None:
    names = {path.name for path in (image / "bin").iterdir()}
    assert "latchscope" in names and not {"pytest", "ruff", "mypy"} & names


def test_health_check_passes_when_served_and_fails_otherwise(address: str, image: Path) -> None:
    (check,) = [one.argv for one in steps(DOCKERFILE) if one.name == "HEALTHCHECK"]
    assert check is not None
    command = [str(image / "bin" / check[0]), *(one.replace("http://127.0.0.1:8000", address) for one in check[1:])]
    assert subprocess.run(command, check=False, cwd="/", **unprivileged()).returncode == 0  # type: ignore[call-overload]
    closed = [one.replace(address, f"http://127.0.0.1:{free_port()}") for one in command]
    assert subprocess.run(closed, check=False, cwd="/", stderr=subprocess.DEVNULL).returncode != 0


def test_image_ships_templates_styles_and_causes(address: str) -> None:
    status, page = fetch(f"{address}/")
    assert status == 200 and "undo-storm" in page
    for sheet in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert fetch(f"{address}{sheet}")[0] == 200
    assert {one["id"] for one in fetch_json(f"{address}/api/v1/causes")} == set(catalogue())
    for name in ("reading", "sql", "licences"):
        assert fetch(f"{address}/docs/{name}.html")[0] == 200


def test_image_is_ready_and_gives_metrics(address: str) -> None:
    assert fetch(f"{address}/readyz")[0] == 200
    assert "latchscope_up{" in fetch(f"{address}/metrics")[1]
