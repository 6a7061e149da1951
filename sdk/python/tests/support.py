"""A real server for the tests, of the program that MUSTER_BIN names."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid
from typing import Any, Callable, List, Optional

import muster
from muster import Client

PATIENCE = 90.0

_server: Optional["Server"] = None


class Server:
    """A server with eight pretended GPUs and a data directory of its own."""

    def __init__(self, *args: str, gpus: int = 8, directory: Optional[str] = None) -> None:
        self.bin = os.environ["MUSTER_BIN"]
        self.dir = directory or tempfile.mkdtemp(prefix="muster-sdk-")
        self.args = [self.bin, "server", "--data-dir", self.dir, "--fake-gpus", str(gpus), "--sample-every", "1s", *args]
        self.start()

    def start(self) -> None:
        self.log = open(os.path.join(self.dir, "test.log"), "ab")
        self.process = subprocess.Popen(self.args, stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with Client(data_dir=self.dir, autostart=False, retries=0) as c:
                    c.request("GET", "/readyz")
                    return
            except ValueError:
                return  # it is ready, and says so in words
            except muster.MusterError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the server did not start: " + self.said()) from None
                time.sleep(0.05)

    def said(self) -> str:
        with open(os.path.join(self.dir, "test.log"), errors="replace") as f:
            return f.read()[-2000:]

    def client(self, **options: Any) -> Client:
        return Client(data_dir=self.dir, autostart=False, **options)

    def end(self) -> None:
        """Ends the server; what it runs goes on."""
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()

    def clear(self) -> None:
        """Ends every workload, so that none holds what the next test needs."""
        with self.client() as c:
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                live = list(c.workloads(live=True, limit=1000, summary=True).all())
                if not live:
                    return
                for w in live:
                    try:
                        c.stop(w, grace_period="0s")
                    except muster.MusterError:
                        pass
                time.sleep(0.02)

    def close(self) -> None:
        """Ends everything and removes it."""
        try:
            self.clear()
        except muster.MusterError:
            pass
        self.end()
        shutil.rmtree(self.dir, ignore_errors=True)


def server() -> Server:
    """The server that all tests share."""
    global _server
    if _server is None:
        _server = Server()
        atexit.register(_server.close)
        os.environ["MUSTER_DATA_DIR"] = _server.dir
        os.environ["MUSTER_NO_AUTOSTART"] = "1"
    return _server


def unique(prefix: str = "t") -> str:
    return "%s-%s" % (prefix, uuid.uuid4().hex[:8])


class ServerCase(unittest.TestCase):
    """A test with a server and a client of it."""

    server: Server
    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = server()
        cls.client = cls.server.client()
        muster.set_default_client(cls.client)

    @classmethod
    def tearDownClass(cls) -> None:
        muster.set_default_client(None)
        cls.client.close()

    def tearDown(self) -> None:
        self.server.clear()

    def done(self, w: muster.Workload) -> muster.Workload:
        return w.wait(timeout=PATIENCE)


def eventually(what: Callable[[], Any], why: str = "it did not come true") -> Any:
    """What is asked for once it is true."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("%s: %r" % (why, value))
        time.sleep(0.02)


def python(code: str) -> List[str]:
    """A command that runs Python code in a task."""
    import sys

    return [sys.executable, "-c", code]


def lines(path: str) -> List[Any]:
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]
