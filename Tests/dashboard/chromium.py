"""Drives a headless Chromium by its DevTools protocol over a pipe, which needs no package but Chromium itself."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


class Chromium:
    """One browser with one page; messages of the console and requests are recorded."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            raise SystemExit("Chromium is missing; run scripts/install-dependencies chromium")
        self.profile = tempfile.mkdtemp(prefix="ruled-chromium-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        arguments = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--hide-scrollbars", "--force-device-scale-factor=1", f"--user-data-dir={self.profile}",
            "--remote-debugging-pipe", "about:blank",
        ]

        # Chromium reads commands from descriptor 3 and writes to descriptor 4; higher numbers first, so that none is overwritten.
        def arrange():
            high_in, high_out = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            arguments, preexec_fn=arrange, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.last = 0
        self.console = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank", browser=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True, browser=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, browser=False, **params):
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": params}
        if not browser:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.input, 1 << 20)
            if not part:
                raise SystemExit("Chromium has ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        self.record(message.get("method"), message.get("params", {}))
        return message

    def record(self, method, params):
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(value.get("value", value.get("description"))) for value in params["args"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, seconds=60):
        """Waits until an expression is true in the page."""
        end = time.monotonic() + seconds
        while True:
            if self.evaluate(f"Promise.resolve({expression}).then(Boolean)"):
                return
            if time.monotonic() > end:
                text = self.evaluate("document.body.innerText")
                raise AssertionError(f"never true: {expression}\nthe page says:\n{text}\nconsole: {self.console}")
            time.sleep(0.05)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def look(self, width, height, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code=None, text=None):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}.get(key, 0), **extra)

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
