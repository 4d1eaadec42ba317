"""SKILL.md: what it names exists, what it prints runs, and a scripted assistant answers with it and the tools alone."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from docs.interface import interface
from rules.cause import catalogue
from service.cli.main import cli
from service.cli.mcp import SKILL
from tests.paths import STORM
from tests.service.stage import Stage
from tests.service.test_assistants import OnStage, assistant_server, called, connected

HIDDEN = "users-mutex"
"""Its sessions are not read on this stage, so that causes stay open."""
VALUES = {"low", "info"}
WAITS = {"latch: row cache objects", "row cache lock", "row cache mutex", "library cache lock"}
OTHERS = {"notice", "data", "oradebug"}
"""Members around each answer, and a command of Oracle's that is advised against."""


def skill() -> str:
    done = CliRunner().invoke(cli, ["mcp", "--skill"])
    assert done.exit_code == 0, done.output
    return done.stdout


def section(heading: str) -> str:
    return skill().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def listed() -> dict[str, str]:
    """Each tool with its description, as a client sees them."""

    async def ask() -> dict[str, str]:
        async with connected(assistant_server(lambda token: None, Path())) as client:
            return {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnStage]:
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(patch, tmp_path_factory.mktemp("skill"))
        for moment in (40, 42, 44):
            stage.poll("undo-storm", moment)
            stage.poll(HIDDEN, moment)
        yield OnStage(stage.app())
        stage.close()


def test_skill_is_printed_without_the_extra_and_has_its_front_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.extras.find_spec", lambda name: None)
    text = skill()
    assert text == SKILL.read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)
    assert set(head) == {"name", "description"} and head["name"] == "latchscope"
    assert 0 < len(head["description"]) <= 1024 and "Do not use it" in head["description"]
    assert body.lstrip().startswith("# latchscope") and len(text.splitlines()) <= 500


def test_skill_names_only_tools_and_fields_that_exist() -> None:
    text = re.sub(r"```.*?```", "", skill(), flags=re.S)
    fields = {name.name for name in interface() if name.kind == "field"}
    known = set(listed()) | fields | {name.removeprefix("[].") for name in fields} | VALUES | WAITS | OTHERS
    assert [word for word in re.findall(r"`([^`]+)`", text) if " ".join(word.split()) not in known] == []


def test_skill_names_each_tool_in_one_row() -> None:
    assert sorted(re.findall(r"\| `(\w+)` \|", section("What to run"))) == sorted(listed())


def test_commands_of_the_skill_run() -> None:
    commands = re.findall(r"^latchscope (.+)$", "".join(re.findall(r"```\n(.*?)```", skill(), re.S)), re.M)
    assert len(commands) == 3
    for command in commands:
        done = CliRunner().invoke(cli, command.replace("FILE", str(STORM)).split())
        assert done.exit_code == 0 and done.stdout, (command, done.output)


def test_skill_warns_of_what_the_causes_warn_of() -> None:
    """Each thing it forbids is one that the knowledge base forbids too."""
    never = section("What never to advise")
    causes = " ".join(f"{cause.do_not} {cause.measured_do_not or ''}" for cause in catalogue().values())
    for said, rests_on in (
        ("below 2 %", "They cost little while nobody sleeps"),
        ("LCK0", "Do not kill LCK0"),
        ("SMON", "do not kill SMON or MMON"),
        ("sessions that wait", "Do not kill a session that waits behind it"),
        ("restart", "Do not restart the application"),
        ("Flushing the shared pool", "Do not flush the shared pool. Every entry would have to be loaded again."),
    ):
        assert said in never, said
        assert rests_on in causes, rests_on


def test_each_tool_says_its_purpose_when_not_to_use_it_what_it_returns_and_how_it_fails() -> None:
    for name, said in listed().items():
        purpose, _, rest = said.partition("\n\n")
        assert len(purpose.split()) >= 5 and "\n" not in purpose.strip(), name
        for part in ("Not ", "Returns", "fail"):
            assert part in rest or part.capitalize() in rest, f"{name}: no {part!r}"


# A scripted assistant: it knows SKILL.md and the tools, and nothing else.


class Assistant:
    """It looks up the tool for a question in the skill, calls it, and answers with fields and their paths."""

    def __init__(self, rest: OnStage) -> None:
        self._server = assistant_server(lambda token: rest)
        self._tools = dict(re.findall(r"^\| ([^|]+?) \| `(\w+)` \|$", section("What to run"), re.M))

    def ask(self, question: str, **arguments: str) -> Any:
        ((failed, text),) = called(self._server, (self._tools[question], arguments))
        assert not failed, text
        return json.loads(text)["data"]

    @staticmethod
    def cited(heading: str, data: Any, of: str) -> dict[str, Any]:
        """The fields of the first `of` that a section of the skill says to give: path → value."""
        paths = dict.fromkeys(re.findall(rf"`({of}\[\]\.[a-z_.]+)`", section(heading)))
        return {path: at(data, path) for path in paths}


def at(data: Any, path: str) -> Any:
    """The value at a path; of a list its first element."""
    for part in path.split("."):
        data = data[part.removesuffix("[]")]
        data = data[0] if part.endswith("[]") else data
    return data


def test_assistant_says_which_database_has_a_problem(rest: OnStage) -> None:
    rows = Assistant(rest).ask("Which database has a problem?")
    sick = {row["name"]: row["headline"] for row in rows if row["severity"] not in (None, "info")}
    real = {row["name"]: row for row in rest.get("/databases")}
    assert set(sick) == {"undo-storm", HIDDEN}
    assert sick == {name: real[name]["headline"] for name in sick}


def test_assistant_says_what_is_wrong_and_what_helps_with_the_words_of_the_diagnosis(rest: OnStage) -> None:
    diagnosis = Assistant(rest).ask("What is wrong with one, and what helps?", database="undo-storm")
    answer = Assistant.cited("What to say", diagnosis, "findings")
    assert list(answer) == [f"findings[].{name}" for name in ("do_now", "check_first", "risk", "do_not")]
    believed = Assistant.cited("What to believe", diagnosis, "findings")
    real = rest.get("/databases/undo-storm/diagnosis")
    for path, value in (answer | believed).items():
        assert value == at(real, path), path
    assert answer["findings[].do_now"].startswith("Switch to a new undo tablespace.")
    assert answer["findings[].do_not"].startswith("Do not drop the old undo tablespace right after the switch.")
    assert believed["findings[].confidence"] == "high"
    assert 0 < believed["findings[].reliability.right"] <= believed["findings[].reliability.of"]
    advice = f"{answer['findings[].do_now']} {diagnosis['headline']}".lower()
    assert not re.search(r"shared pool|kill|restart|flush|hit ratio", advice)


def test_assistant_says_cannot_tell_with_what_is_missing_and_the_way_out(rest: OnStage) -> None:
    diagnosis = Assistant(rest).ask("What is wrong with one, and what helps?", database=HIDDEN)
    real = rest.get(f"/databases/{HIDDEN}/diagnosis")
    answer = Assistant.cited("What to believe", diagnosis, "undetermined")
    assert set(answer) == {"undetermined[].missing", "undetermined[].way_out"} and all(answer.values())
    assert answer == {path: at(real, path) for path in answer}
    found = {finding["cause"] for finding in diagnosis["findings"]}
    assert at(diagnosis, "undetermined[].cause") not in found, "what is open is not said to be found"
    ruled = Assistant.cited("What to believe", diagnosis, "ruled_out")
    assert ruled == {"ruled_out[].because": real["ruled_out"][0]["because"]}
