"""What fuzzing writes goes with the process."""

import subprocess
import sys
from pathlib import Path

import targets


def test_reading_mutated_inputs_keeps_nothing_in_memory():
    code = "import targets; targets.read_file('.csv', b'1,2'); print(targets.FOLDER)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(targets.__file__).parent
    )
    assert not Path(done.stdout.strip()).exists()
