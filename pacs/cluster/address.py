"""Under which address the other nodes reach this one."""

import socket
from ipaddress import ip_address

import psutil

from pacs.cluster.rendezvous import ClusterError

#: Chooses the head's network interface; the others take the one that leads there.
INTERFACE = "PACS_INTERFACE"
CONNECT_SECONDS = 5.0


def own_address(interface: str | None, *, alone: bool) -> str:
    """This node's IPv4 address for the other nodes.

    Args:
        interface: the interface to take; None: that of the host's name, else that of the default route.
        alone: whether there are no others, so that the loopback will do.

    Raises:
        ClusterError: If there is no such interface, or only the loopback.
    """
    if interface is not None:
        found = _addresses()
        if interface not in found:
            lacks = f"{socket.gethostname()} has no such interface with an IPv4 address"
            raise ClusterError(f"{INTERFACE}={interface}: {lacks}; it has {', '.join(sorted(found))}.")
        return found[interface][0]
    for address in (_of_the_name(), _towards("192.0.2.1", 9)):  # one that no host has: only its route is asked for
        if address is not None and not ip_address(address).is_loopback:
            return address
    if alone:
        return "127.0.0.1"
    raise ClusterError(
        f"{socket.gethostname()} has no address that other nodes could reach by its name or its default route: set "
        f"{INTERFACE} to one of {', '.join(sorted(_addresses()))}."
    )


def address_towards(head: str) -> str:
    """This node's address on the way to the head's Ray ("host:port").

    Raises:
        OSError: If nothing answers there.
    """
    host, port = head.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS) as connection:
        return str(connection.getsockname()[0])


def interface_of(address: str) -> str | None:
    """The name of the interface with this address."""
    return next((name for name, own in _addresses().items() if address in own), None)


def _addresses() -> dict[str, list[str]]:
    """Interface -> its IPv4 addresses, of those that have any."""
    found = {
        name: [entry.address for entry in entries if entry.family == socket.AF_INET]
        for name, entries in psutil.net_if_addrs().items()
    }
    return {name: addresses for name, addresses in found.items() if addresses}


def _of_the_name() -> str | None:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return None


def _towards(host: str, port: int) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        try:
            datagrams.connect((host, port))
        except OSError:
            return None
        return str(datagrams.getsockname()[0])
