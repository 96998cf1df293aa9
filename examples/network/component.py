"""A component of one of the protocols here: JSON, one document in each line, over one connection to its monitor.

    python3 component.py two-buyer alice 127.0.0.1:9101 [--sessions 3] [--fault wrong-label] [--resume]

With `--resume` it comes back to its session when its monitor was killed and started again; otherwise nothing here knows of
monitors. For `weather`, `places` and `weather` are plain HTTP servers, and `client` a plain HTTP client. Nothing but
Python's standard library.
"""

import argparse
import contextlib
import http.client
import json
import os
import socket
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse


class Violated(Exception):
    """The monitor says that somebody broke the protocol."""


class Line:
    def __init__(self, place, fault):
        host, _, port = place.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rwb")
        self.fault = fault

    def send(self, label, **fields):
        if self.fault:
            fault, self.fault = self.fault, None
            say(event="fault", fault=fault)
            if fault == "end":
                os._exit(0)
            bytes = {"wrong-label": b'{"type":"nonsense"}\n', "malformed": b"{{{\n"}.get(fault)
            if fault == "wrong-type":
                bytes = json.dumps({"type": label, **{name: [] for name in fields}}).encode() + b"\n"
            self.file.write(bytes)
        else:
            self.file.write(json.dumps({"type": label, **fields}).encode() + b"\n")
        self.file.flush()

    def receive(self, *labels, over=False):
        line = self.file.readline()
        if not line:
            if over:
                return None
            raise Violated("cut off")
        said = json.loads(line)
        if said["type"] == "violation":
            raise Violated(said["notice"])
        if said["type"] not in labels:
            raise SystemExit(f"got {said}, expected {labels}")
        return said

    def end(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        for line in self.file.read().splitlines():
            said = json.loads(line)
            if said["type"] == "violation":
                raise Violated(said["notice"])


class Refused(Exception):
    """The monitor does not know the session any more: it is over."""


class Returning(Line):
    """Comes back to its session, says what it has sent and received, and goes on from there."""

    def __init__(self, place, fault):
        self.place, self.name, self.sent, self.received = place, uuid.uuid4().hex, [], 0
        self.fault = fault
        self.connect()

    def connect(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                super().__init__(self.place, self.fault)
                hello = {"component": self.name, "sent": len(self.sent), "received": self.received}
                self.file.write(json.dumps(hello).encode() + b"\n")
                self.file.flush()
                # The answer comes when the session begins.
                answer = json.loads(self.file.readline())
                if "already" in answer.get("refused", ""):
                    # It has not noticed yet that the connection before this one is closed.
                    raise ValueError(answer["refused"])
                if "refused" in answer:
                    raise Refused(answer["refused"])
                for line in self.sent[answer["taken"]:]:
                    self.file.write(line)
                self.file.flush()
                return
            except (OSError, ValueError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def send(self, label, **fields):
        self.sent.append(json.dumps({"type": label, **fields}).encode() + b"\n")
        try:
            self.file.write(self.sent[-1])
            self.file.flush()
        except OSError:
            self.come_back()

    def receive(self, *labels, over=False):
        while True:
            try:
                line = self.file.readline()
            except OSError:
                line = b""
            if line.endswith(b"\n") or b'"violation"' in line:
                break
            try:
                self.connect()
            except Refused as why:
                if over:
                    return None
                raise Violated(f"cut off: {why}") from why
        said = json.loads(line)
        if said["type"] == "violation":
            raise Violated(said["notice"])
        self.received += 1
        if said["type"] not in labels:
            raise SystemExit(f"got {said}, expected {labels}")
        return said

    def come_back(self):
        with contextlib.suppress(Refused):
            self.connect()

    def end(self):
        # Until the monitor says that the session is over: it may have been killed before it took the last message.
        while True:
            try:
                super().end()
            except OSError:
                pass
            try:
                self.connect()
            except Refused:
                return


def say(**what):
    print(json.dumps({"time": time.time(), **what}), flush=True)


def two_buyer(role, line, n):
    if role == "alice":
        line.send("title", name=f"book {n}")
        price = line.receive("quote")["price"]
        line.send("share", part=price // 2)
        line.receive("ok", "quit")
    elif role == "seller":
        line.receive("title")
        line.send("quote", price=10 + n)
        line.send("quote", price=10 + n)
        if line.receive("address", "stop")["type"] == "address":
            line.send("date", day="Monday")
    else:
        line.receive("quote")
        line.receive("share")
        if n % 2 == 0:
            line.send("ok")
            line.send("address", text="Groningen")
            line.receive("date")
        else:
            line.send("quit")
            line.send("stop")


def three_buyer(role, line, n):
    if role == "bob":
        line.send("ask", part=n)
        if line.receive("date", "quit")["type"] == "date":
            line.receive("ok")
    elif role == "carol":
        line.receive("ask")
        label = "ok" if n % 2 == 0 else "quit"
        for _ in range(3):
            line.send(label)
    elif role == "seller":
        if line.receive("ok", "quit")["type"] == "ok":
            line.send("date", day="Tuesday")
    else:
        line.receive("ok", "quit")


def oauth(role, line, n):
    if role == "service":
        if n % 3 == 2:
            return line.send("cancel")
        line.send("login")
        while line.receive("granted", "wrong")["type"] == "wrong":
            line.send("again")
        line.send("token", value="secret")
    elif role == "client":
        said = line.receive("login", "cancel")["type"]
        if said == "cancel":
            return line.send("quit")
        tries = 0
        while said in ("login", "again"):
            line.send("password", text="x" * tries)
            tries += 1
            said = line.receive("token", "again")["type"]
    else:
        said = line.receive("password", "quit")
        while said["type"] == "password" and len(said["text"]) < n:
            line.send("wrong")
            said = line.receive("password")
        if said["type"] == "password":
            line.send("granted")


def supplier(role, line, n):
    if role == "requestor":
        line.send("credentials", user="bob", secret="" if n % 3 == 2 else "right")
        if line.receive("failure", "success")["type"] == "success":
            for kind in ("nails", "forbidden", "wood"):
                line.send("get", kind=kind)
                if line.receive("deny", "wait")["type"] == "wait":
                    line.receive("answer")
            line.send("leave")
    elif role == "authorise":
        if not line.receive("credentials")["secret"]:
            return line.send("failure")
        line.send("success")
        while (said := line.receive("get", "leave"))["type"] == "get":
            if said["kind"] == "forbidden":
                line.send("deny")
            else:
                line.send("wait")
                line.send("query", kind=said["kind"])
                line.send("answer", count=line.receive("found")["count"])
    else:
        # Nobody tells it when it is over: its monitor closes the connection then.
        while line.receive("query", over=True):
            line.send("found", count=7)


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/leave":
            return self.reply(204, None)
        if url.path == "/places":
            known = {"Groningen": (53.2, 6.6), "Lisbon": (38.7, -9.1)}.get(query.get("name"))
            return self.reply(404, {}) if known is None else self.reply(200, {"lat": known[0], "lon": known[1]})
        return self.reply(200, {"celsius": round(30 - float(query["lat"]) / 4, 1)})

    def reply(self, status, body):
        body = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def weather_client(place, sessions):
    for _ in range(sessions):
        connection = http.client.HTTPConnection(place, timeout=60)

        def get(path):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()

        for name in ("Groningen", "Atlantis", "Lisbon"):
            status, body = get(f"/places?name={name}")
            if status == 200:
                at = json.loads(body)
                status, body = get(f"/weather?lat={at['lat']}&lon={at['lon']}&key=k")
                assert status == 200 and "celsius" in json.loads(body), (status, body)
            else:
                assert status == 404, status
        assert get("/leave")[0] == 204
        connection.close()
    say(event="over")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("protocol")
    parser.add_argument("role")
    parser.add_argument("place")
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--fault", default=None)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    if options.protocol == "weather":
        if options.role == "client":
            return weather_client(options.place, options.sessions)
        host, _, port = options.place.rpartition(":")
        return ThreadingHTTPServer((host, int(port)), Service).serve_forever()
    play = {"two-buyer": two_buyer, "three-buyer": three_buyer, "oauth": oauth, "supplier": supplier}
    try:
        for n in range(options.sessions):
            line = (Returning if options.resume else Line)(options.place, options.fault)
            play[options.protocol](options.role, line, n)
            line.end()
        say(event="over")
    except Violated as violated:
        say(event="violation", notice=violated.args[0])
        sys.exit(1)


main()
