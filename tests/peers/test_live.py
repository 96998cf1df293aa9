"""The live view of `referee studio`: real guards, real clients that misbehave, a real browser."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

import webdriver
from harness import REFEREE, Guard, folder, free_port, listens, wait_until
from webdriver import Browser, wait

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "target" / "studio"
AXE = ROOT / "target" / "peers" / "axe" / "axe.min.js"
TOKEN = "a-token-of-operators"
HOSTILE = '<img src=x onerror="document.title=1">'
TALK = """
protocol = '''protocol Talk(role server, role client) {
  Hello(text: string) from server to client;
  rec LOOP {
    choice at client {
      Set(key: string, value: int) from client to server where value >= 0;
      Ok() from server to client;
      continue LOOP;
    } or {
      Quit() from client to server;
      Bye() from server to client;
    }
  }
}'''
[listener.codec]
kind = "text"
[listener.codec.messages]
Hello = "HELLO {text}"
Set = "SET {key} {value}"
Quit = "QUIT"
Ok = "OK"
Bye = "BYE"
"""
TWO_BUYER = ROOT / "examples" / "network" / "two-buyer.scr"
# From the last byte that a client sends to the verdict in the page.
SOON = 1.0


def polite(stream):
    with stream:
        stream.sendall(b"HELLO you\r\n")
        for line in stream.makefile("rb"):
            stream.sendall(b"BYE\r\n" if line.startswith(b"QUIT") else b"OK\r\n")


def server():
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=polite, args=(stream,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


class Client:
    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.lines = self.stream.makefile("rb")
        self.lines.readline()

    def say(self, text, hears=True):
        self.stream.sendall(text.encode() + b"\r\n")
        return self.lines.readline() if hears else b""

    def close(self):
        self.lines.close()
        self.stream.close()


def events(port, path="/events", token=None):
    """An open stream of events of a guard, and its status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"authorization": f"Bearer {token}"} if token else {})
    return connection.getresponse()


def read_event(answer):
    name = data = None
    while True:
        line = answer.readline().decode()
        if not line:
            return None, None
        if line.startswith("event: "):
            name = line[7:].strip()
        elif line.startswith("data: "):
            data = json.loads(line[6:])
        elif line == "\n" and name:
            return name, data


class Base(unittest.TestCase):
    def guard(self, extra="", token=None):
        upstream = server()
        self.addCleanup(upstream.close)
        guard = Guard("talk", upstream.getsockname()[1], extra, protocol=TALK)
        if token:
            guard.config = guard.config.replace("[log]", f'token = "{token}"\n[log]')
        guard.__enter__()
        self.addCleanup(guard.__exit__)
        return guard

    def client(self, guard):
        client = Client(guard.port)
        self.addCleanup(client.close)
        return client


