"""Chromium without a window: runs a script inside a page, and reports its result, its messages and its requests."""

import atexit
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from functools import cache

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or sys.platform == "win32", reason="Chromium is not installed, or has no pipes"
)
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]
# Seconds.
LIMIT = 100

# The page is in a frame, so that its policy stays as it is, and the script in the page around it.
WRAPPER = """<!doctype html><meta charset="utf-8">
<iframe id="frame" width="{width}" height="{height}"></iframe>
<script>
const frame = document.getElementById("frame");
const pause = () => new Promise((go) => setTimeout(go, 60));
const result = new Promise((found) => {{ frame.onload = async () => {{
  const win = frame.contentWindow, doc = frame.contentDocument;
  const all = (selector) => [...doc.querySelectorAll(selector)];
  const one = (selector) => doc.querySelector(selector);
  const text = (selector) => all(selector).map((element) => element.textContent);
  const press = (element, key) => element.dispatchEvent(new win.KeyboardEvent("keydown", {{key, bubbles: true}}));
  // A page that says so while it works.
  const settled = async () => {{ do await pause(); while (one("[aria-busy=true]")); }};
  const type = (element, value) => {{ element.value = value; element.dispatchEvent(new win.Event("input")); }};
  try {{
    found({{value: await (async () => {{ {script} }})()}});
  }} catch (error) {{
    found({{error: String(error.stack)}});
  }}
}}}});
frame.srcdoc = {page};
</script>"""


class Report:
    """The results of a page: the value of the script, messages of the console, and addresses that were requested."""

    def __init__(self, value, console, requests):
        self.value, self.console, self.requests = value, console, requests


class Chromium:
    """One process for all pages, which is told what to do through two pipes (the DevTools protocol)."""

    def __init__(self):
        (read, self.to), (self.of, write) = os.pipe(), os.pipe()

        def as_three_and_four():
            # Neither may be 3 or 4 when the other one becomes it.
            first, second = os.dup(read), os.dup(write)
            for source, target in ((first, 3), (second, 4)):
                os.dup2(source, target)

        self.folder = tempfile.TemporaryDirectory(prefix="chromium-")
        self.process = subprocess.Popen(
            [CHROMIUM, *OPTIONS, f"--user-data-dir={self.folder.name}"],
            preexec_fn=as_three_and_four,
            close_fds=False,
            stderr=subprocess.DEVNULL,
            # Chromium does not start with the library of a sanitizer.
            env={**os.environ, "HOME": self.folder.name, "LD_PRELOAD": ""},
        )
        for each in (read, write):
            os.close(each)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []

    def ask(self, method, session=None, **params):
        """The answer to a command; events that come before it are kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        until = time.monotonic() + LIMIT
        while True:
            message = self._next(until)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]
            self.events.append(message)

    def _next(self, until):
        while b"\0" not in self.rest:
            assert select.select([self.of], [], [], max(until - time.monotonic(), 0))[0], "the script did not end"
            part = os.read(self.of, 1 << 20)
            assert part, "Chromium has ended"
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        self.ask("Browser.close")
        self.process.wait(LIMIT)
        self.folder.cleanup()


@cache
def chromium():
    browser = Chromium()
    atexit.register(browser.close)
    return browser


def run(page, script, folder, width=1400, height=2000):
    """Run the body of an async function in a page; its value must be JSON."""
    wrapper, browser = folder / "wrapper.html", chromium()
    # In a script element "<" could end it.
    source = json.dumps(page).replace("<", "\\u003c")
    wrapper.write_text(WRAPPER.format(page=source, script=script, width=width, height=height), encoding="utf-8")
    # What a page stores ends with its context.
    context = browser.ask("Target.createBrowserContext")["browserContextId"]
    try:
        target = browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.ask(f"{domain}.enable", session)
        metrics = {"width": width + 40, "height": height + 40, "deviceScaleFactor": 1, "mobile": False}
        browser.ask("Emulation.setDeviceMetricsOverride", session, **metrics)
        browser.events.clear()
        browser.ask("Page.navigate", session, url=wrapper.as_uri())
        until = time.monotonic() + LIMIT
        while not any(each.get("method") == "Page.domContentEventFired" for each in browser.events):
            browser.events.append(browser._next(until))
        answer = browser.ask("Runtime.evaluate", session, expression="result", awaitPromise=True, returnByValue=True)
    finally:
        browser.ask("Target.disposeBrowserContext", browserContextId=context)
    found = answer["result"]["value"]
    assert "error" not in found, found["error"]
    events = [(each["method"], each["params"]) for each in browser.events if each.get("sessionId") == session]
    return Report(found.get("value"), list(_messages(events)), _requests(events))


def _messages(events):
    """What scripts wrote to the console, errors that nobody caught, and complaints of the browser."""
    for method, params in events:
        if method == "Runtime.consoleAPICalled":
            yield " ".join(str(each.get("value", each.get("description"))) for each in params["args"])
        elif method == "Runtime.exceptionThrown":
            yield params["exceptionDetails"]["text"]
        elif method == "Log.entryAdded":
            yield params["entry"]["text"]


def _requests(events):
    """Addresses that the page asked for, other than those of files and of data that it holds itself."""
    urls = {params["request"]["url"] for method, params in events if method == "Network.requestWillBeSent"}
    return sorted(url for url in urls if urllib.parse.urlsplit(url).scheme not in ("file", "data", "blob", "about"))
