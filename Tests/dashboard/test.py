#!/usr/bin/env python3
"""Opens the dashboard of a real daemon in headless Chromium and looks for what a person looks for.

usage: test.py PROGRAMS [--screenshots FOLDER]    PROGRAMS holds ruled and rulectl
"""

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time

from chromium import Chromium
from daemon import Daemon, FAULTY, fail, play

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VIEWS = ["overview", "plugins", "parked", "sinks", "subjects/device%3Au03", "products", "playground"]
EXPECTED = {
    "overview": ["Events a second", "Latency, p99", "Messages waiting", "revision ", "rejected"],
    "plugins": ["analytics", "attribution", "gamification", "onboarding", "orders", "has failed"],
    "parked": ["9 events", "2 kinds of failure", "orders, rule 'total'", "orders/plugin.lua:5", "Retry 6 events", "is stuck"],
    "sinks": ["analytics", "conversions", "rejected", "no configuration", "Given up", "the pixel is not known"],
    "subjects/device%3Au03": ["device:u03", "State", "History", "gamification.points", "Try an event on it"],
    "products": ["Active users", "Retention", "Streaks", "Milestones", "Opened the bell", "first launches by source", "network_error"],
    "playground": ["Dry run", "Data, a JSON object"],
}


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def step(text):
    print(f"  {text}", flush=True)


def show(browser, base, view):
    """Opens a view and waits until it is drawn."""
    browser.evaluate(f"location.hash = {'#' + view!r}")
    browser.until(f"document.querySelector('main').dataset.ready === {view.split('/')[0]!r} && location.hash === {'#' + view!r}")


def text_of(browser):
    return browser.evaluate("document.querySelector('main').textContent")


