"""Drives a real Chromium through its debugging pipe: nothing but the browser itself is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
    # A test turns more pages a second than a person; the browser would slow it down.
    "--disable-ipc-flooding-protection",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
_GONE = ("navigated or closed", "context was destroyed", "Cannot find context")


def program() -> str:
    """Where the browser is; a machine without one cannot prove anything about pages."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found, "no Chromium: `make browser` installs it"
    return found


class Browser:
    """A browser of its own, with a fresh profile."""

    def __init__(self, profile: Path) -> None:
        ours_in, self._out = os.pipe()
        self._in, ours_out = os.pipe()
        # The browser reads commands from 3 and answers on 4.
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

    def ask(self, method: str, session: str | None = None, **parameters: object) -> dict:
        """Send one command and wait for its answer; events on the way are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.read(until)
            assert answer is not None, f"no answer to {method}"
            if answer.get("id") == self._number:
                if any(each in str(answer.get("error")) for each in _GONE):
                    raise PageGoneError(method)
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def read(self, until: float) -> dict | None:
        """The next message, or nothing if none comes in time."""
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                return None
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "the browser has ended"
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def page(self, **size: object) -> Page:
        """A new page, with everything that it does written down."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, target, **size)


class PageGoneError(Exception):
    """The page that was asked something gave way to another before it could answer."""


class Page:
    """One tab. `requests`, `dialogs` and `complaints` are what it did that nobody may do."""

    def __init__(
        self,
        browser: Browser,
        session: str,
        target: str,
        *,
        width: int = 1280,
        height: int = 900,
        phone: bool = False,
    ) -> None:
        self._browser, self._session, self._target = browser, session, target
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def ask(self, method: str, **parameters: object) -> dict:
        return self._browser.ask(method, self._session, **parameters)

    def close(self) -> None:
        self._browser.ask("Target.closeTarget", targetId=self._target)

    def open(self, path: Path) -> float:
        """Open a file; the seconds until it is drawn."""
        begun = time.monotonic()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.querySelector('main')")
        self.run("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))")
        return time.monotonic() - begun

    def run(self, script: str) -> object:
        """What an expression is in the page; promises are waited for."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        until = time.monotonic() + PATIENCE
        while not self._is_so(condition):
            assert time.monotonic() < until, f"never came true: {condition}"
            time.sleep(0.02)

    def _is_so(self, condition: str) -> bool:
        """Whether something is true now; nothing is of a page that gives way to another."""
        try:
            return bool(self.run(f"Boolean({condition})"))
        except PageGoneError:
            return False

    def one(self, selector: str) -> str:
        """The script for the one element that a selector finds."""
        return f"document.querySelector({json.dumps(selector)})"

    def text(self, selector: str) -> str:
        return str(self.run(f"{self.one(selector)}.innerText"))

    def count(self, selector: str) -> int:
        """How many of these can be seen."""
        script = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return int(
            self.run(
                f"{script}.filter((each) => each.getClientRects().length && each.checkVisibility()).length"
            )
        )

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a hand does."""
        where = self.run(
            f"(() => {{ const each = {self.one(selector)}; each.scrollIntoView({{block: 'center'}});"
            " const box = each.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        place = {"x": where[0], "y": where[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, **place)
        self.settle()

    def press(self, key: str, code: int = 0) -> None:
        """Press and release one key."""
        said = {"key": key, "windowsVirtualKeyCode": code or ord(key[0].upper())}
        if len(key) == 1:
            said["text"] = key
        if key == "Enter":
            said["text"] = "\r"
        self.ask("Input.dispatchKeyEvent", type="keyDown", **said)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **said)
        self.settle()

    def type(self, selector: str, text: str) -> None:
        self.run(f"{self.one(selector)}.focus()")
        self.run(f"{self.one(selector)}.select && {self.one(selector)}.select()")
        self.ask("Input.insertText", text=text)
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        self.run(
            f"(() => {{ const list = {self.one(selector)}; list.value = {json.dumps(value)};"
            " list.dispatchEvent(new Event('change')); })()"
        )
        self.settle()

    def settle(self) -> None:
        """Wait until what was done is drawn, or has led to another page."""
        with suppress(PageGoneError):
            self.run("new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn), 0))")

    def media(self, *, scheme: str = "light", medium: str = "") -> None:
        """Light or dark, on a screen or on paper."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=medium, features=features)
        self.settle()

    def picture(self, path: Path, *, whole: bool = False) -> bytes:
        """A screenshot, written to a file as well."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        content = base64.b64decode(shot["data"])
        path.write_bytes(content)
        return content

    def paper(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def _own(self, method: str) -> list[dict]:
        return [
            each["params"]
            for each in self._browser.events
            if each["method"] == method and each.get("sessionId") == self._session
        ]

    @property
    def requests(self) -> list[str]:
        """Everything that was asked for."""
        return [each["request"]["url"] for each in self._own("Network.requestWillBeSent")]

    @property
    def files(self) -> set[str]:
        """The names of the files that were opened; a request elsewhere keeps its address."""
        return {
            Path(unquote(urlsplit(url).path)).name if url.startswith("file:") else url
            for url in self.requests
            if not url.startswith("data:")
        }

    @property
    def dialogs(self) -> list[str]:
        return [each["message"] for each in self._own("Page.javascriptDialogOpening")]

    @property
    def complaints(self) -> list[str]:
        """Exceptions of scripts, and what the policy of the page refused."""
        thrown = [
            str(each["exceptionDetails"].get("exception", each["exceptionDetails"]))
            for each in self._own("Runtime.exceptionThrown")
        ]
        return [*thrown, *(each["entry"]["text"] for each in self._own("Log.entryAdded"))]
