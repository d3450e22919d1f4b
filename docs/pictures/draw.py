"""Draws the pictures of the pages: python docs/pictures/draw.py

Each file beside this one that has a function `picture` becomes an SVG of the same name.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
PICTURES = ("overview", "idea", "proxies", "engines", "pipeline")

if __name__ == "__main__":
    for name in PICTURES:
        (HERE / f"{name}.svg").write_text(import_module(name).picture())