def check_sessions(daemon):
    """Who may open the page, and what a request by cookie needs."""
    def ask(method, path, headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response, response.read().decode()

    response, body = ask("GET", "/", {"Accept": "text/html"})
    check(response.status == 401 and "rulectl dashboard" in body, "a browser without a session is told what to do")
    link = daemon.rulectl("dashboard", "--no-open")
    check(link.returncode == 0, link.stderr)
    path = link.stdout.strip().removeprefix(f"http://127.0.0.1:{daemon.port}")
    response, _ = ask("GET", path)
    cookie = response.getheader("set-cookie")
    check(response.status == 303 and response.getheader("location") == "/", "a link leads to the page")
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="]:
        check(attribute in cookie, cookie)
    check(ask("GET", path)[0].status == 401, "a link works once")
    session = {"Cookie": cookie.split(";")[0]}
    check(ask("GET", "/", session)[0].status == 200, "the session opens the page")
    posted = {**session, "Content-Type": "application/json"}
    check(ask("POST", "/v1/rules/reload", posted, "{}")[0].status == 403, "a request without the page's header is refused")
    foreign = {**posted, "ruled-dashboard": "1", "Origin": "http://evil.example"}
    check(ask("POST", "/v1/rules/reload", foreign, "{}")[0].status == 403, "a request of another origin is refused")
    own = {**posted, "ruled-dashboard": "1", "Origin": f"http://127.0.0.1:{daemon.port}"}
    check(ask("POST", "/v1/rules/reload", own, "{}")[0].status == 200, "a request of the page is executed")
    page = ask("GET", "/", session)[0]
    policy = page.getheader("content-security-policy")
    check("default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy)
    check(page.getheader("x-content-type-options") == "nosniff", "nosniff")


def check_views(browser, base):
    for scheme, width, height in [("light", 1280, 900), ("dark", 1280, 900), ("light", 375, 800), ("dark", 375, 800)]:
        browser.look(width, height, scheme)
        for view in VIEWS:
            show(browser, base, view)
            text = text_of(browser)
            for expected in EXPECTED[view]:
                check(expected in text, f"{view} does not say '{expected}': {text}")
            ground = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)")
            check((max(ground) < 100) == (scheme == "dark"), f"{view} in {scheme} has the background {ground}")
            wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
            check(wide <= 0, f"{view} is {wide} px wider than {width} px")
        step(f"every view in {scheme} at {width} px")


def check_names(browser, base):
    """Each control has a name, each image a text, each view one heading of the second level, in order."""
    for view in VIEWS:
        show(browser, base, view)
        tree = browser.call("Accessibility.getFullAXTree")["nodes"]
        for node in tree:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in ("button", "link", "textbox", "searchbox", "combobox", "image", "img", "dialog", "region", "table"):
                continue
            name = node.get("name", {}).get("value", "")
            check(name.strip() or role == "table", f"{view}: a {role} has no name")
        check(browser.evaluate("document.querySelectorAll('main h2').length") == 1, f"{view}: one heading")
        check(browser.evaluate("document.querySelectorAll('nav [aria-current=page]').length") == 1, f"{view}: the view is marked")
    step("names for screen readers")


def check_contrast(browser, base):
    """Text has a contrast of 4.5 to its background, in both themes."""
    measure = """(() => {
      const parse = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (node) => { for (; node; node = node.parentElement) { const c = parse(getComputedStyle(node).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
      const bad = [];
      for (const node of document.querySelectorAll("body *")) {
        if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) || !node.checkVisibility() || node.closest(".skip, #toast")) continue;
        const pair = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        if (ratio < 4.5) bad.push(`${node.tagName}.${node.className} '${node.textContent.trim().slice(0, 30)}' ${ratio.toFixed(2)}`);
      }
      return bad;
    })()"""
    for scheme in ["light", "dark"]:
        browser.look(1280, 900, scheme)
        for view in VIEWS:
            show(browser, base, view)
            bad = browser.evaluate(measure)
            check(not bad, f"{view} in {scheme}: {bad}")
    step("contrast in both themes")


def click(browser, text, selector="button"):
    browser.until(f"[...document.querySelectorAll('{selector}')].find((node) => node.textContent.includes({text!r}))")
    browser.evaluate(f"[...document.querySelectorAll('{selector}')].find((node) => node.textContent.includes({text!r})).click()")


def check_charts(browser, base):
    show(browser, base, "overview")
    drawn = browser.evaluate("[...document.querySelectorAll('canvas')].filter((canvas) => Chart.getChart(canvas)).length")
    check(drawn == 5, f"{drawn} charts on the overview")
    browser.until("Chart.getChart(document.querySelector('canvas')).data.datasets[0].data.some((value) => value > 0)")
    show(browser, base, "products")
    figures = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('canvas')].map((canvas) => { const chart = Chart.getChart(canvas);"
        " return [canvas.getAttribute('aria-label').split(':')[0], chart.data.datasets.map((set) => set.data)]; }))")
    check(max(figures["Active users"][0]) >= 5, f"active users: {figures['Active users']}")
    check(any(value for value in figures["Retention"][0]), f"retention: {figures['Retention']}")
    check(sum(figures["Streaks"][1]) > 0, f"streaks: {figures['Streaks']}")
    check(sum(figures["Milestones"][0]) > 0, f"milestones: {figures['Milestones']}")
    check(len(figures["Installs by source"]) >= 4, f"sources: {figures['Installs by source']}")
    step("charts show the days' figures")


def check_csv(browser, base, folder):
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder, browser=True)
    show(browser, base, "products")
    browser.evaluate("document.querySelector('[aria-label=\"Download active-users as CSV\"]').click()")
    path = os.path.join(folder, "active-users.csv")
    end = time.monotonic() + 60
    while not os.path.exists(path):
        check(time.monotonic() < end, "the CSV was not downloaded")
        time.sleep(0.05)
    with open(path) as file:
        lines = file.read().splitlines()
    check(lines[0] == "day,that day,7 days to that day" and re.fullmatch(r"\d{4}-\d\d-\d\d,\d+,\d+", lines[-1]), f"{lines}")
    check(len(lines) == 31, f"{len(lines)} lines")
    step("CSV")


def check_playground(browser, base):
    show(browser, base, "playground")
    browser.until("document.getElementById('keys').textContent.includes('platform (')")
    click(browser, "Dry run")
    browser.until("document.querySelector('.tree')")
    text = browser.evaluate("document.querySelector('.tree').innerText")
    for expected in ["app.launched", "attribution", "launch", "facebook_attribution = true", "writes"]:
        check(expected in text, f"the tree does not say '{expected}': {text}")
    browser.evaluate("document.querySelector('textarea').value = '{'")
    click(browser, "Dry run")
    browser.until("document.querySelector('[role=alert]').textContent.includes('no JSON')")
    step("playground")


def check_addresses(browser, base):
    """An address that somebody typed shows a view, whatever stands behind its name."""
    for address, subject in [("playground/%", "%"), ("playground/50%25%zz", "50%25%zz"), ("playground/a/%41", "a/A")]:
        show(browser, base, address)
        values = browser.evaluate("[...document.querySelectorAll('main input')].map((input) => input.value)")
        check(subject in values, f"'{address}' shows {values}")
    step("addresses")


