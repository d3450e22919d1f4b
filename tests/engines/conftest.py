"""Engines are tested on partitions as they are, however many."""

import pytest


@pytest.fixture(autouse=True)
def as_they_are(apart):
    """Eight partitions would be joined."""
