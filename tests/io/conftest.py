"""Where the real graphs are: `../shared/data` beside the project, or the folder that DGRAPH_DATA names."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("DGRAPH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


@pytest.fixture(scope="session")
def data():
    """A function from the name of a real file to its path; a test whose file is absent is skipped under that name."""

    def find(name: str) -> str:
        if not (DATA / name).exists() and not list(DATA.glob(name)):
            pytest.skip(f"REAL DATA MISSING: {DATA / name} (set DGRAPH_DATA to the folder of the public graphs)")
        return str(DATA / name)

    return find


@pytest.fixture
def put(tmp_path):
    """Writes a small file and returns its path."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write
