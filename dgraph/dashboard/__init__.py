"""The live page of a Dask cluster's dashboard: what runs do while they go on. Only `live_charts.py` needs Bokeh."""
