"""A monitor of the protocol of `examples/auth3` that does as RelaMon's do on the wire: it keeps nothing that comes before its
turn, but takes it for a violation; it loses what comes before it has seen everyone; it posts to several others at once,
waits for no answer, and says of a violation only that there is one.

    plain.py client.json
"""

import asyncio
import json
import os
import sys

import wire


def server():
    choice = ""
    while choice != "quit":
        choice = yield "s", ("login", "quit"), "c", ("a",)
        if choice == "login":
            yield "a", ("auth",), "s", ()
            yield "a", bool, "s", ()


def client():
    choice = ""
    while choice != "quit":
        choice = yield "s", ("login", "quit"), "c", ("a",)
        if choice == "login":
            yield "c", ("passwd",), "a", ()
            yield "c", str, "a", ()
    yield "c", ("quit",), "a", ()


def authorizer():
    choice = ""
    while choice != "quit":
        choice = yield "s", ("login", "quit"), "a", ()
        yield "c", (choice,), None, ()
        if choice == "login":
            yield "c", ("passwd",), "a", ()
            yield "c", str, "a", ()
            yield "a", ("auth",), "s", ()
            yield "a", bool, "s", ()
    yield "c", ("quit",), "a", ()


class Monitor:
    def __init__(self, file):
        self.role = file["implementingParty"]
        self.port = file["monitorPort"]
        self.places = file["participants"]
        self.steps = {"s": server, "c": client, "a": authorizer}[self.role]()
        self.expected = next(self.steps)
        self.component = self.everyone = self.violated = False
        self.posts = set()
        self.delivery = None
        self.ended = asyncio.Event()

    def post(self, role, path, body=b""):
        # A component cannot put in order what overtakes; Referee's monitors can.
        before = [self.delivery] if role == self.role and self.delivery else []
        task = asyncio.ensure_future(self.post_after(before, self.places[role], path, body))
        self.posts.add(task)
        if role == self.role:
            self.delivery = task

    async def post_after(self, before, place, path, body):
        await asyncio.gather(*before, return_exceptions=True)
        return await wire.call(place, "POST", path, body)

    async def answer(self, method, path, body):
        if path == "/api/alive":
            return 200 if self.component else 400
        if path == "/api/violation":
            self.violation("told", [self.role])
        elif not self.everyone:
            print("lost", body.decode(), flush=True)
        elif not self.violated:
            self.take(json.loads(body))
        return 200

    def take(self, message):
        sender, accepted, receiver, informed = self.expected
        payload = message["payload"]
        fits = payload in accepted if isinstance(accepted, tuple) else isinstance(payload, accepted)
        if message["sender"] != sender or not fits:
            return self.violation(f"{message} where {self.expected} is expected", self.places)
        if receiver:
            self.post(receiver, "/", json.dumps(message).encode())
        for role in informed:
            about = {"sender": self.role, "receiver": role, "payload": payload}
            self.post(role, "/", json.dumps(about).encode())
        try:
            self.expected = self.steps.send(payload)
        except StopIteration:
            self.ended.set()

    def violation(self, why, roles):
        print("violation", why, flush=True)
        self.violated = True
        for role in roles:
            self.post(role, "/api/violation")
        self.ended.set()

    async def is_there(self, role):
        while True:
            try:
                if await wire.call(self.places[role], "GET", "/api/alive") == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.02)

    async def run(self):
        await wire.serve(self.port, self.answer)
        await self.is_there(self.role)
        self.component = True
        for role in self.places:
            await self.is_there(role)
        self.everyone = True
        # Two of RelaMon's may lose each other's first message; two of these do not.
        await asyncio.sleep(0.3)
        await wire.call(self.places[self.role], "POST", "/api/alive")
        await self.ended.wait()
        await asyncio.gather(*self.posts, return_exceptions=True)
        os._exit(1 if self.violated else 0)


with open(sys.argv[1], encoding="utf-8") as text:
    asyncio.run(Monitor(json.load(text)).run())
