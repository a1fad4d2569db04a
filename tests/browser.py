"""Chromium without a window: runs a script inside a page, and reports its result, its messages and its requests."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# The page is in a frame, so that its policy stays as it is, and the script in the page around it.
WRAPPER = """<!doctype html><meta charset="utf-8">
<iframe id="frame" width="{width}" height="{height}"></iframe><pre id="result"></pre>
<script>
const frame = document.getElementById("frame");
const pause = () => new Promise((go) => setTimeout(go, 60));
frame.onload = async () => {{
  const win = frame.contentWindow, doc = frame.contentDocument;
  const all = (selector) => [...doc.querySelectorAll(selector)];
  const one = (selector) => doc.querySelector(selector);
  const text = (selector) => all(selector).map((element) => element.textContent);
  const press = (element, key) => element.dispatchEvent(new win.KeyboardEvent("keydown", {{key, bubbles: true}}));
  // A page that says so while it works.
  const settled = async () => {{ do await pause(); while (one("[aria-busy=true]")); }};
  const type = (element, value) => {{ element.value = value; element.dispatchEvent(new win.Event("input")); }};
  let found;
  try {{
    found = {{value: await (async () => {{ {script} }})()}};
  }} catch (error) {{
    found = {{error: String(error.stack)}};
  }}
  found.resources = win.performance.getEntriesByType("resource").map((entry) => entry.name);
  document.getElementById("result").textContent = encodeURIComponent(JSON.stringify(found));
}};
frame.srcdoc = {page};
</script>"""


class Report:
    """The results of a page: the value of the script, lines of the console, and addresses that were requested."""

    def __init__(self, value, console, requests):
        self.value, self.console, self.requests = value, console, requests


def run(page, script, folder, width=1400, height=2000):
    """Run the body of an async function in a page; its value must be JSON."""
    wrapper, log = folder / "wrapper.html", folder / "net.json"
    # In a script element "<" could end it.
    source = json.dumps(page).replace("<", "\\u003c")
    wrapper.write_text(WRAPPER.format(page=source, script=script, width=width, height=height), encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        f"--window-size={width + 40},{height + 40}",
        "--dump-dom",
    ]
    done = subprocess.run(
        [CHROMIUM, *options, wrapper.as_uri()],
        capture_output=True,
        timeout=100,
        check=True,
        # Chromium does not start with the library of a sanitizer.
        env={**os.environ, "HOME": str(folder), "LD_PRELOAD": ""},
    )
    output = done.stdout.decode()
    result = re.search(r'<pre id="result">(\S+)</pre>', output)
    assert result, f"the script did not end: {done.stderr.decode()[-2000:]}"
    found = json.loads(urllib.parse.unquote(result.group(1)))
    assert "error" not in found, found["error"]
    console = [line for line in done.stderr.decode().splitlines() if ":CONSOLE" in line]
    return Report(found["value"], console, found["resources"] + _requests(log))


def _requests(log):
    """Addresses that the page asked for. Chromium itself asks hosts of Google for updates and accounts."""
    text = log.read_text(encoding="utf-8").rstrip().rstrip(",")
    try:
        events = json.loads(text)["events"]
    except json.JSONDecodeError:
        # Chromium may end before it closes the file.
        events = json.loads(text + "]}")["events"]
    urls = {event["params"]["url"] for event in events if "url" in event.get("params", {})}
    hosts = ((url, urllib.parse.urlsplit(url)) for url in sorted(urls))
    own = (".google.com", ".googleapis.com", ".gvt1.com")
    return [url for url, parts in hosts if parts.scheme != "file" and not f".{parts.hostname}".endswith(own)]
