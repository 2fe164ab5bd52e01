"""Draw the screenshots with the installed Chromium: light, dark, and as a phone shows them."""

import html
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import async_playwright

_CASES = Path(__file__).with_name("screenshots.jsonl")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
# Three sizes that the scaling of Windows and macOS gives, taken in turn.
_DESKTOP_SCALES = (1.0, 1.25, 1.5)
_PHONE = (360, 780, 3.0)
_JPEG_QUALITY = 75
_MONO = frozenset({"terminal", "ide"})
_COLOURS = {"light": ("#fbfbfb", "#24292f", "#e6e8eb", "#b3261e"), "dark": ("#1e1e1e", "#d4d4d4", "#333333", "#f48771")}
_STYLE = """
* { box-sizing: border-box }
body { margin: 0; background: BACK; color: FORE; font: 14px 'Noto Sans CJK SC', sans-serif }
.bar { background: BAR; padding: 7px 14px; font-size: 13px; opacity: .9 }
.text { padding: 14px 18px; line-height: 1.45 }
.mono { font: 13px/1.4 'DejaVu Sans Mono', 'Noto Sans CJK SC', monospace }
.line { white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1em } .alarm { color: ALARM }
.phone .bar { padding: 34px 16px 12px; font-size: 16px; text-align: center }
.phone .text { font-size: 16px } .phone .mono { font-size: 12px }
.chat { background: #f1f1f1; min-height: 700px; color: #111 }
.chat .line { background: #fff; border-radius: 10px; padding: 9px 12px; margin: 0 44px 14px 52px; width: fit-content }
.dialog { margin: 150px 26px; border-radius: 14px; background: #fff; box-shadow: 0 2px 30px #0005; color: #222 }
"""


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture with its true text, the names of the errors in it, and its look: light, dark or phone."""

    look: str
    text: str
    names: tuple[str, ...]
    image: bytes


async def screenshots() -> list[Screenshot]:
    """Return all screenshots. Raise `RuntimeError` if no browser is installed."""
    browser_path = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser_path is None:
        raise RuntimeError("no Chromium is installed")
    found: list[Screenshot] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path, args=_ARGUMENTS)
        for number, line in enumerate(_CASES.read_text("utf-8").splitlines()):
            case = json.loads(line)
            is_phone = case["look"] == "phone"
            width, height, scale = _PHONE if is_phone else (960, 300, _DESKTOP_SCALES[number % len(_DESKTOP_SCALES)])
            page = await browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
            await page.set_content(_markup(case))
            # QQ compresses what a phone sends.
            image = await (
                page.screenshot(type="jpeg", quality=_JPEG_QUALITY) if is_phone else page.screenshot(full_page=True)
            )
            await page.close()
            text = f"{case['title']}\n{case['text']}"
            found.append(Screenshot(case["look"], text, tuple(case["names"]), image))
        await browser.close()
    return found


def _markup(case: dict[str, str]) -> str:
    back, fore, bar, alarm = _COLOURS["dark" if case["look"] == "dark" or _is_phone_terminal(case) else "light"]
    style = _STYLE.replace("BACK", back).replace("FORE", fore).replace("BAR", bar).replace("ALARM", alarm)
    lines = "".join(
        f'<div class="line{" alarm" if "rror" in line else ""}">{html.escape(line)}</div>'
        for line in case["text"].split("\n")
    )
    kind = case["kind"] if case["look"] == "phone" else ""
    mono = " mono" if case["kind"] in _MONO else ""
    return (
        f'<style>{style}</style><div class="{case["look"]}"><div class="bar">{html.escape(case["title"])}</div>'
        f'<div class="text {kind}{mono}">{lines}</div></div>'
    )


def _is_phone_terminal(case: dict[str, str]) -> bool:
    return case["look"] == "phone" and case["kind"] == "terminal"
