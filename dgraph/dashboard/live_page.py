"""Adds the live page to the dashboard of a scheduler, if it shows one. Bokeh is imported where the dashboard has
imported it, and the page itself when somebody opens it."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from dgraph.dashboard.live_history import LiveHistory

PATH = "/dgraph"


def show_live_page(scheduler: Any, history: LiveHistory) -> bool:
    """Add the page to the dashboard; returns whether there is one. Without Bokeh, Dask shows none."""
    application: Any = getattr(scheduler, "http_application", None)
    if not getattr(application, "applications", None):
        return False
    try:
        from distributed.dashboard.core import BokehApplication

        pages = BokehApplication({PATH: partial(_fill, history)}, scheduler)
        pages.initialize(scheduler.loop)
        pages.start()
    except Exception:  # no run needs the page
        logging.getLogger("distributed.scheduler").exception("dgraph's live page cannot be shown")
        return False
    application.add_application(pages)
    return True


def _fill(history: LiveHistory, scheduler: Any, extra: Any, doc: Any) -> None:
    """Called by Bokeh when somebody opens the page."""
    from dgraph.dashboard.live_charts import fill

    fill(doc, history, scheduler)
