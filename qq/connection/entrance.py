"""Checks of Host, Origin and secret, which all entrances make before they read anything else of a request.

An entrance is anything that the server answers on: the reverse WebSocket of QQ clients and the local page. Browsers
send requests on behalf of every page that they display, so a foreign page can reach an entrance too. It cannot hide its
`Origin`. If it uses a domain name of its own that resolves to this machine (DNS rebinding), it cannot hide that name
either, which is the `Host`.
"""

import hmac
import ipaddress
import re
from collections.abc import Sequence

from starlette.datastructures import Headers

# RFC 3986 without the user information, which is never part of a Host header.
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}
_SCHEMES = frozenset({"bearer", "token"})


def is_for_this_machine(headers: Headers) -> bool:
    """Return whether the host of the request is localhost or a loopback address."""
    host, _ = _host_and_port(headers.getlist("host"))
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_from_own_page(headers: Headers) -> bool:
    """Return whether the request was sent by a page with exactly the host and port that the request goes to."""
    origins = headers.getlist("origin")
    if len(origins) != 1:
        return False
    scheme, separator, authority = origins[0].partition("://")
    default_port = _PORTS.get(scheme.lower())
    if not separator or default_port is None:
        return False
    origin = _host_and_port([authority], default_port)
    # Behind a proxy that terminates TLS, the Host header has no port either.
    return origin != ("", None) and origin == _host_and_port(headers.getlist("host"), default_port)


def is_from_page_elsewhere(headers: Headers) -> bool:
    """Return whether a browser sent the request for a page that is not the bot's own. QQ clients send no Origin."""
    return "origin" in headers and not is_from_own_page(headers)


def bearer_token(headers: Headers) -> str:
    """Return the token of the `Authorization` header, or an empty string if the header is missing or repeated.

    OneBot clients write the scheme as `Bearer` or `Token`, in any case.
    """
    values = headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token if scheme.lower() in _SCHEMES else ""


def is_same_secret(given: str, expected: str) -> bool:
    """Compare two secrets in a time that does not reveal how much of `given` is correct."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _host_and_port(values: Sequence[str], default_port: int | None = None) -> tuple[str, int | None]:
    """Return the host name or address in lower case without a trailing dot, and the port.

    The host is empty if the value is malformed or not unique.
    """
    match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
    if match is None:
        return "", None
    host = (match["ipv6"] or match["name"]).lower().removesuffix(".")
    return host, int(match["port"]) if match["port"] else default_port
