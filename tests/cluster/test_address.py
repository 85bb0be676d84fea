"""Addresses of an interface that has several."""

import socket
from types import SimpleNamespace

import psutil
import pytest

from pacs.cluster.ray_node import interface_of, own_address


def test_an_interface_may_have_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [SimpleNamespace(family=socket.AF_INET, address=address) for address in ("10.0.0.5", "10.0.0.250")]
    link = SimpleNamespace(family=psutil.AF_LINK, address="00:00:00:00:00:00")
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"ib0": [link, *entries], "down": [link]})
    assert own_address("ib0", alone=False) == "10.0.0.5"
    assert [interface_of(address) for address in ("10.0.0.5", "10.0.0.250", "10.0.0.6")] == ["ib0", "ib0", None]


def test_an_empty_variable_names_no_interface() -> None:
    """As PACS_INTERFACE= in a job's environment; the scripts take the others of theirs so, too."""
    assert own_address("", alone=True) == own_address(None, alone=True)
