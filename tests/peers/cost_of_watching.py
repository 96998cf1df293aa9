#!/usr/bin/env python3
"""What it costs a guard to be looked at: processor time per message with and without somebody who reads its events, in turns.

cost_of_watching.py REFEREE [SESSIONS [MESSAGES_PER_SECOND [SECONDS [ROUNDS]]]]

Half of the messages are the clients', half the server's answers. While somebody looks, they read `/events`, as the list of the live view does, and
follow one session.
"""

import multiprocessing
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = """threads = 1
[admin]
listen = "127.0.0.1:{admin}"
[[listener]]
name = "talk"
listen = "127.0.0.1:{port}"
upstream = "127.0.0.1:{upstream}"
limits = {{ connections = 100000 }}
protocol = '''protocol P(role client, role server) {{ rec X {{
  Set(key: string, value: int) from client to server where value >= 0; Ok() from server to client; continue X; }} }}'''
[listener.codec]
kind = "text"
leave = {{ client = "anytime" }}
[listener.codec.messages]
Set = "SET {{key}} {{value}}"
Ok = "OK"
"""


def serve(listener):
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                stream, _ = listener.accept()
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(stream, selectors.EVENT_READ)
                continue
            data = key.fileobj.recv(65536)
            if data:
                key.fileobj.sendall(b"OK\r\n" * data.count(b"\n"))
            else:
                ready.unregister(key.fileobj)
                key.fileobj.close()


def look(port):
    ready = selectors.DefaultSelector()
    for path in ("/events", "/sessions/2/events"):
        stream = socket.create_connection(("127.0.0.1", port))
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        ready.register(stream, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if not key.fileobj.recv(1 << 20):
                ready.unregister(key.fileobj)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def processor_time(process):
    """Microseconds that its threads have run; and of those the first, which carries no session and answers who looks."""
    folder = f"/proc/{process.pid}/task"
    times = {task: int(open(f"{folder}/{task}/schedstat", encoding="ascii").read().split()[0]) / 1000 for task in os.listdir(folder)}
    return sum(times.values()), times[str(process.pid)]


def load(streams, rate, seconds):
    """Sends at most so many messages a second, answers counted, in turns on all streams. How many there were."""
    began, sent, count = time.monotonic(), 0, len(streams)
    while (now := time.monotonic() - began) < seconds:
        due = int(now * rate / 2)
        if sent >= due:
            time.sleep(0.001)
            continue
        for number in range(sent, min(due, sent + count)):
            streams[number % count].sendall(b"SET key 1\r\n")
        for number in range(sent, min(due, sent + count)):
            streams[number % count].recv(64)
        sent = min(due, sent + count)
    return sent * 2


def main(binary, sessions=1000, rate=10_000, seconds=5, rounds=6):
    with tempfile.TemporaryDirectory() as folder:
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        server = multiprocessing.Process(target=serve, args=(listener,), daemon=True)
        server.start()
        port, admin = free_port(), free_port()
        config = os.path.join(folder, "guard.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(admin=admin, port=port, upstream=listener.getsockname()[1]))
        guard = subprocess.Popen([binary, "guard", config], stderr=subprocess.DEVNULL)
        try:
            streams = []
            while len(streams) < sessions:
                try:
                    streams.append(socket.create_connection(("127.0.0.1", port)))
                    streams[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                except OSError:
                    time.sleep(0.05)
            load(streams, rate, 2)
            ratios, rates, shares = [], [], []
            for number in range(rounds):
                costs = {}
                # Whichever comes first has no advantage.
                for looked_at in (number % 2 == 0, number % 2 == 1):
                    looking = multiprocessing.Process(target=look, args=(admin,), daemon=True)
                    if looked_at:
                        looking.start()
                        time.sleep(0.5)
                    before, began = processor_time(guard), time.monotonic()
                    count = load(streams, rate, seconds)
                    rates.append(count / (time.monotonic() - began))
                    spent, answering = (now - then for now, then in zip(processor_time(guard), before))
                    costs[looked_at] = spent / count
                    if looked_at:
                        shares.append(answering / (spent - answering))
                    if looked_at:
                        looking.kill()
                        looking.join()
                        time.sleep(1)
                ratios.append(costs[True] / costs[False])
                print(f"{costs[False]:.2f} µs a message, looked at {costs[True]:.2f} µs: {ratios[-1]:.3f}; answering who looks is {shares[-1]:.2%} of that", flush=True)
            print(f"{sessions} sessions, {statistics.median(rates):.0f} messages a second: {statistics.median(ratios):.3f} at the median of {rounds} rounds, {statistics.median(shares):.2%} for answering")
        finally:
            guard.kill()
            server.kill()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
