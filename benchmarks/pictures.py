"""Benchmark of drawing: time per picture, lag of the event loop meanwhile, memory.

python -m benchmarks.pictures [rounds]
"""

import asyncio
import os
import sys
import time

from benchmarks.measurement import memory, row
from qq.render.drawings import Code, Drawing, Table
from qq.render.renderer import Renderer
from services.settings import RenderSettings

_TICK_S = 0.002
_IDLE_S = 5.0
_SENTENCE = "省会城市可上浮 20%，须提前审批，发票抬头写全称〔1〕"
_DRAWINGS: dict[str, Drawing] = {
    "table of 5 rows": Table(("项目", "标准", "说明"), (("住宿费", "每晚 350 元", _SENTENCE),) * 5),
    "table of 20 rows": Table(("项目", "标准", "说明"), (("住宿费", "每晚 350 元", _SENTENCE),) * 20),
    "largest table": Table(tuple("甲乙丙丁戊己庚辛"), (("一二三四五六七八九",) * 8,) * 40),
    "code of 20 lines": Code("\n".join(f"for i in range({n}): print(i)  # 第 {n} 行" for n in range(20))),
    "largest code": Code("\n".join(f"{n:>4} {'x' * 42}" for n in range(60))),
}


async def _lags(lags: list[float]) -> None:
    """Measure how much later than asked a short sleep ends."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(_TICK_S)
        lags.append(time.perf_counter() - began - _TICK_S)


async def _main(rounds: int) -> None:
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    before, _ = memory(os.getpid())
    renderer = Renderer(RenderSettings(enabled=True))
    lags: list[float] = []
    task = asyncio.create_task(_lags(lags))
    await asyncio.sleep(_IDLE_S)
    print(row("lag of the event loop before", lags))
    lags.clear()
    began = time.perf_counter()
    await renderer.draw(_DRAWINGS["table of 5 rows"])
    print(row("first picture, with the fonts", [time.perf_counter() - began]))
    for name, drawing in _DRAWINGS.items():
        times: list[float] = []
        size = 0
        for _ in range(rounds):
            began = time.perf_counter()
            size = len(await renderer.draw(drawing) or b"")
            times.append(time.perf_counter() - began)
        print(f"{row(name, times)}  {size >> 10} KB")
    print(row("lag of the event loop meanwhile", lags))
    after, _ = memory(os.getpid())
    print(f"memory: {before} MB before, {after} MB after")
    task.cancel()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
