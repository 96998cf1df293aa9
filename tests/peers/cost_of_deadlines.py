#!/usr/bin/env python3
"""What deadlines cost a guard: processor time per HTTP request on a connection that is kept alive, with and without, in turns.

cost_of_deadlines.py REFEREE [REQUESTS [ROUNDS]]
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CONFIG = """threads = 1
[[listener]]
listen = "127.0.0.1:{port}"
upstream = "127.0.0.1:{upstream}"
deadlines = "{deadlines}"
protocol = '''protocol P(role client, role server) {{ rec X {{ Request(method: string) from client to server;
  Response(status: int) from server to client {times}; continue X; }} }}'''
[listener.codec]
kind = "http"
leave = {{ client = "anytime", server = "between-messages" }}
[listener.codec.messages]
Request = {{ pattern = "* *", fields = {{ method = "method" }} }}
Response = {{ pattern = "*", fields = {{ status = "status" }} }}
"""


def server():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(stream):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while stream.recv(4096):
            stream.sendall(ANSWER)

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def guard(binary, folder, upstream, times, deadlines):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = os.path.join(folder, f"{port}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(port=port, upstream=upstream, times=times, deadlines=deadlines))
    process = subprocess.Popen([binary, "guard", path], stderr=subprocess.DEVNULL)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.02)
    return process, port


def processor_time(process):
    """Microseconds that its threads have run."""
    folder = f"/proc/{process.pid}/task"
    times = (open(f"{folder}/{task}/schedstat", encoding="ascii").read().split()[0] for task in os.listdir(folder))
    return sum(map(int, times)) / 1000


def load(port, count):
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            stream.sendall(REQUEST)
            stream.recv(4096)


def main():
    binary, *numbers = sys.argv[1:]
    requests, rounds = (list(map(int, numbers)) + [400, 60][len(numbers):])[:2]
    upstream = server()
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "no times": guard(binary, folder, upstream, "", "off"),
            "off": guard(binary, folder, upstream, "within 5s", "off"),
            "report": guard(binary, folder, upstream, "within 5s", "report"),
        }
        spent = {way: [] for way in ways}
        for process, port in ways.values():
            load(port, 2000)
        for _ in range(rounds):
            for way, (process, port) in ways.items():
                before = processor_time(process)
                load(port, requests)
                spent[way].append((processor_time(process) - before) / requests)
        for way, times in spent.items():
            print(f"{way}: least {min(times):.2f} µs, median {statistics.median(times):.2f} µs a request")
        for process, _ in ways.values():
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
