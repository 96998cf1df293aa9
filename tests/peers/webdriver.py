"""Chromium by its driver: just as much of the WebDriver protocol as the tests need."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs" / "images"
IN_DOCUMENTS = {
    "trace-light-1280.png": "studio-trace.png", "compare-light-1280.png": "studio-compare.png",
    "play-light-1280.png": "studio-play.png", "live-network-light-1280.png": "studio-live.png",
    "protocol-error-light.png": "editors-diagnostics.png",
}
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]
KEYS = {"right": "\ue014", "left": "\ue012", "end": "\ue010", "home": "\ue011", "tab": "\ue004", "escape": "\ue00c", "down": "\ue015", "up": "\ue013", "enter": "\ue007", "space": "\ue00d"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Browser:
    """A new browser with a new profile, of the given size; `dark` prefers dark pages, `traced` records what the browser does."""

    def __init__(self, width=1280, height=800, dark=False, traced=False):
        self.profile = tempfile.mkdtemp(prefix="referee-chromium-")
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self.session = ""
        wait(lambda: self.call("GET", "/status")["ready"])
        arguments = [*FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}"]
        options = {"binary": CHROMIUM, "args": arguments}
        logs = {"browser": "ALL"}
        if traced:
            logs["performance"] = "ALL"
            categories = "devtools.timeline,disabled-by-default-devtools.timeline"
            options["perfLoggingPrefs"] = {"enableNetwork": False, "enablePage": False, "traceCategories": categories}
        asked = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": asked}})
        self.session = f"/session/{made['sessionId']}"
        self.ask("POST", "/timeouts", {"script": 60000})
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", {"features": [feature]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", size)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def ask(self, method, path, body=None):
        return self.call(method, self.session + path, body)

    def devtools(self, command, parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def element(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector):
        self.ask("POST", f"/element/{self.element(selector)}/click", {})

    def type(self, selector, text):
        self.ask("POST", f"/element/{self.element(selector)}/value", {"text": text})

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def log(self):
        """What the page complained of: refused scripts and styles, errors."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def trace(self):
        """What the browser has recorded of itself since it was last asked."""
        messages = (json.loads(entry["message"])["message"] for entry in self.ask("POST", "/se/log", {"type": "performance"}))
        return [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]

    def wait_for(self, script, *arguments):
        """What the script, which calls its last argument, calls it with."""
        return self.ask("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def serious(self, axe):
        """What axe-core finds in the page that keeps people out."""
        self.run(axe.read_text())
        found = self.wait_for("const done = arguments[arguments.length - 1]; axe.run().then((found) => done(found.violations))")
        return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]

    def screenshot(self, file):
        """A picture of the page; with REFEREE_BLESS=1 also in the documents, where they show it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))
        if os.environ.get("REFEREE_BLESS") and file.name in IN_DOCUMENTS:
            shutil.copyfile(file, DOCUMENTS / IN_DOCUMENTS[file.name])

    def close(self):
        if self.driver.returncode is not None:
            return
        try:
            self.call("DELETE", self.session)
        except (RuntimeError, OSError):
            pass
        os.killpg(self.driver.pid, signal.SIGTERM)
        self.driver.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)


def wait(condition, seconds=30):
    """Waits until `condition` holds, and gives what it gave."""
    until = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except (OSError, RuntimeError, KeyError):
            found = None
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError("waited in vain")
        time.sleep(0.05)
