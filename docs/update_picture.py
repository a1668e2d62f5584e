"""Draw the first screen of the report on the papers' claims, which README and gallery show.

Usage: dpcp-audit run --report json=papers.json
       python docs/update_picture.py papers.json

A Chromium on PATH draws it. The counts that it shows are written into the picture as text, too:
``tests/docs/test_readme.py`` compares them with those of the README.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from dpcp_audit.reports.document import load
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.summary import read

PICTURE = Path(__file__).parent / "report.png"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WINDOW = (1280, 1120)


def main(arguments: list[str]) -> int:
    """Draw the report of a results file."""
    (path,) = arguments
    document = load(Path(path))
    reading = read(document)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        print(f"update_picture.py needs one of {', '.join(_BROWSERS)}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        page, drawn = Path(folder, "report.html"), Path(folder, "report.png")
        page.write_text(render_html(document), encoding="utf-8")
        size = f"--window-size={_WINDOW[0]},{_WINDOW[1]}"
        modes = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size)
        command = [browser, *modes, f"--screenshot={drawn}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        shown = PngInfo()
        shown.add_text("claims", str(len(reading.entries)))
        shown.add_itxt("headline", reading.headline)
        shown.add_itxt("overall", reading.overall)
        with Image.open(drawn) as image:
            image.convert("P", palette=Image.Palette.ADAPTIVE).save(PICTURE, pnginfo=shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
