"""Write the table of claims by kinds into the page on shapes.

Usage: python docs/update_shapes.py
"""

from __future__ import annotations

from pathlib import Path

from dpcp_audit.target_checks.check_options import REFUSED
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.words.options import dashed

PAGE = Path(__file__).parent / "howto" / "shapes.md"
HEAD, END = "## Which claims of which kinds\n", "## Wrong uses\n"
_ABOUT = """
Differential privacy (`pure-dp`, `approx-dp`, `zcdp`, `renyi-dp`, `gaussian-dp` or `gdp`) is
can be claimed for every kind. Other claims fit some kinds only:

"""


def section() -> str:
    """Return the table, and below it what to do where a claim is refused."""
    names = [dashed(claim) for claim in REFUSED]
    lines = [f"| | {' | '.join(f'`{name}`' for name in names)} |", "|:--" * (len(names) + 1) + "|"]
    for kind in Kind:
        cells = ["–" if kind in refused else "yes" for refused in REFUSED.values()]
        lines.append(f"| `{kind}` | {' | '.join(cells)} |")
    advice = [f"- {words}." for words in _advice()]
    intro = "\n\nIf a claim does not fit the kind, the message says what to do:\n\n"
    return _ABOUT + "\n".join(lines) + intro + "\n".join(advice) + "\n\n"


def _advice() -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for claim, refused in REFUSED.items():
        for words in dict.fromkeys(refused.values()):
            kinds = _listed([kind for kind in refused if refused[kind] == words])
            found.setdefault((kinds, words), []).append(dashed(claim))
    return [f"{_listed(claims)} for {kinds}: {words}" for (kinds, words), claims in found.items()]


def _listed(kinds: list[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


def page(text: str) -> str:
    """Return the page with the table as it is now."""
    before, rest = text.split(HEAD)
    _, after = rest.split(END)
    return f"{before}{HEAD}{section()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
