"""Tests of how often strangers and the owner may try the page's token, with a clock that the tests move."""

import itertools

from qq.connection.login_attempts import LoginAttempts

HOME, ELSEWHERE = "203.0.113.5", "198.51.100.9"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_three_slips_cost_nothing_and_then_the_pause_doubles_up_to_a_minute() -> None:
    clock = Clock()
    attempts = LoginAttempts(clock)
    pauses: list[int] = []
    for _ in range(11):
        attempts.failed(HOME)
        pauses.append(attempts.wait_s(HOME))
        clock.now += pauses[-1]
        assert attempts.wait_s(HOME) == 0
    assert pauses == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    clock.now += 601
    attempts.failed(ELSEWHERE)
    attempts.failed(HOME)
    assert attempts.wait_s(HOME) == 0


def test_attempts_at_one_moment_are_limited() -> None:
    attempts = LoginAttempts(Clock())
    tried = 0
    for _ in range(1000):
        if not attempts.wait_s(HOME):
            tried += 1
            attempts.failed(HOME)
    assert tried == 3


def test_many_addresses_share_a_limit_that_does_not_hold_for_the_owner() -> None:
    clock = Clock()
    attempts = LoginAttempts(clock)
    attempts.succeeded(HOME)
    tried = 0
    for number, _ in itertools.product(range(3000), range(10)):
        address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
        if not attempts.wait_s(address):
            tried += 1
            attempts.failed(address)
        clock.now += 0.004
    # The attempts took two minutes.
    assert 60 <= tried <= 90
    assert attempts.wait_s(HOME) == attempts.wait_s("127.0.0.1") == attempts.wait_s("::1") == 0
    assert 0 < attempts.wait_s(ELSEWHERE) <= 60
    clock.now += 60
    assert attempts.wait_s(ELSEWHERE) == 0


def test_a_network_of_ipv6_is_one_address() -> None:
    attempts = LoginAttempts(Clock())
    for number in range(3):
        attempts.failed(f"2001:db8::{number}")
    assert attempts.wait_s("2001:db8::ffff") == 1
    assert attempts.wait_s("2001:db8:0:1::1") == 0
    assert attempts.wait_s("::ffff:203.0.113.5") == attempts.wait_s("fe80::1%eth0") == attempts.wait_s("") == 0


def test_who_logs_in_begins_again() -> None:
    attempts = LoginAttempts(Clock())
    for _ in range(5):
        attempts.failed(HOME)
    assert attempts.wait_s(HOME) == 4
    attempts.succeeded(HOME)
    assert attempts.wait_s(HOME) == 0
