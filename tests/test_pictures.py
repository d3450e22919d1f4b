"""The pictures of the pages are what their code draws, for light and dark pages. `python docs/pictures/draw.py` draws
them anew."""

import json
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = sorted(path.stem for path in (DOCS / "pictures").glob("*.svg"))


@pytest.fixture(autouse=True)
def beside_the_pictures(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "pictures"))
    yield
    for name in ("draw", "canvas", *PICTURES):  # names as short as these belong to nobody else
        sys.modules.pop(name, None)


def test_every_picture_is_drawn_by_the_script():
    assert sorted(import_module("draw").PICTURES) == PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_code_draws_and_is_on_a_page(name):
    drawn = (DOCS / "pictures" / f"{name}.svg").read_text()
    assert drawn == import_module(name).picture()
    pages = dict.fromkeys(DOCS.glob("*.md"), "pictures") | {DOCS.parent / "README.md": "docs/pictures"}
    assert any(f"]({folder}/{name}.svg)" in page.read_text() for page, folder in pages.items())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_a_title_and_stays_within_its_card(name):
    root = ElementTree.parse(DOCS / "pictures" / f"{name}.svg").getroot()
    ns = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{ns}title").text
    width, height = (float(one) for one in root.get("viewBox").split()[2:])
    for one in root.iter(f"{ns}rect"):
        assert float(one.get("x", 0)) + float(one.get("width")) <= width
        assert float(one.get("y", 0)) + float(one.get("height")) <= height
    for one in root.iter(f"{ns}text"):
        assert 0 <= float(one.get("x")) <= width and 0 <= float(one.get("y")) <= height


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_names_colours_that_light_and_dark_pages_have(name):
    canvas = import_module("canvas")
    assert canvas.LIGHT.keys() == canvas.DARK.keys()
    drawn = (DOCS / "pictures" / f"{name}.svg").read_text()
    used = {one.partition(")")[0] for one in drawn.split("var(--")[1:]}
    assert used <= canvas.LIGHT.keys()


@pytest.mark.parametrize("path", [*DOCS.glob("*.svg"), *DOCS.glob("pictures/*.svg")], ids=lambda path: path.stem)
def test_a_picture_follows_light_and_dark_pages(path):
    assert "@media (prefers-color-scheme:dark)" in path.read_text().replace("scheme: ", "scheme:")


def test_a_pipeline_with_three_buffers_overlaps_its_stages_in_order():
    pipeline = import_module("pipeline")
    for buffers in (1, 2, 3):
        blocks = pipeline.schedule(buffers)
        for stage in range(3):
            spans = [one[stage] for one in blocks]
            assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        assert all(one[0][0] >= blocks[at - buffers][-1][1] for at, one in enumerate(blocks) if at >= buffers)
    each = sum(pipeline.STAGES.values())
    assert pipeline.schedule(1)[-1][-1][1] == pipeline.BLOCKS * each
    assert pipeline.schedule(3)[-1][-1][1] < pipeline.schedule(1)[-1][-1][1]


def test_the_timelines_are_those_of_real_reports():
    """Every partition has its spans, in the order of the columns of a report."""
    engines = import_module("engines")
    runs = json.loads(engines.RECORD.read_text())
    assert [run["engine"] for run in runs] == list(engines.ENGINES)
    for run in runs:
        assert len(run["partitions"]) == engines.PARTS
        for part in run["partitions"]:
            spans = engines.joined(run, part)
            assert sum(length for _, length, _ in spans) == pytest.approx(sum(map(sum, part)))
            assert all(one[2] != other[2] for one, other in pairwise(spans))
