"""Limits on how often people may try to enter a secret."""

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

# Typing errors cost nothing. After that, each failure doubles the pause.
_FREE_FAILURES = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
# An address starts over after ten minutes without a failure.
_FORGOTTEN_AFTER_S = 600.0
# This limit is for all addresses together: a botnet gets at most 43,200 guesses a day.
_FAILURES_PER_MINUTE = 30
_MINUTE_S = 60.0
_MAX_ADDRESSES = 10_000


@dataclass(slots=True)
class _Failures:
    count: int
    last_at: float

    @property
    def free_at(self) -> float:
        doublings = self.count - _FREE_FAILURES
        if doublings < 0:
            return self.last_at
        return self.last_at + min(_FIRST_PAUSE_S * 2.0 ** min(doublings, 16), _LONGEST_PAUSE_S)


class LoginAttempts:
    """A growing pause for each address, and a limit for all addresses together, each of at most a minute.

    The common limit does not apply to this machine and to addresses that have logged in before, so that strangers
    cannot lock out the owner. `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: TTLCache[str, _Failures] = TTLCache(_MAX_ADDRESSES, _FORGOTTEN_AFTER_S, timer=clock)
        self._recent: deque[float] = deque()
        self._known: set[str] = set()

    def wait_s(self, address: str) -> int:
        """Return the number of seconds after which this address may try, or 0 if it may try now."""
        present, network = self._clock(), _network(address)
        while self._recent and self._recent[0] <= present - _MINUTE_S:
            self._recent.popleft()
        free_at = present
        if (failures := self._failures.get(network)) is not None:
            free_at = failures.free_at
        if len(self._recent) >= _FAILURES_PER_MINUTE and network not in self._known and not _is_loopback(address):
            free_at = max(free_at, self._recent[0] + _MINUTE_S)
        return max(0, math.ceil(free_at - present))

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        present, network = self._clock(), _network(address)
        self._recent.append(present)
        former = self._failures.get(network)
        self._failures[network] = _Failures(1 if former is None else former.count + 1, present)

    def succeeded(self, address: str) -> None:
        """Remember an address that entered the right token."""
        network = _network(address)
        self._failures.pop(network, None)
        self._known.add(network)


def _network(address: str) -> str:
    """Return the network that belongs to one person: an IPv4 address, or the 64-bit prefix of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