class Stream(Base):
    """What the admin listener says."""

    def test_one_session_message_by_message(self):
        guard = self.guard(extra='redact = ["key"]')
        client = self.client(guard)
        client.say("SET secret 1")
        overview = events(guard.admin)
        self.assertEqual(overview.getheader("content-type"), "text/event-stream")
        self.assertEqual(read_event(overview)[0], "hello")
        name, listed = read_event(overview)
        self.assertEqual((name, len(listed["sessions"])), ("sessions", 1))
        session = listed["sessions"][0]
        self.assertEqual((session["messages"], session["awaits"], session["listener"]), (3, ["client"], "talk"))
        followed = events(guard.admin, f"/sessions/{session['session']}/events")
        name, first = read_event(followed)
        self.assertEqual(name, "messages")
        self.assertEqual([message["text"] for message in first["messages"]], ["Hello(you)", "Set(redacted, 1)", "Ok()"])
        self.assertEqual(read_event(followed)[0], "state")
        client.say("SET secret -1", hears=False)
        seen = {}
        while "gone" not in seen:
            name, data = read_event(followed)
            seen.setdefault(name, []).append(data)
        wrong = seen["messages"][-1]["messages"][-1]
        self.assertEqual((wrong["number"], wrong["text"], wrong["wrong"]), (3, "Set(redacted, redacted)", True))
        self.assertEqual([verdict["blame"] for verdict in seen["verdict"]], ["client"])
        self.assertEqual(seen["end"][0]["why"], "violation")
        self.assertNotIn("secret", json.dumps(seen))

    def test_who_may_look(self):
        guard = self.guard(token=TOKEN)
        self.assertEqual(events(guard.admin).status, 401)
        self.assertEqual(events(guard.admin, "/sessions/1/events", "wrong").status, 401)
        self.assertEqual(events(guard.admin, "/sessions/99/events", TOKEN).status, 404)
        looking = [events(guard.admin, token=TOKEN) for _ in range(32)]
        self.assertEqual({answer.status for answer in looking}, {200})
        self.assertEqual(events(guard.admin, token=TOKEN).status, 503)
        for answer in looking:
            answer.close()
        # Who is gone makes room: it is noticed when something is written.
        wait(lambda: events(guard.admin, token=TOKEN).status == 200)

    def test_who_does_not_read_slows_nobody(self):
        guard = self.guard(extra='policy = "drop"')
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", guard.admin))
            slow.sendall(b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            slow.recv(100)
            client = self.client(guard)
            began = time.monotonic()
            count = 30_000
            block = b"SET " + b"k" * 40 + b" -1\r\n"
            for _ in range(count // 100):
                client.stream.sendall(block * 100)
            self.assertEqual(client.say("SET a 1"), b"OK\r\n")
            print(f"\n{count} verdicts beside somebody who does not read: {time.monotonic() - began:.1f} s")
            slow.settimeout(20)
            # Now it reads, and is told what it has missed.
            text = b""
            until = time.monotonic() + 20
            while b"event: dropped" not in text and time.monotonic() < until:
                text += slow.recv(1 << 20)
            self.assertIn(b"event: dropped", text)
            self.assertLess(len(text), 20_000_000, "what waits is bounded")


JOINED = """
import { Board, Conversation } from "./board.mjs";
const message = (number, from, to, text) => ({ number, from, to, text, wrong: false });
const talk = new Conversation();
// What the receiver saw arrives first, and the sender was asked later than it spoke.
talk.add(1, { role: "b", messages: [message(0, "a", "b", "early()"), message(1, "a", "b", "x(1)"), message(2, "b", "a", "y(2)")] });
talk.add(0, { role: "a", messages: [message(3, "a", "b", "x(1)"), message(4, "b", "a", "y(2)")] });
const steps = talk.steps().map((step) => `${step.role} ${step.action} ${step.text}`);
// A list that is slow misses messages, and says so.
const slow = new Conversation();
slow.add(0, { role: null, messages: [message(4, "a", "b", "x()")] });
slow.add(0, { role: null, messages: [message(9, "a", "b", "x()")] });
const board = new Board(["one", "two"], () => 1000);
const role = (name) => ({ role: name, phase: "running", state: 0, waits_on: "component", waits_for: null, messages: 2, violations: 0 });
for (const guard of [0, 1]) {
  board.apply("hello", guard, { listeners: [], network: null });
  board.apply("sessions", guard, { sessions: [{ listener: "P", session: "af", network_session: "af", roles: [role("ab"[guard])] }], gone: [], more: 0 });
}
const filter = { text: "", role: "", state: "", listener: "", since: 0, order: "violations" };
const [row] = board.rows(filter);
board.apply("sessions", 0, { sessions: [], gone: ["af"], more: 0 });
const half = board.rows({ ...filter, state: "open" }).length;
board.apply("unreachable", 1, "gone");
console.log(JSON.stringify({ steps, before: slow.before, missed: slow.missed, rows: [row.messages, row.roles, half, board.rows({ ...filter, state: "over" }).length] }));
"""


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Joined(unittest.TestCase):
    def test_what_several_monitors_saw_is_put_in_order(self):
        with folder() as place:
            shutil.copyfile(ROOT / "crates" / "studio" / "ui" / "board.js", place / "board.mjs")
            (place / "joined.mjs").write_text(JOINED)
            done = subprocess.run(["node", place / "joined.mjs"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)
        self.assertEqual(found["steps"], ["b receive early()", "a send x(1)", "b receive x(1)", "b send y(2)", "a receive y(2)"])
        self.assertEqual((found["before"], found["missed"]), (4, 4))
        self.assertEqual(found["rows"], [4, ["a", "b"], 1, 1])


@unittest.skipUnless(webdriver.CHROMIUM, "there is no chromium")
@unittest.skipUnless(webdriver.DRIVER, "there is no chromedriver")
class Live(Base):
    def studio(self, *guards, token=None):
        command = [REFEREE, "studio", "--no-open", *(word for guard in guards for word in ("--guard", guard))]
        environment = os.environ | ({"REFEREE_TOKEN": token} if token else {})
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment)

        def stop():
            process.send_signal(signal.SIGINT)
            process.wait(10)
            process.stdout.close()

        self.addCleanup(stop)
        return process.stdout.readline().split()[0]

    def browser(self, **options):
        browser = Browser(**options)
        self.addCleanup(browser.close)
        return browser

    def test_a_client_misbehaves_and_the_verdict_is_there_within_a_second(self):
        guard = self.guard(token=TOKEN)
        bystander, client = self.client(guard), self.client(guard)
        bystander.say("SET b 7")
        browser = self.browser()
        browser.open(self.studio(f"127.0.0.1:{guard.admin}", token=TOKEN))
        wait(lambda: browser.run("return document.querySelectorAll('.lines .line').length") == 2)
        self.assertIn("connected", browser.text(".guards"))
        # By keyboard alone: the list has the focus. The newest session comes first.
        browser.press("down")
        wait(lambda: "client" in (browser.text(".facts") or ""))
        wait(lambda: "Hello(you)" in (browser.text(".one .sequence") or ""))
        client.say("SET colour 3")
        wait(lambda: "Set(colour, 3)" in browser.text(".one .sequence"))
        began = time.monotonic()
        client.say("SET colour -3", hears=False)
        while not browser.text(".findings"):
            self.assertLess(time.monotonic() - began, 10, "no verdict")
        took = time.monotonic() - began
        print(f"\nfrom the client's byte to the verdict in the page: {took * 1000:.0f} ms")
        self.assertLess(took, SOON)
        finding = browser.text(".findings")
        self.assertIn("value >= 0", finding)
        self.assertIn("client", finding)
        wait(lambda: "Set(colour, -3)" in (browser.text(".one .row.wrong") or ""))
        wait(lambda: "over: violation" in browser.text(".one"))
        self.assertIn("1 verdict", browser.text(".feed"))
        # Violations come first in the list, and the filter shows them alone.
        wait(lambda: browser.run("return document.querySelector('.lines .line').classList.contains('bad')"))
        browser.run("const s = document.querySelector('[aria-label=state]'); s.value = 'wrong'; s.dispatchEvent(new Event('change'))")
        wait(lambda: browser.run("return document.querySelectorAll('.lines .line').length") == 1)
        browser.run("const s = document.querySelector('[aria-label=state]'); s.value = ''; s.dispatchEvent(new Event('change'))")
        wait(lambda: browser.text(".found") == "2 sessions")
        wait(lambda: "open" in (browser.text(".charts") or ""))
        # The address names the session.
        self.assertIn("live=0%3A", browser.run("return location.hash"))
        # The token stays in the studio.
        self.assertNotIn(TOKEN, browser.run("return document.documentElement.innerHTML"))
        self.assertEqual(browser.log(), [])
        browser.screenshot(SHOTS / "live-light-1280.png")

    def test_a_tab_that_nobody_sees_keeps_no_connection(self):
        guard = self.guard()
        client = self.client(guard)
        browser = self.browser()
        counted = """window.streams = 0; const Real = EventSource;
            window.EventSource = class extends Real {
                constructor(path) { super(path); window.streams += 1; }
                close() { if (this.readyState !== 2) window.streams -= 1; super.close(); }
            };
            Object.defineProperty(document, "hidden", {get: () => Boolean(window.unseen)});"""
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": counted})
        browser.open(self.studio(f"127.0.0.1:{guard.admin}"))
        wait(lambda: browser.text(".lines .line"))
        browser.click(".lines .line")
        wait(lambda: browser.run("return window.streams") == 2)
        browser.run("window.unseen = true; document.dispatchEvent(new Event('visibilitychange'))")
        self.assertEqual(browser.run("return window.streams"), 0)
        client.say("SET meanwhile 1")
        browser.run("window.unseen = false; document.dispatchEvent(new Event('visibilitychange'))")
        wait(lambda: browser.run("return window.streams") == 2)
        # It knows again what happened meanwhile.
        wait(lambda: "Set(meanwhile, 1)" in (browser.text(".one .sequence") or ""))
        self.assertEqual(browser.log(), [])

    def test_screenshots_and_accessibility(self):
        guard = self.guard()
        clients = [self.client(guard) for _ in range(12)]
        for number, client in enumerate(clients):
            for _ in range(number % 5):
                client.say(f"SET key{number} {number}")
        url = self.studio(f"127.0.0.1:{guard.admin}")
        cookies = None
        for dark in (False, True):
            for width, height in ((1280, 800), (480, 900)):
                browser = Browser(width=width, height=height, dark=dark)
                try:
                    if cookies:
                        browser.open(url.split("?")[0])
                        browser.ask("POST", "/cookie", {"cookie": cookies})
                    browser.open(url if not cookies else url.split("?")[0])
                    cookies = cookies or browser.ask("GET", "/cookie")[0]
                    wait(lambda: browser.run("return document.querySelectorAll('.lines .line').length") >= 5)
                    browser.click(".lines .line:nth-child(3)")
                    wait(lambda: browser.text(".one .row"))
                    if clients:
                        clients.pop().say("SET oops -1", hears=False)
                    wait(lambda: browser.text(".feed .problems li"))
                    time.sleep(2)
                    name = f"live-{'dark' if dark else 'light'}-{width}.png"
                    browser.screenshot(SHOTS / name)
                    self.assertLessEqual(browser.run("return document.documentElement.scrollWidth - innerWidth"), 0, name)
                    if AXE.exists() and width == 1280:
                        self.assertEqual(browser.serious(AXE), [])
                finally:
                    browser.close()

    def test_what_clients_send_is_text(self):
        guard = self.guard(extra='policy = "observe"')
        client = self.client(guard)
        client.say(f"SET {HOSTILE.replace(' ', '/')} 1")
        browser = self.browser()
        browser.open(self.studio(f"127.0.0.1:{guard.admin}"))
        wait(lambda: browser.text(".lines .line"))
        browser.click(".lines .line")
        wait(lambda: "onerror" in (browser.text(".one .sequence") or ""))
        client.say(HOSTILE, hears=False)
        wait(lambda: "onerror" in (browser.text(".findings") or "") + (browser.text(".feed") or ""))
        self.assertEqual(browser.run("return document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(browser.run("return document.title"), "1")
        self.assertEqual(browser.log(), [])

    def test_a_guard_that_is_not_there_and_one_that_refuses(self):
        guard = self.guard(token=TOKEN)
        browser = self.browser()
        browser.open(self.studio(f"127.0.0.1:{guard.admin}", f"127.0.0.1:{free_port()}", token="another"))
        wait(lambda: "it answers 401" in (browser.text(".guards") or ""))
        wait(lambda: "refused" in browser.text(".guards"))

    def test_a_session_of_a_network_is_one_session(self):
        roles = ["alice", "bob", "seller"]
        inner = {role: free_port() for role in roles}
        outer = {role: free_port() for role in roles}
        admin = {role: free_port() for role in roles}
        with folder() as place:
            children = []
            self.addCleanup(lambda: [child.kill() or child.wait() for child in children])
            for role in roles:
                peers = "".join(f'[multiparty.peer.{other}]\naddress = "127.0.0.1:{outer[other]}"\n' for other in roles if other != role)
                config = place / f"{role}.toml"
                config.write_text(
                    f'[admin]\nlisten = "127.0.0.1:{admin[role]}"\n[multiparty]\nprotocol = "{TWO_BUYER}"\n'
                    f'listen = "127.0.0.1:{outer[role]}"\nkey = "a key of the network"\n{peers}'
                    f'[[multiparty.role]]\nname = "{role}"\nlisten = "127.0.0.1:{inner[role]}"\ncodec = {{ kind = "json" }}\n'
                )
                children.append(subprocess.Popen([REFEREE, "guard", config], stderr=subprocess.DEVNULL))
            for role in roles:
                wait_until(lambda: listens(inner[role]), f"the monitor of {role}")
            browser = self.browser()
            browser.open(self.studio(*(place / f"{role}.toml" for role in roles)))
            wait(lambda: (browser.text(".guards") or "").count("connected") == 3)
            bob, seller, alice = (socket.create_connection(("127.0.0.1", inner[role]), timeout=20) for role in ("bob", "seller", "alice"))
            for stream in (bob, seller, alice):
                self.addCleanup(stream.close)

            def say(stream, **message):
                stream.sendall(json.dumps(message).encode() + b"\n")

            say(alice, type="title", name="Dune")
            wait(lambda: browser.run("return document.querySelectorAll('.lines .line').length") == 1)
            browser.click(".lines .line")
            say(seller, type="quote", price=10)
            say(seller, type="quote", price=10)
            wait(lambda: browser.run("return document.querySelectorAll('.one .row').length") >= 6)
            wait(lambda: "waits for" in (browser.text(".facts") or ""))
            steps = browser.run("return [...document.querySelectorAll('.one .row .spoken')].map((row) => row.textContent.replace(/^\\d+: /, ''))")
            self.assertEqual(len(steps), len(set(steps)), steps)
            self.assertIn('alice sends title("Dune") to seller', steps)
            # Each message is there as it was sent and as it was received, in this order.
            sent = next(at for at, step in enumerate(steps) if step.startswith("alice sends title"))
            received = next(at for at, step in enumerate(steps) if step.startswith("seller receives title"))
            self.assertLess(sent, received, steps)
            say(alice, type="share", part=11)
            wait(lambda: "part <= price" in (browser.text(".findings") or ""))
            self.assertIn("alice", browser.text(".findings"))
            self.assertEqual(browser.log(), [])
            browser.screenshot(SHOTS / "live-network-light-1280.png")
