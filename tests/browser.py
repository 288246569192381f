"""A headless Chromium, driven through its DevTools protocol over a pair of pipes; nothing else is needed."""

import json
import os
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from itertools import count

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tab:
    """One page: `call` for commands of the protocol, `run` for scripts; `problems` is what it complained of."""

    def __init__(self, reader, writer):
        self._reader, self._writer, self._numbers, self._rest = reader, writer, count(1), b""
        self._session = None
        self.problems = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, address):
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._read()

    def run(self, script):
        """The value of a script; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def press(self, key, code):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def drag(self, start, stop, y):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start, y=y, button="left", clickCount=1)
        for step in range(1, 5):
            x = start + (stop - start) * step / 4
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=stop, y=y, button="left", clickCount=1)

    def touch(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]))

    def _read(self):
        while b"\0" not in self._rest:
            more = os.read(self._reader, 1 << 20)
            assert more, "the browser is gone"
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(line)
        kind, told = message.get("method"), message.get("params", {})
        if kind == "Page.loadEventFired":
            self._loaded = True
        elif kind == "Runtime.exceptionThrown" or (kind == "Runtime.consoleAPICalled" and told["type"] == "error"):
            self.problems.append(told)
        elif kind == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"])
        elif kind == "Network.requestWillBeSent" and not told["request"]["url"].startswith(
            ("data:", "file:", "about:")
        ):
            self.problems.append(told["request"]["url"])
        return message


@contextmanager
def browser(profile):
    """Start Chromium with a profile folder of its own, and give a tab."""
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
    # The protocol is spoken over descriptors 3 and 4, and a shell is the one to put ours there.
    script = 'exec "$0" "$@" 3<&"$THEIR_IN" 4>&"$THEIR_OUT"'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, CHROMIUM, *flags, f"--user-data-dir={profile}"],
        env={**os.environ, "THEIR_IN": str(their_in), "THEIR_OUT": str(their_out)},
        pass_fds=(their_in, their_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        tab = Tab(our_in, our_out)
        yield tab
        tab._session = None
        os.write(our_out, b'{"id": 0, "method": "Browser.close"}\0')
        process.wait(30)
    finally:
        process.kill()
        process.wait()
        os.close(our_in)
        os.close(our_out)
