"""A guard as a test sees it, and the processes before and behind it."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

REFEREE = os.environ["REFEREE"]
# Everything at its full size, or the same in small.
FULL = os.environ.get("PEERS") == "full"


def need(*programs):
    """Skips a test, or a class of them, unless these programs are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


# Below those that the system picks for connections: nobody else takes one before it is listened on.
PORTS = itertools.cycle(range(12_000, 32_000))
for _ in range(os.getpid() * 40 % 20_000):
    next(PORTS)


def free_port():
    for port in PORTS:
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def wait_until(ready, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def run(*command, seconds=120, **options):
    """Runs a client to its end, which must be a good one; what it printed."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, **options
    )
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


@contextlib.contextmanager
def process(*command, port=None, **options):
    """A server that runs as long as the block; `port` is where it will listen."""
    child = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options
    )
    try:
        if port is not None:
            wait_until(lambda: listens(port) or child.poll() is not None, f"{command[0]} on {port}")
            if child.poll() is not None:
                raise AssertionError(f"{command} ended with {child.returncode}")
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
           "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]


def browse(place, address):
    """What a browser makes of the page at `address`, once its scripts have run."""
    return run(*BROWSER, f"--user-data-dir={place}/browser", "--virtual-time-budget=20000", "--dump-dom", address)


def browsing(place, address):
    """A browser with the page at `address`, as long as the block."""
    return process(*BROWSER, f"--user-data-dir={place}/browser", "--remote-debugging-port=0", address, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def folder():
    """A folder that servers under other users may enter."""
    with tempfile.TemporaryDirectory(prefix="referee-peers-", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


class Guard:
    """A guard before `upstream`, with the preset `preset`, until the end of the block. Then `verdicts` and `ends` tell."""

    def __init__(self, preset, upstream, extra="", protocol=None):
        """`protocol` is what stands instead of a preset: the lines of the protocol and the codec."""
        protocol = protocol or f'protocol = "preset:{preset}"'
        self.port, self.admin = free_port(), free_port()
        self.config = f"""
drain = "2s"
[admin]
listen = "127.0.0.1:{self.admin}"
[log]
format = "json"
sessions = true
[[listener]]
name = "{preset}"
listen = "127.0.0.1:{self.port}"
upstream = "127.0.0.1:{upstream}"
{extra}
{protocol}
"""

    def __enter__(self):
        self.place = tempfile.TemporaryDirectory(prefix="referee-peers-")
        config = pathlib.Path(self.place.name, "guard.toml")
        config.write_text(self.config)
        self.log = open(pathlib.Path(self.place.name, "log"), "w+", encoding="utf-8")
        self.child = subprocess.Popen(
            [REFEREE, "guard", str(config)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log
        )
        wait_until(lambda: self.is_ready() or self.child.poll() is not None, "the guard")
        if self.child.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"the guard ended with {self.child.returncode}:\n{self.log.read()}")
        return self

    def is_ready(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz", timeout=5):
            return True
        return False

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = self.child.wait()
        self.log.seek(0)
        records = [json.loads(line) for line in self.log if line.startswith("{")]
        self.log.close()
        self.place.cleanup()
        self.records = records
        self.verdicts = [record for record in records if "verdict" in record]
        self.ends = [record for record in records if "why" in record]
        if status != 0:
            raise AssertionError(f"the guard ended with {status}: {records[-3:]}")


class Case(unittest.TestCase):
    def assert_innocent(self, guard, sessions=1):
        """Nobody was blamed, and the guard has seen sessions: an idle guard blames nobody, either."""
        told = [f"{v.get('blame')}: {v['message']} after {v.get('recent')}" for v in guard.verdicts]
        self.assertEqual([], told[:3], f"{len(told)} verdicts against peers that do as they should")
        self.assertGreaterEqual(len(guard.ends), sessions)
        self.assertGreater(sum(end["messages"] for end in guard.ends), 0)

    def assert_blamed(self, guard, role):
        self.assertEqual([role], [verdict.get("blame") for verdict in guard.verdicts], guard.records)