def check_past(browser, base):
    """A subject's history leads to the explained decision of the past."""
    show(browser, base, "subjects/device%3Au03")
    browser.evaluate("document.querySelector('.timeline details.past summary').click()")
    browser.until("document.querySelector('.past .tree .fired')")
    text = browser.evaluate("document.querySelector('.past').textContent")
    for expected in ["by revision", "rules fired", "State before"]:
        check(expected in text, f"the past does not say '{expected}': {text}")
    step("a past event, explained")


def check_candidates(browser, base, daemon):
    """The differences of a shadow and a rollout stand beside the live rules."""
    changed = FAULTY.replace("event.data.amount", "2 * event.data.amount")
    rules = {"plugins": [{"name": "orders", "modules": [{"path": "orders/plugin.lua", "text": changed}]}]}
    daemon.call("shadow_start", {"rules": rules, "plugins": ["orders"]})
    daemon.call("rollout_start", {"rules": rules, "percent": 0})
    for number in range(60):
        daemon.call("event", {"type": "order.placed", "subject": f"user:order{number}", "data": {"amount": 5}})
    show(browser, base, "plugins")
    browser.until("document.querySelector('main').textContent.includes('orders.total')", 60)
    browser.until("document.querySelector('main').textContent.includes('60 changed')", 60)
    text = text_of(browser)
    for expected in ["Shadow", "Rollout", "Candidate p99", "5 → 10", "live rules"]:
        check(expected in text, f"the view does not say '{expected}': {text}")
    wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
    check(wide <= 0, f"the view of the candidates is {wide} px too wide")
    daemon.call("shadow_stop")
    daemon.call("rollout_abort")
    browser.until("!document.querySelector('main').textContent.includes('orders.total')", 60)
    step("shadow and rollout")


def check_parked(browser, base, daemon, folder):
    show(browser, base, "parked")
    click(browser, "Retry 6 events")
    browser.until("document.getElementById('toast').textContent.includes('6 events failed again')")
    # Repaired rules try what is parked again by themselves.
    daemon.write_rule(FAULTY.replace("event.data.amount", "(tonumber(event.data.amount) or 1)"))
    check(daemon.rulectl("reload").returncode == 0, "the rule is repaired")
    browser.until("!document.querySelector('main').textContent.includes('6 events')")
    click(browser, "Drop …")
    browser.until("document.querySelector('dialog[open]')")
    click(browser, "Drop 3 events", "dialog button")
    browser.until("document.querySelector('main').textContent.includes('Nothing is parked')")
    check(daemon.call("parked")["parked"] == [], "nothing is parked")
    check(os.path.exists(os.path.join(folder, "dropped.json")), "what was dropped is saved")
    step("retry and drop")


def check_resend(browser, base, daemon):
    failed = len(daemon.call("effects", {"status": "failed"})["effects"])
    check(failed > 0, "effects are given up")
    show(browser, base, "sinks")
    first = "document.querySelector('main tbody tr')"
    browser.until(f"{first}?.textContent.startsWith('conversions') && {first}.querySelector('.tag.bad')")
    daemon.receiver.RequestHandlerClass.status = 503
    click(browser, f"Resend {failed} effects")
    browser.until(f"{first}?.querySelector('.tag.bad')?.textContent.startsWith('fails for')")
    daemon.receiver.RequestHandlerClass.status = 200
    browser.until("![...document.querySelectorAll('main .tag')].some((tag) => tag.textContent.startsWith('fails for'))")
    browser.until("document.querySelector('main').textContent.includes('No effect was given up')")
    check(daemon.call("effects", {"status": "failed"})["effects"] == [], "all were sent")
    step("resend")


def check_load_errors(browser, base, daemon):
    daemon.write_rule("plugin { name = 'orders', version = '1' }\nrule 'total' { on = 'x' run = 1 }\n")
    daemon.rulectl("reload")
    show(browser, base, "plugins")
    browser.until("document.querySelector('main').textContent.includes('orders/plugin.lua:2')")
    browser.until("document.getElementById('status').textContent.includes('do not load')")
    daemon.write_rule(FAULTY)
    click(browser, "Reload the rules")
    browser.until("!document.querySelector('main').textContent.includes('orders/plugin.lua:2')")
    step("errors of a load with file and line")


