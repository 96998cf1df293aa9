"""A component on RelaMon's wire: JSON over HTTP, first the label, then the value.

`Peer` answers what a monitor asks (`/api/alive`), keeps what it delivers (`POST /`), and hears of violations
(`/api/violation`). Nothing but Python's standard library.
"""

import argparse
import asyncio
import http.client
import json
import os
import queue
import sys
import threading
import time

import wire

PATIENCE = 30


class Violated(Exception):
    """The monitor says that somebody broke the protocol."""


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
        threading.Thread(target=asyncio.run, args=(self.listen(),), daemon=True).start()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.options.monitor, timeout=PATIENCE)

    async def listen(self):
        async with await wire.serve(self.options.port, self.answer) as server:
            await server.serve_forever()

    async def answer(self, method, path, body):
        if path == "/api/violation":
            self.violation(json.loads(body or b"{}"))
        elif path == "/api/alive" and method == "POST":
            self.begin.set()
        elif path == "/":
            while self.silent:
                await asyncio.sleep(0.1)
            if self.failing:
                return 500
            message = json.loads(body)
            self.of(message["sender"]).put(message["payload"])
        return 200

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
            # What was delivered last is being answered.
            time.sleep(0.1)
        except Violated:
            sys.exit(1)
