"""Drive Chromium through its debugging pipe, without further dependencies."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from waiting import TIMEOUT

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    # Tests navigate faster than people, and the browser would throttle them.
    "--disable-ipc-flooding-protection",
    "--remote-debugging-pipe",
)
_KEEP_NOTICES = """{
  const wait = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => (ms >= 4000 ? 0 : wait(work, ms, ...rest));
}"""
_AIM = """(() => {
  const target = TARGET, aim = { missed: false };
  target.scrollIntoView({ block: "center" });
  const guard = (event) => {
    if (target.contains(event.target)) return;
    aim.missed = true;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const kinds = ["mousedown", "mouseup", "click"];
  kinds.forEach((kind) => window.addEventListener(kind, guard, true));
  aim.end = () => kinds.forEach((kind) => window.removeEventListener(kind, guard, true));
  window.testAim = aim;
  const box = target.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
_FOCUSED = """(() => {
  const { activeElement: focused } = document, { outlineStyle, boxShadow } = getComputedStyle(focused);
  const isShown = focused === document.body || (focused.checkVisibility() && (outlineStyle !== "none" || boxShadow !== "none"));
  return [focused.outerHTML.slice(0, 100), isShown];
})()"""
_MISSED = "(() => { window.testAim?.end(); return Boolean(window.testAim?.missed); })()"
AXE = Path(__file__).resolve().parents[2] / ".venv/node_modules/axe-core/axe.min.js"
_VIOLATIONS = (
    "axe.run(document, {resultTypes: ['violations'], {only}}).then((result) => result.violations"
    ".filter(({impact}) => impact === 'serious' || impact === 'critical')"
    ".map(({id, nodes}) => [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 200))]))"
)
COLOR_RULES = ("color-contrast", "link-in-text-block")
"""The rules of axe that depend on the color scheme, which is only a matter of style sheets."""
_REPLACED = ("navigated or closed", "context was destroyed", "Cannot find context")


def program() -> str:
    """Return the path of the browser, which the tests require."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found, "Chromium not found; `make browser` installs it"
    return found


class Browser:
    """A browser process with a new profile."""

    def __init__(self, profile: Path) -> None:
        ours_in, self._out = os.pipe()
        self._in, ours_out = os.pipe()
        # The browser reads commands from file descriptor 3 and responds on 4.
        wired = f'exec "$@" 3<&{ours_in} 4>&{ours_out}'
        command = [program(), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", wired, "bash", *command],
            pass_fds=(ours_in, ours_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours_in)
        os.close(ours_out)
        self._number = 0
        self._rest = b""
        self.events: list[dict] = []

    def close(self) -> None:
        os.close(self._out)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def send(self, method: str, session: str | None = None, **parameters: object) -> dict:
        """Send a command and return its response; events are recorded."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + TIMEOUT
        while True:
            response = self.read(until)
            assert response is not None, f"no response to {method}"
            if response.get("id") == self._number:
                if any(each in str(response.get("error")) for each in _REPLACED):
                    raise PageReplacedError(method)
                assert "error" not in response, f"{method}: {response['error']}"
                return response["result"]

    def read(self, until: float) -> dict | None:
        """Return the next message, or None after the timeout."""
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                return None
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "the browser has exited"
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def page(self, **size: object) -> Page:
        """Open a new page whose events are recorded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, target, **size)


class PageReplacedError(Exception):
    """The page was replaced by another before it responded to a command."""


class Page:
    """One tab, with its `requests`, `dialogs` and `errors`."""

    def __init__(
        self,
        browser: Browser,
        session: str,
        target: str,
        *,
        width: int = 1280,
        height: int = 900,
        mobile: bool = False,
    ) -> None:
        self._browser, self._session, self._target = browser, session, target
        self._width, self.origin = width, ""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def send(self, method: str, **parameters: object) -> dict:
        return self._browser.send(method, self._session, **parameters)

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)

    def open(self, path: Path) -> float:
        """Open a file and return the seconds until it is rendered."""
        started = time.monotonic()
        self.navigate(path.resolve().as_uri(), "main")
        self.run("new Promise((rendered) => requestAnimationFrame(() => setTimeout(rendered, 0)))")
        return time.monotonic() - started

    def navigate(self, url: str, *ready: str) -> None:
        """Open a URL, or a path of `origin`, and wait until its document has these elements."""
        self.run("void (window.isPreviousDocument = true)")
        self.send("Page.navigate", url=urljoin(self.origin, url))
        self.wait("!window.isPreviousDocument && document.readyState === 'complete'")
        self.wait_for(*ready)
        self.settle()

    def keep_notices(self) -> None:
        """Keep the notices of later documents open until they are closed."""
        self.send("Page.addScriptToEvaluateOnNewDocument", source=_KEEP_NOTICES)

    def run(self, script: str) -> object:
        """Return the value of a JavaScript expression; promises are awaited."""
        response = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in response, response["exceptionDetails"]
        return response["result"].get("value")

    def wait(self, condition: str) -> None:
        until = time.monotonic() + TIMEOUT
        while not self._holds(condition):
            if time.monotonic() > until:
                shown = self.run("location.href + '\\n' + document.body?.innerText")
                raise AssertionError(f"timeout while waiting for {condition}; page:\n{shown}")
            time.sleep(0.02)

    def wait_for(self, *selectors: str) -> None:
        """Wait until an element matches each selector."""
        self.wait(" && ".join(map(self.element, selectors)) or "true")

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until the first element that matches a selector contains a text."""
        self.wait(f"{self.element(selector)}?.textContent.includes({json.dumps(text)})")

    def _holds(self, condition: str) -> bool:
        """Whether a condition is true; it is not if the page is being replaced."""
        try:
            return bool(self.run(f"Boolean({condition})"))
        except PageReplacedError:
            return False

    def element(self, selector: str) -> str:
        """Return a script for the first element that matches a selector."""
        return f"document.querySelector({json.dumps(selector)})"

    def text(self, selector: str) -> str:
        return str(self.run(f"{self.element(selector)}.innerText"))

    def texts(self, selector: str) -> list[str]:
        """Return the text of each element that matches a selector."""
        script = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return self.run(f"{script}.map((element) => element.innerText)")

    def value(self, selector: str) -> str:
        """Return the value of a control."""
        return str(self.run(f"{self.element(selector)}.value"))

    def attribute(self, selector: str, name: str) -> str | None:
        return self.run(f"{self.element(selector)}.getAttribute({json.dumps(name)})")

    def is_disabled(self, selector: str) -> bool:
        return bool(self.run(f"{self.element(selector)}.disabled"))

    def is_wider_than_the_screen(self) -> bool:
        return int(self.run("document.documentElement.scrollWidth")) > self._width

    def count(self, selector: str) -> int:
        """Return the number of visible elements that match a selector."""
        script = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return int(
            self.run(
                f"{script}.filter((each) => each.getClientRects().length && each.checkVisibility()).length"
            )
        )

    def click(self, selector: str) -> None:
        """Click in the center of an element, also if it moves while the page is updated."""
        until = time.monotonic() + TIMEOUT
        while not self._hit(selector):
            assert time.monotonic() < until, f"{selector} is covered by another element"
        self.settle()

    def _hit(self, selector: str) -> bool:
        """Click at the position of an element; a click on another element has no effect."""
        x, y = self.run(_AIM.replace("TARGET", self.element(selector)))
        position = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **position)
        try:
            return not self.run(_MISSED)
        except PageReplacedError:
            return True

    def press(self, key: str, code: int = 0, *, shift: bool = False) -> None:
        """Press and release a key."""
        event = {"key": key, "windowsVirtualKeyCode": code or ord(key[0].upper())}
        event["modifiers"] = 8 if shift else 0
        if len(key) == 1:
            event["text"] = key
        if key == "Enter":
            event["text"] = "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", **event)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def tab_to(self, selector: str, *, back: bool = False) -> None:
        """Press Tab until an element has the focus, which must be visible at every stop."""
        passed = []
        while not self.run(f"document.activeElement.matches({json.dumps(selector)})"):
            self.press("Tab", 9, shift=back)
            name, visible = self.run(_FOCUSED)
            assert visible, f"the focus is not visible: {name}"
            passed.append(name)
            assert len(passed) < 150, f"{selector} is not reached: {passed}"

    def enter(self, text: str) -> None:
        """Replace the text of the field that has the focus."""
        self.run("document.activeElement.select()")
        self.send("Input.insertText", text=text)
        self.settle()

    def reload(self, *ready: str) -> None:
        """Load the page again."""
        self.navigate(str(self.run("location.href")), *ready)

    def type(self, selector: str, text: str) -> None:
        self.run(f"{self.element(selector)}.focus()")
        self.run(f"{self.element(selector)}.select && {self.element(selector)}.select()")
        self.send("Input.insertText", text=text)
        self.settle()

    def fill_in(self, selector: str, text: str) -> None:
        """Insert text into a field and move to the next one."""
        self.type(selector, text)
        self.press("Tab", 9)

    def focus(self, selector: str) -> None:
        self.run(f"{self.element(selector)}.focus()")

    def choose(self, selector: str, value: str) -> None:
        self.run(
            f"(() => {{ const list = {self.element(selector)}; list.value = {json.dumps(value)};"
            " list.dispatchEvent(new Event('change')); })()"
        )
        self.settle()

    def select_files(self, selector: str, *paths: Path) -> None:
        """Select files in a file input."""
        document = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])
        self.settle()

    def drop_file(self, selector: str, name: str, text: str) -> None:
        """Drop a file on an element."""
        event = "new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true})"
        file = f"new File([{json.dumps(text)}], {json.dumps(name)})"
        self.run(
            f"(() => {{ const transfer = new DataTransfer(); transfer.items.add({file});"
            f" {self.element(selector)}.dispatchEvent({event}); }})()"
        )
        self.settle()

    def settle(self) -> None:
        """Wait until the last action is rendered or has opened another page."""
        with suppress(PageReplacedError):
            self.run(
                "new Promise((rendered) => setTimeout(() => requestAnimationFrame(rendered), 0))"
            )

    def download_to(self, directory: Path) -> None:
        """Save downloads in a directory."""
        behavior = {"behavior": "allow", "downloadPath": str(directory), "eventsEnabled": True}
        self.send("Browser.setDownloadBehavior", **behavior)

    def media(self, *, scheme: str = "light", medium: str = "") -> None:
        """Emulate a light or dark color scheme, and a medium such as print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=medium, features=features)
        self.settle()

    def violations(self, rules: Sequence[str] = ()) -> object:
        """Return the serious violations of accessibility rules, or of these, as axe finds them."""
        assert AXE.is_file(), "axe is required: npm install --prefix .venv --no-save axe-core"
        self.run(AXE.read_text("utf-8") + ";0")
        only = f"runOnly: {json.dumps(rules)}" if rules else ""
        return self.run(_VIOLATIONS.replace("{only}", only))

    def pdf(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def _events(self, method: str) -> list[dict]:
        return [
            each["params"]
            for each in self._browser.events
            if each["method"] == method and each.get("sessionId") == self._session
        ]

    @property
    def requests(self) -> list[str]:
        """The URLs of all requests."""
        return [each["request"]["url"] for each in self._events("Network.requestWillBeSent")]

    @property
    def files(self) -> set[str]:
        """The names of all requested files, or the URL of other requests."""
        return {
            Path(unquote(urlsplit(url).path)).name if url.startswith("file:") else url
            for url in self.requests
            if not url.startswith(("data:", "blob:"))
        }

    @property
    def completed_downloads(self) -> int:
        """The number of files that were downloaded completely."""
        self.settle()  # reads new events
        return sum(
            each["state"] == "completed" for each in self._events("Browser.downloadProgress")
        )

    @property
    def dialogs(self) -> list[str]:
        return [each["message"] for each in self._events("Page.javascriptDialogOpening")]

    @property
    def errors(self) -> list[str]:
        """Uncaught exceptions and log entries, such as violations of the content security policy."""
        thrown = [
            str(each["exceptionDetails"].get("exception", each["exceptionDetails"]))
            for each in self._events("Runtime.exceptionThrown")
        ]
        return [*thrown, *(each["entry"]["text"] for each in self._events("Log.entryAdded"))]
