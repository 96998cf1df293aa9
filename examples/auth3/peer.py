"""A component on RelaMon's wire: JSON over HTTP, first the label, then the value.

`Peer` answers what a monitor asks (`/api/alive`), keeps what it delivers (`POST /`), and hears of violations
(`/api/violation`). Nothing but Python's standard library.
"""

import argparse
import http.client
import json
import os
import queue
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

PATIENCE = 30


class Violated(Exception):
    """The monitor says that somebody broke the protocol."""


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Peer:
    def __init__(self, role):
        parser = argparse.ArgumentParser()
        parser.add_argument("--port", type=int, required=True, help="where this component listens")
        parser.add_argument("--monitor", type=int, required=True, help="the port of its monitor")
        parser.add_argument("--loops", type=int, default=10)
        parser.add_argument("--fault", default="", help="what to do wrong, and in which loop: wrong-label:3")
        self.options = parser.parse_args()
        fault, _, loop = self.options.fault.partition(":")
        self.fault, self.fault_loop = fault, int(loop or 0)
        self.role = role
        self.begin = threading.Event()
        self.inbox = {}
        self.lock = threading.Lock()
        self.silent = self.failing = False
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def reply(self, status):
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                self.reply(200 if self.path == "/api/alive" else 404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/":
                    while peer.silent:
                        time.sleep(0.1)
                    if peer.failing:
                        return self.reply(500)
                    message = json.loads(body)
                    peer.of(message["sender"]).put(message["payload"])
                elif self.path == "/api/alive":
                    peer.begin.set()
                elif self.path == "/api/violation":
                    peer.violation(json.loads(body or b"{}"))
                self.reply(200)

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.options.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.options.monitor, timeout=PATIENCE)

    def of(self, sender):
        with self.lock:
            return self.inbox.setdefault(sender, queue.Queue())

    def say(self, **what):
        print(json.dumps({"role": self.role, "time": time.time(), **what}), flush=True)

    def violation(self, notice):
        self.say(event="violation", notice=notice)
        with self.lock:
            for inbox in self.inbox.values():
                inbox.put(Violated())

    def post(self, body):
        """Posts `body` as it is."""
        self.connection.request("POST", "/", body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        response.read()
        return response.status

    def send(self, receiver, label, *value):
        for payload in (label, *value):
            self.post(json.dumps({"sender": self.role, "receiver": receiver, "payload": payload}).encode())

    def receive(self, sender):
        got = self.of(sender).get(timeout=PATIENCE)
        if isinstance(got, Violated):
            raise got
        return got

    def misbehave(self, loop, receiver):
        """Does what `--fault` says, in the loop it says; otherwise nothing."""
        if loop != self.fault_loop or not self.fault:
            return
        self.say(event="fault", fault=self.fault)
        if self.fault == "wrong-label":
            self.send(receiver, "nonsense")
        elif self.fault == "prototype-label":
            self.send(receiver, "toString")
        elif self.fault == "no-label":
            self.send(receiver, 17)
        elif self.fault == "malformed":
            self.post(b'{"sender": ')
        elif self.fault == "no-envelope":
            self.post(b"[1, 2, 3]")
        elif self.fault == "deep":
            self.post(b"[" * 50_000)
        elif self.fault == "huge":
            self.post(json.dumps({"sender": self.role, "receiver": receiver, "payload": "x" * 200_000}).encode())
        elif self.fault == "unknown-sender":
            self.post(json.dumps({"sender": "nobody", "receiver": receiver, "payload": "login"}).encode())
        elif self.fault == "unknown-receiver":
            self.send("nobody", "login")
        elif self.fault == "end":
            os._exit(0)
        elif self.fault in ("fail", "silent"):
            # From now on, whatever it is given.
            self.failing, self.silent = self.fault == "fail", self.fault == "silent"
            return
        else:
            return
        time.sleep(PATIENCE)

    def play(self, loops):
        """Runs `loops(self)` once everyone is there."""
        self.begin.wait(PATIENCE)
        began = time.time()
        try:
            loops(self)
            self.say(event="over", seconds=time.time() - began)
        except Violated:
            sys.exit(1)
