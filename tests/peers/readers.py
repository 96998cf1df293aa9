"""Two readers of the same bytes: a guard, and the server behind it. What the server acts on, the guard has judged.

A stream of bytes goes to the guard and, as far as the guard lets it, to the server. Then both are asked how many messages they
acted on: the guard by its metrics, the server by its queue, its log or its statistics. A server that acted on more than was judged
has read something that the guard has not.
"""

import contextlib
import http.client
import os
import random
import re
import socket
import sys
import time

from harness import FULL, Guard

# How many streams for each server, and how they are made.
STREAMS = int(os.environ.get("READERS", "20000" if FULL else "120"))
SEED = int(os.environ.get("READERS_SEED", "15"))


def mutations(rng, correct, tokens):
    """Endless streams near the correct ones: bytes inserted, deleted, duplicated, line ends varied, numbers off by one, lines
    repeated, streams joined. Which were made how, the seed tells."""
    ends = [b"\n", b"\r", b"\r\r\n", b"\r\n\r\n", b"\n\r", b"\0\r\n", b"\r\0\n", b" \r\n", b"\x0b\r\n", b"\x85"]
    while True:
        data = rng.choice(correct)
        for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
            at = rng.randrange(len(data) + 1)
            other = min(len(data), at + rng.choice([1, 1, 2, 4, 10, 40]))
            kind = rng.randrange(9)
            if kind == 0:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at:]
            elif kind == 1:
                data = data[:at] + rng.choice(tokens) + data[at:]
            elif kind == 2:
                data = data[:at] + data[other:]
            elif kind == 3:
                data = data[:other] + data[at:other] + data[other:]
            elif kind == 4:
                places = [match.start() for match in re.finditer(b"\r\n", data)]
                if places:
                    place = rng.choice(places)
                    data = data[:place] + rng.choice(ends) + data[place + 2 :]
            elif kind == 5:
                numbers = list(re.finditer(rb"\d+", data))
                if numbers:
                    number = rng.choice(numbers)
                    value = int(number.group()) + rng.choice([-1, 1, 1, 2, 256, -256])
                    data = data[: number.start()] + b"%d" % value + data[number.end() :]
            elif kind == 6:
                lines = data.splitlines(keepends=True)
                line = rng.randrange(len(lines) or 1)
                data = b"".join(lines[: line + 1] + lines[line : line + 1] + lines[line + 1 :])
            elif kind == 7:
                data = data[:at] + rng.choice(correct)
            elif data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        yield data


class Metrics:
    """What a guard has counted."""

    def __init__(self, guard, labels):
        self.admin = http.client.HTTPConnection("127.0.0.1", guard.admin, timeout=20)
        self.labels = labels

    def read(self):
        """How many messages with these labels were judged, and how many verdicts there are against each role."""
        try:
            self.admin.request("GET", "/metrics")
            text = self.admin.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            # A connection that has served for a minute is closed: once more, on another.
            self.admin.close()
            self.admin.request("GET", "/metrics")
            text = self.admin.getresponse().read().decode()
        judged, blamed = 0, {}
        for line in text.splitlines():
            found = re.match(r'referee_(messages|verdicts)_total{.*role="([^"]*)".*label="([^"]*)"} (\d+)', line)
            if found is None:
                continue
            family, role, label, count = found.groups()
            if family == "verdicts":
                blamed[role] = blamed.get(role, 0) + int(count)
            elif role == "client" and label in self.labels:
                judged += int(count)
        return judged, blamed


def send(port, data, pieces=1):
    """Sends a stream, says that there is no more, and hears the answers out."""
    heard = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 20) as client:
        client.settimeout(10)
        step = max(1, -(-len(data) // pieces))
        with contextlib.suppress(OSError):
            for start in range(0, len(data), step):
                client.sendall(data[start : start + step])
            client.shutdown(socket.SHUT_WR)
        while part := client.recv(65536):
            heard += part
    return heard


def compare(case, preset, server, labels, correct, published, tokens, extra=""):
    """Feeds the guard before `server` the correct streams, the published ones and `STREAMS` mutations, one after the other.

    `server` is (port, acted): `acted()` tells how many messages the server has acted on since it was last asked.
    """
    port, acted = server
    rng = random.Random(SEED)
    differences, blamed = [], []
    with Guard(preset, port, extra) as guard:
        metrics = Metrics(guard, labels)
        before, verdicts = metrics.read()
        acted()
        made = mutations(rng, correct, tokens)
        streams = [("correct", data) for data in correct] + [("published", data) for data in published]
        streams += [(f"mutation {number}", next(made)) for number in range(STREAMS)]
        total = 0
        for name, data in streams:
            pieces = rng.choice([1, 1, 2, 7])
            send(guard.port, data, pieces)
            judged, after = metrics.read()
            done = acted()
            total += done
            if done > judged - before:
                # Perhaps it was still busy with the one before: once more, alone.
                time.sleep(0.5)
                acted()
                again, _ = metrics.read()
                send(guard.port, data, pieces)
                time.sleep(0.5)
                judged, after = metrics.read()
                done = acted()
                if done > judged - again:
                    differences.append((name, data, judged - again, done))
            if name == "correct" and after != verdicts:
                blamed.append(data)
            # What the server did with bytes that were let through is never its fault.
            if after.get("server", 0) > verdicts.get("server", 0):
                blamed.append((name, data))
            before, verdicts = judged, after
        metrics.admin.close()
    print(f"readers: {preset}: {len(streams)} streams with seed {SEED}, {total} acted on, "
          f"{len(differences)} differences, {len(blamed)} innocent blamed", file=sys.stderr, flush=True)
    case.assertGreater(total, len(correct) // 2, "the server has acted on next to nothing: this shows nothing")
    case.assertEqual([], differences[:3], f"{len(differences)} streams on which the server acted on something not judged")
    case.assertEqual([], blamed[:3], f"{len(blamed)} times somebody was blamed for nothing")
