"""NetworkX in this process knows the backend, and does not warn about the cache that it is told to use."""

import networkx as nx
import pytest
from networkx.utils import backends
from networkx_registered import is_registered

from dgraph.networkx_backend.entry_points import backend, backend_info


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})
    if is_registered():
        return
    monkeypatch.setitem(backends._loaded_backends, "dgraph", backend)
    monkeypatch.setitem(backends.backends, "dgraph", None)
    monkeypatch.setitem(backends.backend_info, "dgraph", backend_info())
    call = backends._dispatchable._call_if_any_backends_installed
    monkeypatch.setattr(backends._dispatchable, "__call__", call)
