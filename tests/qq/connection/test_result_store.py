"""Tests that a result for which nobody waits any more does no harm."""

import asyncio
from contextlib import suppress

import pytest

from qq.connection.result_store import SingleResultStore


async def _called(store: SingleResultStore) -> tuple[str, asyncio.Task[dict[str, object]]]:
    sequence = store.get_seq()
    call = asyncio.create_task(store.fetch(sequence, 5))
    await asyncio.sleep(0)
    return str(sequence), call


async def test_a_late_or_second_result_is_dropped() -> None:
    store = SingleResultStore()
    echo, call = await _called(store)
    # The cancelled task has not run yet, so its future is done and still in the store.
    call.cancel()
    store.add_result({"echo": echo})
    with suppress(asyncio.CancelledError):
        await call

    echo, call = await _called(store)
    store.add_result({"echo": echo, "data": "first"})
    store.add_result({"echo": echo, "data": "second"})
    assert (await call)["data"] == "first"
    store.add_result({"echo": echo, "data": "third"})


@pytest.mark.parametrize("echo", [None, 7, "", "x", "9" * 5000, ["1"], {"a": 1}])
async def test_an_odd_echo_is_no_result(echo: object) -> None:
    store = SingleResultStore()
    own, call = await _called(store)
    store.add_result({"echo": echo})
    store.add_result({"echo": own, "data": 1})
    assert (await call)["data"] == 1
