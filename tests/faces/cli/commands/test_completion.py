"""What a shell completes after the script of ``dpcp-audit completion`` was read."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.faces.cli import start_commands
from dpcp_audit.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

_ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_shtab_dpcp_audit
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["dpcp-audit", "sel"], {"selftest"}),
        (["dpcp-audit", "check", "--approx"], {"--approx-dp"}),
        (["dpcp-audit", "run", "--profile", "s"], {"smoke"}),
        (["dpcp-audit", "check", "--kind", "quan"], {"quantile"}),
        (["dpcp-audit", "run", "--suite", "train"], {"training"}),
        (["dpcp-audit", "theorem", "pcoqs-p"], {"pcoqs-proposition-1"}),
        (["dpcp-audit", "replay", "pcoqs.eps"], {"pcoqs.epsilon-equivalence"}),
        (["dpcp-audit", "report", "kep"], {"kept.json"}),
    ],
)
def test_bash_completes_commands_options_choices_and_files(
    words: list[str],
    completed: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "script.sh"
    script.write_text(capsys.readouterr().out)
    (tmp_path / "kept.json").write_text("{}")
    asked = ["bash", "--norc", "-c", _ASK, "ask", str(script), *words]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert set(done.stdout.split()) == completed, done.stderr


@pytest.mark.parametrize("shell", start_commands.SHELLS)
def test_every_shell_has_a_script_that_names_the_commands(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    assert "compare-calibrators" in capsys.readouterr().out
