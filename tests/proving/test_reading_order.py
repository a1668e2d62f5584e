"""The page for maintainers names each file of the verifier, once in its table or in the text."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/maintaining/proofs.md").read_text("utf-8")


def test_each_file_has_its_place_in_the_order_of_reading() -> None:
    files = {path.stem for path in (ROOT / "dpcp_audit/proving").glob("*.py")} - {"__init__"}
    listed = re.findall(r"`(\w+)` \d+", PAGE)
    assert len(set(listed)) == len(listed)
    assert set(listed) <= files
    assert all(f"`{name}`" in PAGE for name in files - set(listed))
