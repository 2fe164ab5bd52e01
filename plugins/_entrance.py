"""What the entrances of the bot check before they read anything of a request: Host, Origin and secret.

An entrance is whatever the server answers on: the reverse WebSocket of QQ clients and the local page. Browsers make
requests for every page that they show, so that a page elsewhere can knock here too. It cannot hide its `Origin`, and
with a name of its own that points to this machine (DNS rebinding) it cannot hide that name, which is the `Host`.
"""

import hmac
import ipaddress
import re
from collections.abc import Sequence

from starlette.datastructures import Headers

# RFC 3986 without user information, which is never part of a Host header.
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}
_SCHEMES = frozenset({"bearer", "token"})


def is_for_this_machine(headers: Headers) -> bool:
    """Return whether the request names a loopback address or localhost as its host."""
    host, _ = _host_and_port(headers.getlist("host"))
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_from_own_page(headers: Headers) -> bool:
    """Return whether a page of the very host and port that the request goes to has sent it."""
    origins = headers.getlist("origin")
    if len(origins) != 1:
        return False
    scheme, separator, authority = origins[0].partition("://")
    default_port = _PORTS.get(scheme.lower())
    if not separator or default_port is None:
        return False
    origin = _host_and_port([authority], default_port)
    # Behind a proxy that speaks TLS the host comes without a port too.
    return origin != ("", None) and origin == _host_and_port(headers.getlist("host"), default_port)


def is_from_page_elsewhere(headers: Headers) -> bool:
    """Return whether a browser sent the request for a page that is not the bot's own. QQ clients send no Origin."""
    return "origin" in headers and not is_from_own_page(headers)


def bearer_token(headers: Headers) -> str:
    """Return the token of the `Authorization` header, empty where there is none or more than one such header.

    OneBot clients write the scheme as `Bearer` or `Token`, in any case.
    """
    values = headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token if scheme.lower() in _SCHEMES else ""


def is_same_secret(given: str, expected: str) -> bool:
    """Compare in a time that does not tell how much of `given` is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _host_and_port(values: Sequence[str], default_port: int | None = None) -> tuple[str, int | None]:
    """Return name or address in lower case without a final dot, and the port. Empty where malformed or not unique."""
    match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
    if match is None:
        return "", None
    host = (match["ipv6"] or match["name"]).lower().removesuffix(".")
    return host, int(match["port"]) if match["port"] else default_port
