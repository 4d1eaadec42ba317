"""Misuse of the command: one line that says what, where and the way out, whatever the library prints."""

from typer.testing import CliRunner

from service.cli.main import cli

MISUSE = {
    ("chekc",): "latchscope: there is no command chekc; did you mean check? `latchscope --help` has the rest\n",
    ("diagnose",): "latchscope: diagnose: FILE… is missing; `latchscope diagnose --help` has the rest\n",
    ("diagnose", "x", "--forma", "json"): "latchscope: diagnose: there is no option --forma; did you mean --format?",
    (
        "diagnose",
        "x",
        "--format",
        "pdf",
    ): "latchscope: diagnose: --format: 'pdf' is not one of 'text', 'json', 'markdown', 'html';",
    ("demo", "--port", "x"): "latchscope: demo: --port: 'x' is not a number;",
    ("demo", "--port", "99999"): "latchscope: demo: --port: 99999 is out of range: 0 to 65535;",
    ("grants", "x"): "latchscope: grants: x is an extra argument;",
}


def test_misuse_is_one_line_with_the_way_out() -> None:
    for words, said in MISUSE.items():
        told = CliRunner().invoke(cli, list(words), prog_name="latchscope")
        assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1), (words, told.output)
        assert told.stderr.startswith(said), (words, told.stderr)


def test_command_without_its_subcommand_prints_its_help() -> None:
    for words in ((), ("causes",), ("study",), ("config",)):
        told = CliRunner().invoke(cli, list(words), prog_name="latchscope")
        assert told.exit_code == 2 and "Usage: latchscope" in told.output, words
