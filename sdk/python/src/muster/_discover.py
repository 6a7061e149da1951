"""Where the server is, found as the command line finds it."""

from __future__ import annotations

import os
import sys
import time
from typing import Mapping, Optional

from .errors import UnreachableError

START_LIMIT = 20.0  # seconds that a server which was just started may take


def config_setting(name: str, env: Mapping[str, str] = os.environ) -> str:
    """A line of the configuration file; "" where it says nothing.

    The file holds ``name: value`` lines only, so it needs no YAML reader.
    """
    path = env.get("MUSTER_CONFIG", "")
    if not path:
        base = env.get("XDG_CONFIG_HOME") or (os.path.join(env["HOME"], ".config") if env.get("HOME") else "")
        if not base:
            return ""
        path = os.path.join(base, "muster", "config.yaml")
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                key, colon, value = line.partition(":")
                if colon and key.strip() == name:
                    return value.split(" #")[0].strip().strip("'\"")
    except OSError:
        pass
    return ""


def setting(variable: str, name: str) -> str:
    """A variable of the environment, or what the configuration file says."""
    return os.environ.get(variable, "") or config_setting(name)


def data_dir(given: Optional[str] = None) -> str:
    """The data directory of the local server."""
    path = given or setting("MUSTER_DATA_DIR", "dataDir")
    if not path:
        base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        path = os.path.join(base, "muster")
    return os.path.abspath(path)


def address(directory: str) -> str:
    """Where the server of a data directory listens."""
    try:
        with open(os.path.join(directory, "muster.addr"), encoding="utf-8") as f:
            text = f.read().strip()
            if text and not _copied(directory, text):
                return text
    except OSError:
        pass
    return "unix://" + os.path.join(directory, "muster.sock")


def _copied(directory: str, where: str) -> bool:
    """Whether an address is the socket in another data directory, of which this is a copy."""
    path = socket_path(where)
    if path is None:
        return False
    there = os.path.dirname(path)
    return os.path.exists(os.path.join(there, "muster.addr")) and not os.path.samefile(directory, there)


def socket_path(where: str) -> Optional[str]:
    """The path of the unix socket that an address names; None for others."""
    if where.startswith("unix:"):
        path = where[len("unix:") :]
        return path[2:] if path.startswith("//") else path
    return where if where.startswith(("/", ".")) else None


def answers(where: str) -> bool:
    """Whether anyone listens at a local address; others are taken at their word."""
    path = socket_path(where)
    if path is None:
        return True
    import socket

    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.settimeout(5)
        s.connect(path)
        return True
    except OSError:
        return False
    finally:
        s.close()


def program(directory: str) -> Optional[str]:
    """The muster program that starts a local server; None: there is none.

    A server keeps a copy of itself in its data directory.
    """
    import shutil

    kept = os.path.join(directory, "muster")
    return os.environ.get("MUSTER_BIN") or shutil.which("muster") or (kept if os.access(kept, os.X_OK) else None)


def local_server(directory: Optional[str] = None, autostart: bool = True) -> str:
    """The address of the local server, which is started where it does not run."""
    where = data_dir(directory)
    if answers(address(where)):
        return address(where)
    if setting("MUSTER_NO_AUTOSTART", "noAutostart") not in ("", "0", "false"):
        autostart = False
    exe = program(where) if autostart else None
    if exe is None:
        why = "and the muster program, which would start one, is not in PATH" if autostart else "and none may be started"
        raise UnreachableError(
            0, "no server runs on %s, %s" % (where, why), hint="start one with muster server, or set MUSTER_SERVER"
        )
    return _start(exe, where)


def _start(exe: str, where: str) -> str:
    import subprocess

    os.makedirs(where, mode=0o700, exist_ok=True)
    log_path = os.path.join(where, "server.log")
    fd = os.open(log_path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            [exe, "server", "--data-dir", where],
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(fd)
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if answers(address(where)) and _ready(address(where)):
            # It outlives us: nobody waits for it, and Python should not complain.
            child.returncode = child.returncode if child.returncode is not None else 0
            sys.stderr.write("muster: started a local server (data in %s; muster server stop ends it)\n" % where)
            return address(where)
        if child.poll() is not None and not answers(address(where)):
            # Another program may have been faster, and its server may be on its way up.
            deadline = min(deadline, time.monotonic() + 2)
        time.sleep(0.02)
    raise UnreachableError(
        0,
        "a local server on %s did not start: %s" % (where, _last_line(log_path)),
        hint="muster server --data-dir %s runs it in the foreground and says what is wrong" % where,
    )


def _ready(where: str) -> bool:
    from ._transport import Transport

    try:
        with Transport(where, retries=0).stream("GET", "/readyz", timeout=5):
            return True
    except Exception:
        return False


def _last_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = [line.strip() for line in f if line.strip()]
    except OSError:
        lines = []
    return lines[-1] if lines else "see " + path