def check_badges(browser, base, daemon):
    """The numbers beside the views are those that the daemon knows, whatever they are."""
    show(browser, base, "overview")
    parked = sum(daemon.call("health")["parked"].values())
    failed = daemon.call("health")["sinks"]["conversions"]["given_up"]
    check(parked > 0 and failed > 0, f"{parked} parked, {failed} given up")
    for name, count in [("parked", parked), ("sinks", failed)]:
        browser.until(f"document.getElementById('badge-{name}').textContent === '{count}' && !document.getElementById('badge-{name}').hidden")
    step("badges")


def check_without_charts(browser, base):
    """Without Chart.js, which a package may leave out, each chart is the table of its values."""
    browser.call("Network.setBlockedURLs", urls=["*/dashboard/chart.js"])
    browser.call("Network.setCacheDisabled", cacheDisabled=True)
    seen = len(browser.console)
    try:
        show(browser, base, "overview")
        browser.call("Page.reload")
        browser.until("document.readyState === 'complete' && !window.Chart && document.querySelector('main').dataset.ready === 'overview'")
        browser.until("document.querySelectorAll('main details[open] td').length > 0")
        check(browser.evaluate("[...document.querySelectorAll('canvas')].every((canvas) => !canvas.checkVisibility())"), "no empty canvas is left")
        wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        check(wide <= 0, f"the page without charts is {wide} px too wide")
        show(browser, base, "products")
        browser.until("document.querySelectorAll('main details[open] td').length > 30")
    finally:
        browser.call("Network.setBlockedURLs", urls=[])
        browser.call("Network.setCacheDisabled", cacheDisabled=False)
    missing = browser.console[seen:]
    check(all("chart.js" in line for line in missing), f"the console says: {missing}")
    del browser.console[seen:]
    show(browser, base, "overview")
    browser.call("Page.reload")
    browser.until("window.Chart && document.querySelector('main').dataset.ready === 'overview'")
    step("without Chart.js")


def check_event_stream(browser, base, daemon):
    """The browser's own EventSource reads the changes, and goes on where it was after the connection is lost."""
    show(browser, base, "overview")
    browser.evaluate(
        "window.changes = []; window.source = new EventSource('/v1/watch?prefix=watched:');"
        "source.addEventListener('changed', (event) => changes.push([JSON.parse(event.data).subject, event.lastEventId]));"
        "source.onmessage = (event) => changes.push(['message', event.data])")
    browser.until("source.readyState === EventSource.OPEN")
    for number in range(3):
        daemon.call("event", {"type": "session.started", "subject": f"watched:{number}"})
    browser.until("changes.length === 3")
    changes = browser.evaluate("changes")
    check([subject for subject, _ in changes] == ["watched:0", "watched:1", "watched:2"], f"{changes}")
    check(len({number for _, number in changes}) == 3 and all(number.isdigit() for _, number in changes), f"{changes}")
    browser.evaluate("source.close()")
    step("the browser's EventSource")


def check_keyboard(browser, base):
    show(browser, base, "overview")
    browser.call("Page.reload")
    browser.until("document.readyState === 'complete' && document.activeElement === document.body")
    browser.until("document.querySelector('main').dataset.ready === 'overview'")
    seen = []
    for _ in range(9):
        browser.press("Tab")
        seen.append(browser.evaluate("document.activeElement.textContent.trim()"))
    check(seen[0].startswith("Skip") and seen[1] == "Overview" and seen[2] == "Plugins", f"{seen}")
    ring = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    check(ring != "none", "the focus can be seen")
    browser.evaluate("document.querySelector('nav a[href=\"#playground\"]').focus()")
    browser.press("Enter", text="\r")
    browser.until("document.querySelector('main').dataset.ready === 'playground' && document.activeElement === document.querySelector('main')")
    step("keyboard")


