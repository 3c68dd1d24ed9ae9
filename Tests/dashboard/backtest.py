#!/usr/bin/env python3
"""Opens the page of a backtest in Chromium: no request, no error, nothing wider than the screen, in both themes and on a phone.

usage: backtest.py PROGRAMS
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chromium import Chromium  # noqa: E402

ROOT = pathlib.Path(__file__).parent.parent.parent


def make_page(programs, folder):
    """A backtest of a changed multiplier on two weeks of generated traffic, as a page."""
    subprocess.run(["cp", "-r", ROOT / "rules", folder / "next"], check=True)
    plugin = folder / "next/gamification/plugin.lua"
    plugin.write_text(plugin.read_text().replace("streak = 7, times = 3", "streak = 7, times = 2"))
    traffic = subprocess.run([ROOT / "examples/traffic/generate", "--users", "20", "--days", "14"], check=True, capture_output=True)
    (folder / "traffic.ndjson").write_bytes(traffic.stdout)
    subprocess.run([
        f"{programs}/rulectl", "backtest", folder / "next", "--baseline", ROOT / "rules", "--events",
        folder / "traffic.ndjson", "--html", folder / "report.html",
    ], check=True, stdout=subprocess.DEVNULL)
    return folder / "report.html"


def check(browser, page, name, width, dark):
    """Opens the page, unfolds all of it, and checks that it fits."""
    browser.look(width, 900, "dark" if dark else "light")
    browser.open(page.as_uri())
    browser.until("document.readyState === 'complete' && document.querySelectorAll('details').length > 0")
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    figures = json.loads(browser.evaluate("""JSON.stringify({
      wide: document.documentElement.scrollWidth, screen: innerWidth, marks: document.querySelectorAll('mark').length,
      bars: [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width > 0).length,
      sides: document.querySelectorAll('.example .before pre').length,
      links: [...document.querySelectorAll('.whom a')].filter(a => document.querySelector(a.getAttribute('href'))).length,
      brief: document.querySelectorAll('.brief code').length,
      ground: getComputedStyle(document.body).backgroundColor })"""))
    assert figures["wide"] <= figures["screen"], f"{name}: wider than the screen: {figures}"
    assert figures["marks"] > 0 and figures["bars"] > 5 and figures["sides"] > 0 and figures["links"] > 0 and figures["brief"] > 0, f"{name}: something is missing: {figures}"
    assert (figures["ground"] == "rgb(255, 255, 255)") != dark, f"{name}: the theme is not followed: {figures}"
    print(f"ok {name}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        page = make_page(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        browser = Chromium()
        try:
            check(browser, page, "light", 1100, False)
            check(browser, page, "dark", 1100, True)
            check(browser, page, "phone", 375, False)
            outside = [url for url in browser.requests if not url.startswith("file:")]
            assert not outside, f"the page asks for outside parts: {outside}"
            assert not browser.console, f"the console has messages: {browser.console}"
        finally:
            browser.close()


if __name__ == "__main__":
    main()
