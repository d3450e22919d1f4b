"""The pipeline of a daemon: three buffers, so that one block is downloaded, one computed and one uploaded at a time."""

from __future__ import annotations

from canvas import bar, svg, text

STAGES = {"download": 2.0, "compute": 3.0, "upload": 1.5}  # units of time that a block takes in each
BLOCKS, BUFFERS = 7, 3
LEFT, UNIT, ROW = 110, 14, 34
COLOURS = ("first", "second", "third")


def schedule(buffers: int) -> list[list[tuple[float, float]]]:
    """For each block, when each stage begins and ends: a stage has one block at a time, in order, and a block needs a
    buffer that no earlier block still uses."""
    blocks: list[list[tuple[float, float]]] = []
    for number in range(BLOCKS):
        ready = blocks[number - buffers][-1][1] if number >= buffers else 0.0
        spans = []
        for stage, takes in enumerate(STAGES.values()):
            begin = max(ready, blocks[-1][stage][1] if blocks else 0.0)
            ready = begin + takes
            spans.append((begin, ready))
        blocks.append(spans)
    return blocks


def picture() -> str:
    parts = []
    for at, (buffers, top) in enumerate(((BUFFERS, 30), (1, 190))):
        blocks = schedule(buffers)
        end = blocks[-1][-1][1]
        heading = "three buffers: the stages overlap" if at == 0 else "one buffer: each stage waits for the others"
        parts.append(text(20, top, f"{heading} ({end:g} units of time)", bold=True))
        for stage, name in enumerate(STAGES):
            y = top + 12 + ROW * stage
            parts += [text(LEFT - 10, y + 20, name, "faint", "end"), bar(LEFT, y, UNIT * end, ROW - 6, "pale")]
            for number, spans in enumerate(blocks):
                begin, over = spans[stage]
                x, width = LEFT + UNIT * begin, UNIT * (over - begin) - 1.5
                parts.append(bar(x, y, width, ROW - 6, COLOURS[number % buffers]))
                parts.append(text(round(x + width / 2, 1), y + 19, str(number + 1), "on", "middle", 12))
    parts.append(text(20, 332, "Numbers are blocks of edges; a colour is a buffer.", "faint"))
    width = int(LEFT + UNIT * schedule(1)[-1][-1][1] + 20)
    title = "With three buffers, one block is downloaded while the one before is computed and an earlier one uploaded"
    return svg(width, 346, title, parts)
