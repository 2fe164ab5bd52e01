"""A real browser for tests of the page: the Chromium that is installed on this machine."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
# Fetch nothing from the network, and allow running as root.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_SERIOUS = ("serious", "critical")


def executable() -> Path:
    """Return the path of the browser. Skip the test if there is none, or fail it if REQUIRE_BROWSER is set."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        reason = f"no browser here for the page's tests: install one of {', '.join(_NAMES)}"
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(found)


@asynccontextmanager
async def launched() -> AsyncGenerator[Browser]:
    """Run a headless browser in the block."""
    path = executable()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        await browser.close()


@asynccontextmanager
async def visited(
    browser: Browser,
    address: str,
    *,
    width: int = 1440,
    theme: Literal["light", "dark"] = "light",
    refused: bool = False,
) -> AsyncGenerator[Page]:
    """Open the page at an address as a new visitor. Fail if it logged errors to the console.

    With `refused`, ignore the 401 that the browser logs because the visitor is refused at first.
    """
    context = await browser.new_context(viewport={"width": width, "height": 900}, locale="zh-CN", color_scheme=theme)
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await page.goto(address)
    yield page
    await context.close()
    complaints = [complaint for complaint in complaints if not (refused and "401" in complaint)]
    assert not complaints, complaints


async def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file from outside the browser onto the conversation."""
    transfer = await page.evaluate_handle(
        """([name, bytes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name));
            return transfer;
        }""",
        [name, list(content)],
    )
    target = page.get_by_role("textbox", name="消息", exact=True)
    for event in ("dragenter", "dragover", "drop"):
        await target.dispatch_event(event, {"dataTransfer": transfer})


async def serious_findings(page: Page) -> list[str]:
    """Return the serious and critical accessibility violations that axe finds on the page in its current state."""
    # Wait for fade-in transitions, during which the contrast is not final.
    await page.wait_for_timeout(400)
    violations = (await Axe().run(page)).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in violations
        if violation["impact"] in _SERIOUS
        for node in violation["nodes"]
    ]