def check_proxy(browser, folder):
    """The page of a daemon that listens on its socket alone, which `rulectl dashboard` serves."""
    os.mkdir(os.path.join(folder, "alone"))
    daemon = Daemon(programs, ROOT, os.path.join(folder, "alone"), listens=False)
    command = [os.path.join(programs, "rulectl"), "--socket", daemon.socket_path, "dashboard", "--no-open"]
    proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        link = proxy.stdout.readline().strip()
        port = int(re.match(r"http://127.0.0.1:(\d+)/", link)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/v1/rules")
        check(connection.getresponse().status == 401, "a port of this host gives nobody the rights of who ran rulectl")
        browser.open(link)
        browser.until("document.querySelector('main')?.dataset.ready === 'overview'")
        check("revision " in text_of(browser), "the page is served")
    finally:
        proxy.terminate()
        proxy.wait(60)
        daemon.close()
    step("rulectl dashboard serves a daemon on its socket alone")


def take_screenshots(browser, base, folder):
    os.makedirs(folder, exist_ok=True)
    for name, view, width, height, scheme in [
        ("overview", "overview", 1280, 860, "light"), ("overview-dark", "overview", 1280, 860, "dark"),
        ("products", "products", 1280, 1500, "light"), ("products-dark", "products", 1280, 1500, "dark"),
        ("plugins", "plugins", 1280, 860, "light"), ("parked", "parked", 1280, 720, "light"), ("sinks-dark", "sinks", 1280, 860, "dark"),
        ("subject", "subjects/device%3Au03", 1280, 1000, "light"), ("playground-dark", "playground", 1280, 900, "dark"),
        ("overview-phone", "overview", 375, 1500, "light"), ("products-phone-dark", "products", 375, 1800, "dark"),
        ("parked-phone", "parked", 375, 1000, "light"), ("subject-phone", "subjects/device%3Au03", 375, 1500, "light"),
    ]:
        browser.look(width, height, scheme)
        show(browser, base, view)
        if view == "playground":
            click(browser, "Dry run")
            browser.until("document.querySelector('.tree')")
        # Two frames, so that the drawing is on the screen.
        browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.screenshot(os.path.join(folder, f"{name}.png"))


def drive_load(daemon, stop):
    """Events at a changing rate, so that the charts of the load show something."""
    number = 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(daemon.socket_path)
        replies = connection.makefile("r")
        while not stop.wait(0.1):
            count = 12 + 6 * (number // 10 % 3) + number % 5
            for _ in range(count):
                number += 1
                data = {"flirt_index": number % 3, "scroll_duration_ms": 900, "reveal_method": "scroll"}
                event = {"type": "flirt.revealed", "subject": f"user:load{number % 50}", "data": data}
                connection.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": "event", "params": event}) + "\n").encode())
                replies.readline()


def check_log_out(browser, daemon):
    browser.open(daemon.rulectl("dashboard", "--no-open").stdout.strip())
    browser.until("document.querySelector('main')?.dataset.ready === 'overview'")
    browser.evaluate("document.getElementById('log-out').click()")
    browser.until("document.title === 'ruled: no session'")
    step("log out")


def main():
    with tempfile.TemporaryDirectory(prefix="ruled-dashboard-") as folder:
        daemon = Daemon(programs, ROOT, folder)
        browser = Chromium()
        try:
            play(daemon, ROOT)
            fail(daemon)
            step("two weeks of events")
            check_sessions(daemon)
            step("sessions")
            stop = threading.Event()
            load = threading.Thread(target=drive_load, args=(daemon, stop))
            load.start()
            base = f"http://127.0.0.1:{daemon.port}"
            try:
                browser.open(daemon.rulectl("dashboard", "--no-open").stdout.strip())
                browser.until("document.querySelector('main')?.dataset.ready === 'overview'")
                check(browser.evaluate("location.search") == "", "the token is not in the address")
                if options.screenshots:
                    time.sleep(options.load)
                    take_screenshots(browser, base, options.screenshots)
                check_views(browser, base)
                check_names(browser, base)
                check_contrast(browser, base)
                check_charts(browser, base)
                check_csv(browser, base, folder)
                check_playground(browser, base)
                check_keyboard(browser, base)
                check_past(browser, base)
                check_addresses(browser, base)
                check_candidates(browser, base, daemon)
                check_badges(browser, base, daemon)
                check_without_charts(browser, base)
                check_event_stream(browser, base, daemon)
                check_parked(browser, base, daemon, folder)
                check_resend(browser, base, daemon)
                check_load_errors(browser, base, daemon)
            finally:
                stop.set()
                load.join()
            check_proxy(browser, folder)
            outside = [url for url in browser.requests if not re.match(r"(http://127\.0\.0\.1:\d+/|blob:http://127\.0\.0\.1:|about:|data:)", url)]
            check(not outside, f"requests to others: {outside}")
            check(not browser.console, f"the console says: {browser.console}")
            step("no console error, no outside request")
            # The browser's console tells of the page that needs a session.
            check_log_out(browser, daemon)
        finally:
            browser.close()
            daemon.close()


parser = argparse.ArgumentParser()
parser.add_argument("programs")
parser.add_argument("--screenshots")
parser.add_argument("--load", type=float, default=20, help="seconds of load before screenshots")
options = parser.parse_args()
programs = os.path.abspath(options.programs)
started = time.monotonic()
main()
print(f"  {time.monotonic() - started:.0f} s")
