"""Plots of results, one per file. The code that measures is one folder up.

A suite finds a plot by the name of its file, which defines a function and a constant:

    READS = "trials"             rows are trials: the labels of the case (operation, graph, setting ...) and its figures
    READS = "report"             rows are those of the runs' reports, one per superstep and partition, with the labels

    def draw(rows, path=None, **options) -> str:
        with Drawing("What is shown", across=2) as drawing:
            left, right = drawing.axes
            left.bar(...)
            return drawing.save(path)          # writes a PNG if there is a path; returns SVG for the HTML report

`style.py` imports matplotlib when something is drawn, and defines the colours.
"""
