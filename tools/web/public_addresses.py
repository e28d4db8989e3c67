"""Which addresses and URLs are of the public web: everything else is refused before a connection is made."""

import ipaddress
import re
import socket

import httpx2

from agentic_memory_bank.state.errors import ToolError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LONGEST_URL = 4_096
_PORTS = (None, 80, 443)  # 8080 and 8443 are where consoles and proxies listen, hardly ever what a search finds


class WebError(ToolError):
    """A request to the web failed.

    Args:
        status: What the server answered with, if it did.
        may_pass: Whether the same request may succeed a little later.
    """

    def __init__(self, message: str, *, status: int | None = None, may_pass: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.may_pass = may_pass


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[_Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


_OWN = _networks(
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    *("::1/128", "fc00::/7"),
)

_NEVER = _networks(  # and what Python knows not to be global: link-local, with most metadata servers, and the rest
    *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::/32"),  # metadata servers of clouds
    *("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20"),  # protocols, tunnels, documentation
)

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # mapped, translated, site-local and unassigned ones are outside
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the third quarter of an address that has an IPv4 address as its last


def parsed(address: str) -> _Address | None:
    """An IP address in its usual spelling; None for anything else."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    return None if getattr(found, "scope_id", None) else found


def may_be_reached(address: _Address, allow_private: bool) -> bool:
    """Whether an address may be connected to.

    Args:
        address: As `parsed` reads it.
        allow_private: Also loopback, RFC 1918, carrier (100.64.0.0/10) and unique local addresses; never link-local,
            metadata, multicast, reserved, or IPv6 addresses that stand for IPv4 ones.
    """
    if any(address in network for network in _NEVER):
        return False
    if any(address in network for network in _OWN):
        return allow_private
    if address.version == 6 and (address not in _GLOBAL_UNICAST or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP):
        return False
    return address.is_global and not address.is_multicast


def behind(address: _Address) -> _Address:
    """Return the IPv4 address that a NAT64 gateway would connect to, or the address itself."""
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 else address


def addresses_of(host: str) -> list[str]:
    """Return every address of a host, IPv4 and IPv6, as the system's resolver knows them.

    Raises:
        OSError: There is none, or no name server answers.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


_ODD = re.compile(r"[\x00-\x1f\x7f\\]")
_AUTHORITY = re.compile(r"[a-z]+://([^/?#]*)", re.IGNORECASE)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # what a resolver may take for an IPv4 address

_LOCAL_NAME = re.compile(
    r"[^.]+|(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|onion)"
)

_METADATA_NAME = re.compile(r"(?:.*\.)?(?:metadata(?:\.google\.internal|\.goog)?|instance-data(?:\..*)?)")


def checked_url(text: str, allow_private: bool) -> httpx2.URL:
    """Parse a URL and check all that can be checked without asking for the addresses of its host."""
    text = text.strip()
    if len(text) > _LONGEST_URL or _ODD.search(text):
        raise WebError("This URL is too long, or has characters that no URL has. Use one as it was found.")
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as fault:
        raise WebError(f"This is no URL ({fault}). Give one like https://example.org/page.") from None
    authority = _AUTHORITY.match(text)
    if url.scheme not in ("http", "https") or authority is None or not url.host:
        raise WebError("Only pages of the web can be opened. Give a URL that begins with https:// or http://.")
    if "@" in authority[1]:
        raise WebError("This URL holds a user name or password, which are not sent. Give it without them.")
    if url.port not in _PORTS and not allow_private:
        raise WebError(f"Port {url.port} is not one of public web pages (80 and 443). Use another page.")
    _check_host(url.raw_host.decode("ascii"), allow_private)
    return url


def _check_host(host: str, allow_private: bool) -> None:
    if parsed(host) is not None:
        return
    if not _NAME.fullmatch(host) or len(host) > 253 or _NUMBER.fullmatch(host):
        raise WebError(f"{host!r} is not the name of a host as it is usually written. Give its usual name.")
    if _METADATA_NAME.fullmatch(host) or (_LOCAL_NAME.fullmatch(host) and not allow_private):
        raise not_public(host)


def not_public(host: str) -> WebError:
    """The error for a host that is not on the public web."""
    return WebError(f"{host} is not on the public web, and nothing else is opened. Use a public page.")
