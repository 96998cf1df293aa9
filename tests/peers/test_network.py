"""Monitors of one protocol that talk to each other: over nats-server, which is killed, and over a network that is taken
apart. No message of a session is lost, doubled or out of order."""

import contextlib
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import unittest

from harness import REFEREE, Case, folder, free_port, listens, need, run, wait_until

EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples" / "network"
ROLES = ["alice", "bob", "seller"]
KEY = "a key of the network"
# Everyone must know within a second, on a machine that is not busy.
SOON = 3


class Players(Case):
    """What tests of networks share: processes in a folder, and what they have said."""

    def start(self, *command, out):
        with open(self.place / out, "ab") as file:
            child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.children.append(child)
        return child

    def said(self, out):
        return (self.place / out).read_text(errors="replace")

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in self.place.glob("*-*"))

    def assert_over(self, players, seconds=90):
        for role, player in players.items():
            try:
                self.assertEqual(0, player.wait(seconds), f"{role}: {self.logs()}")
            except subprocess.TimeoutExpired:
                self.fail(f"{role} does not end: {self.logs()}")


@need("nats-server")
class Network(Players):
    @contextlib.contextmanager
    def network(self, partition="30s", keys=(), resume=False, broker=()):
        with folder() as place:
            self.resume = resume
            self.place, self.port = place, free_port()
            self.components = {role: free_port() for role in ROLES}
            self.children = []
            self.partition, self.keys = partition, dict(keys)
            try:
                self.broker = self.start_broker(*broker)
                self.monitors = {role: self.start_monitor(role) for role in ROLES}
                for role in ROLES:
                    wait_until(lambda: listens(self.components[role]), f"the monitor of {role}")
                yield
            finally:
                for child in self.children:
                    child.kill()
                    child.wait()

    def start_broker(self, *options):
        options = options or ("-js", "-sd", self.place / "js")
        broker = self.start("nats-server", "-a", "127.0.0.1", "-p", self.port, *options, out="broker")
        wait_until(lambda: listens(self.port), "nats-server")
        return broker

    def start_monitor(self, role):
        config = self.place / f"{role}.toml"
        config.write_text(f"""
[multiparty]
protocol = "{EXAMPLES / "two-buyer.scr"}"
transport = "nats"
broker = "nats://127.0.0.1:{self.port}"
key = "{self.keys.get(role, KEY)}"
limits = {{ partition = "{self.partition}", handshake = "20s" }}
{f'state = "{self.place}/state/{role}"' if self.resume else ''}

[[multiparty.role]]
name = "{role}"
listen = "127.0.0.1:{self.components[role]}"
close-message = '{{"type":"violation","notice":{{json}}}}'
codec = {{ kind = "json" }}
resume = {json.dumps(self.resume)}
""")
        return self.start(REFEREE, "guard", config, out=f"monitor-{role}")

    def play(self, sessions, tag="first"):
        """The components of all roles, in as many sessions."""
        script = [sys.executable, "-B", EXAMPLES / "component.py", "two-buyer"]
        options = ["--resume"] if self.resume else []
        # The one that begins comes last.
        return {
            role: self.start(*script, role, f"127.0.0.1:{self.components[role]}", "--sessions", sessions, *options, out=f"{tag}-{role}")
            for role in reversed(ROLES)
        }

    def test_sessions_over_a_broker(self):
        with self.network():
            began = time.monotonic()
            self.assert_over(self.play(100))
            self.assertLess(time.monotonic() - began, 60)

    def test_every_example_over_a_broker(self):
        """Each role of each example in a process of its own; the components are those of `examples/network`."""
        for example in sorted(EXAMPLES.glob("*.toml")):
            with self.subTest(example.stem), folder() as place:
                self.place, self.port, self.children = place, free_port(), []
                try:
                    self.start_broker()
                    self.assert_over(self.play_example(example))
                finally:
                    for child in self.children:
                        child.kill()
                        child.wait()

    def test_plain_services_are_asked_again_when_their_monitor_was_killed(self):
        chance = random.Random(11)
        with folder() as place:
            self.place, self.port, self.children = place, free_port(), []
            try:
                self.start_broker()
                players = self.play_example(EXAMPLES / "weather.toml", sessions=300, resume=True)
                kills = 0
                while players["client"].poll() is None and kills < 12:
                    time.sleep(chance.uniform(0.1, 0.5))
                    service = chance.choice(["places", "weather"])
                    self.monitors[service].kill()
                    self.monitors[service].wait()
                    self.monitors[service] = self.start(REFEREE, "guard", self.place / f"{service}.toml", out=f"monitor-{service}")
                    kills += 1
                self.assertGreater(kills, 3)
                self.assert_over(players, seconds=300)
            finally:
                for child in self.children:
                    child.kill()
                    child.wait()

    def play_example(self, example, sessions=6, resume=False):
        head, *roles = example.read_text().split("[[multiparty.role]]")
        head = head.replace('protocol = "', f'transport = "nats"\nbroker = "nats://127.0.0.1:{self.port}"\nprotocol = "{EXAMPLES}/')
        if resume:
            head = head.replace("protocol =", f'state = "{self.place}/state/ROLE"\nprotocol =')
        self.monitors, players, script = {}, {}, [sys.executable, "-B", EXAMPLES / "component.py", example.stem]
        places = {}
        for text in roles:
            name, way, written = re.search(r'name = "(\w+)"\n(listen|upstream) = "127.0.0.1:(\d+)"', text).groups()
            places[name] = (way, free_port())
            config = self.place / f"{name}.toml"
            text = text.replace(written, str(places[name][1]))
            if resume and way == "upstream":
                text = text.replace('dependencies =', 'resume = true\ndependencies =')
            config.write_text(f"{head.replace('ROLE', name)}[[multiparty.role]]{text}")
            if way == "upstream":
                self.start(*script, name, f"127.0.0.1:{places[name][1]}", out=f"server-{name}")
                wait_until(lambda: listens(places[name][1]), f"the component of {name}")
            self.monitors[name] = self.start(REFEREE, "guard", config, out=f"monitor-{name}")
        for name, (way, port) in places.items():
            if way == "listen":
                wait_until(lambda: listens(port), f"the monitor of {name}")
                players[name] = self.start(*script, name, f"127.0.0.1:{port}", "--sessions", sessions, out=f"first-{name}")
        return players

    def test_a_broker_without_jetstream_is_told_of_once(self):
        with self.network(broker=["-n", "plain"]):
            for role in ROLES:
                wait_until(lambda: "nats-server -js" in self.said(f"monitor-{role}"), f"advice of {role}'s monitor")
            time.sleep(4)
            for role in ROLES:
                said = self.said(f"monitor-{role}")
                self.assertEqual((1, 1), (said.count("nats-server -js"), said.count("connected to the broker")), said)
            self.broker.kill()
            self.broker.wait()
            self.broker = self.start_broker()
            self.assert_over(self.play(3))

    def test_a_broker_that_is_killed_loses_and_doubles_nothing(self):
        chance = random.Random(5)
        with self.network():
            players = self.play(400)
            kills = 0
            while kills < 4 and players["alice"].poll() is None:
                time.sleep(chance.uniform(0.3, 1.0))
                self.broker.send_signal(signal.SIGKILL)
                self.broker.wait()
                time.sleep(chance.uniform(0.0, 0.5))
                self.broker = self.start_broker()
                kills += 1
            self.assertGreater(kills, 0)
            self.assert_over(players)

    def test_a_monitor_that_is_killed_is_missed_and_comes_back(self):
        with self.network():
            for round, restarts in enumerate([False, True]):
                self.assert_over(self.play(3, tag=f"before-{round}"))
                # Sessions without end: those who are left are told.
                tag = f"during-{round}"
                players = self.play(1_000_000, tag)
                time.sleep(1)
                if restarts:
                    # Everyone is heard again soon after the broker is back.
                    self.kill_broker()
                    self.restart_broker()
                    time.sleep(1)
                self.kill_seller()
                killed = time.time()
                # Only alice's component is always in a session: between two, bob's waits and is told nothing.
                self.assertEqual(1, players["alice"].wait(20), self.logs())
                time.sleep(0.5)
                for role in [role for role in ("alice", "bob") if players[role].poll() is not None]:
                    events = [json.loads(line) for line in self.said(f"{tag}-{role}").splitlines()]
                    notices = [event for event in events if event["event"] == "violation"]
                    self.assertEqual(1, len(notices), self.logs())
                    if isinstance(notices[0]["notice"], dict):
                        self.assertEqual(("fault", None), (notices[0]["notice"]["kind"], notices[0]["notice"]["blame"]))
                    print(f"{role} was told after {notices[0]['time'] - killed:.2f} s", file=sys.stderr)
                    self.assertLess(notices[0]["time"] - killed, SOON)
                for player in players.values():
                    player.kill()
                self.restart_seller()
                wait_until(lambda: listens(self.components["seller"]), "the monitor of seller")
                anew = lambda: self.said("monitor-alice").count("started anew") > round
                wait_until(anew, "news of the seller's monitor")
            self.assert_over(self.play(3, tag="after"))

    def test_operators_know_soon_whom_sessions_wait_for(self):
        with self.network(resume=True):
            players = self.play(300)
            time.sleep(1)
            for what, leaves, returns in [
                ("the process of another monitor has ended", self.kill_seller, self.restart_seller),
                ("the connection to the broker", self.kill_broker, self.restart_broker),
            ]:
                left = time.time()
                leaves()
                for role in ("alice", "bob"):
                    wait_until(lambda: what in self.said(f"monitor-{role}"), what)
                print(f"{what}: known after {time.time() - left:.2f} s", file=sys.stderr)
                self.assertLess(time.time() - left, SOON)
                returns()
                time.sleep(1)
            self.assert_over(players)

    def kill_seller(self):
        self.monitors["seller"].kill()
        self.monitors["seller"].wait()

    def restart_seller(self):
        self.monitors["seller"] = self.start_monitor("seller")

    def kill_broker(self):
        self.broker.kill()
        self.broker.wait()

    def restart_broker(self):
        self.broker = self.start_broker()

    def test_a_broker_that_does_not_come_back_is_named(self):
        with self.network(partition="3s"):
            players = self.play(1_000_000)
            time.sleep(1)
            self.kill_broker()
            self.assertEqual(1, players["alice"].wait(20), self.logs())
            self.assertIn("the broker is out of reach", self.said("first-alice"), self.logs())

    def test_sessions_survive_kills_of_any_monitor_and_of_the_broker(self):
        chance = random.Random(7)
        with self.network(resume=True):
            players = self.play(600)
            kills = 0
            while any(player.poll() is None for player in players.values()) and kills < 30:
                time.sleep(chance.uniform(0.1, 0.6))
                role = chance.choice([*ROLES, "broker"])
                if role == "broker":
                    self.broker.kill()
                    self.broker.wait()
                    self.broker = self.start_broker()
                else:
                    self.monitors[role].kill()
                    self.monitors[role].wait()
                    self.monitors[role] = self.start_monitor(role)
                kills += 1
            self.assertGreater(kills, 5)
            self.assert_over(players)
            for role in ROLES:
                for what in ("violation", "fault"):
                    self.assertNotIn(f'"{what}"', self.said(f"first-{role}"), self.logs())
            said = "".join(self.said(f"monitor-{role}") for role in ROLES)
            self.assertIn("goes on with what is remembered", said)

    def test_a_component_that_does_not_come_back_is_given_up(self):
        with self.network(resume=True, partition="3s"):
            players = self.play(1_000_000)
            time.sleep(1)
            players["seller"].kill()
            self.monitors["seller"].kill()
            self.monitors["seller"].wait()
            self.monitors["seller"] = self.start_monitor("seller")
            for role in ("alice", "bob"):
                # Who has begun another session already is told that the seller does not join.
                self.assertEqual(1, players[role].wait(30), self.logs())
            said = self.said("first-alice") + self.said("first-bob")
            self.assertTrue("did not come back" in said or "did not join" in said, self.logs())

    def test_who_does_not_know_the_key_is_not_heard(self):
        with self.network(keys={"seller": "another key, as long"}):
            players = self.play(1)
            wait_until(lambda: "does not know the key" in self.said("monitor-alice"), "a complaint")
            time.sleep(2)
            self.assertIsNone(players["seller"].poll(), self.logs())
            self.assertNotIn("over", self.said("first-alice"))


def namespaces():
    """Why no network namespaces can be made here, if they cannot."""
    if shutil.which("ip") is None:
        return "not installed: ip (of iproute2)"
    name = f"referee-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


@unittest.skipIf(why := namespaces(), why)
class Partition(Players):
    """Three monitors, each with its component in a network namespace of its own, and a bridge between them."""

    PORT = {"component": 9000, "monitor": 7000}

    def space(self, name):
        return f"referee-{os.getpid()}-{name}"

    def ip(self, space, *words):
        subprocess.run(["ip", "-n", self.space(space), *words], check=True, capture_output=True)

    def within(self, role):
        return ["ip", "netns", "exec", self.space(role)]

    def address(self, role):
        return f"10.77.0.{ROLES.index(role) + 1}"

    @contextlib.contextmanager
    def network(self, partition):
        with folder() as place:
            self.place, self.children = place, []
            spaces = ["hub", *ROLES]
            try:
                for space in spaces:
                    subprocess.run(["ip", "netns", "add", self.space(space)], check=True)
                    self.ip(space, "link", "set", "lo", "up")
                self.ip("hub", "link", "add", "bridge", "type", "bridge")
                self.ip("hub", "link", "set", "bridge", "up")
                for role in ROLES:
                    self.ip("hub", "link", "add", role, "type", "veth", "peer", "name", "out", "netns", self.space(role))
                    self.ip("hub", "link", "set", role, "master", "bridge", "up")
                    self.ip(role, "address", "add", f"{self.address(role)}/24", "dev", "out")
                    self.ip(role, "link", "set", "out", "up")
                for role in ROLES:
                    self.start_monitor(role, partition)
                for role in ROLES:
                    wait_until(lambda: self.reaches(role, "127.0.0.1", "component"), f"the monitor of {role}")
                wait_until(lambda: self.said("monitor-alice").count("connected to") >= 2, "the other monitors")
                yield
            finally:
                for child in self.children:
                    child.kill()
                    child.wait()
                for space in spaces:
                    subprocess.run(["ip", "netns", "del", self.space(space)], capture_output=True)

    def reaches(self, role, address, port):
        probe = f"import socket; socket.create_connection(('{address}', {self.PORT[port]}), 1)"
        command = [*self.within(role), sys.executable, "-c", probe]
        return subprocess.run(command, capture_output=True).returncode == 0

    def start_monitor(self, role, partition):
        peers = "".join(
            f'[multiparty.peer.{peer}]\naddress = "{self.address(peer)}:{self.PORT["monitor"]}"\n'
            for peer in ROLES if peer != role
        )
        config = self.place / f"{role}.toml"
        config.write_text(f"""
[multiparty]
protocol = "{EXAMPLES / "two-buyer.scr"}"
listen = "{self.address(role)}:{self.PORT["monitor"]}"
key = "{KEY}"
limits = {{ partition = "{partition}", handshake = "40s" }}
{peers}
[[multiparty.role]]
name = "{role}"
listen = "127.0.0.1:{self.PORT["component"]}"
close-message = '{{"type":"violation","notice":{{json}}}}'
codec = {{ kind = "json" }}
""")
        return self.start(*self.within(role), REFEREE, "guard", config, out=f"monitor-{role}")

    def play(self, sessions, tag):
        script = [sys.executable, "-B", EXAMPLES / "component.py", "two-buyer"]
        place = f"127.0.0.1:{self.PORT['component']}"
        return {
            role: self.start(*self.within(role), *script, role, place, "--sessions", sessions, out=f"{tag}-{role}")
            for role in reversed(ROLES)
        }

    def cut(self, role, seconds):
        self.ip("hub", "link", "set", role, "down")
        time.sleep(seconds)
        self.ip("hub", "link", "set", role, "up")

    def test_a_network_that_is_taken_apart_loses_and_doubles_nothing(self):
        with self.network(partition="60s"):
            # Several sessions at once.
            players = [self.play(2000, tag=f"players{number}") for number in range(3)]
            cuts = 0
            # Shorter than it takes to notice, and longer; each role once, and one again.
            for role, seconds in [("seller", 2), ("bob", 7), ("alice", 1), ("seller", 6)]:
                time.sleep(0.7)
                if any(player.poll() is None for group in players for player in group.values()):
                    self.cut(role, seconds)
                    cuts += 1
            self.assertGreaterEqual(cuts, 2, "the sessions were over too soon")
            for group in players:
                self.assert_over(group)
            broke = sum(self.said(f"monitor-{role}").count("the other monitor broke") for role in ROLES)
            self.assertGreater(broke, 0, "nobody noticed anything")
            for role in ROLES:
                self.assertNotIn("violation", self.said(f"monitor-{role}"))
                self.assertNotIn("fault", self.said(f"monitor-{role}"))

    def test_everyone_is_told_of_a_monitor_that_is_out_of_reach_for_too_long(self):
        with self.network(partition="3s"):
            self.assert_over(self.play(3, tag="before"))
            players = self.play(1_000_000, tag="during")
            time.sleep(1)
            self.ip("hub", "link", "set", "seller", "down")
            began = time.time()
            for role in ("alice", "bob"):
                wait_until(lambda: "nothing is heard of another monitor" in self.said(f"monitor-{role}"), "a warning")
            print(f"operators were told after {time.time() - began:.2f} s", flush=True)
            self.assertLess(time.time() - began, SOON)
            # Only alice's component is always in a session: between two, the others wait and are told nothing.
            self.assertEqual(1, players["alice"].wait(20), self.logs())
            time.sleep(1)
            told_roles = [role for role in ROLES if players[role].poll() is not None]
            for role in set(ROLES).difference(told_roles):
                players[role].kill()
                players[role].wait()
            for role in told_roles:
                self.assertEqual(1, players[role].poll(), self.logs())
                events = [json.loads(line) for line in self.said(f"during-{role}").splitlines()]
                told = events[-1]
                self.assertEqual("violation", told["event"], self.logs())
                self.assertEqual(("fault", None), (told["notice"]["kind"], told["notice"]["blame"]), self.logs())
                self.assertGreater(told["time"] - began, 1.5, self.logs())
                self.assertLess(told["time"] - began, 3 + 2, self.logs())
                print(f"{role} was told after {told['time'] - began:.1f} s", flush=True)
            self.ip("hub", "link", "set", "seller", "up")
            wait_until(lambda: self.reaches("alice", self.address("seller"), "monitor"), "the network")
            wait_until(lambda: self.said("monitor-alice").count("connected to") >= 3, "the monitor of seller")
            wait_until(lambda: self.said("monitor-bob").count("connected to") >= 3, "the monitor of seller")
            self.assert_over(self.play(20, tag="after"))


@unittest.skipIf(importlib.util.find_spec("websockets") is None, "not installed: websockets, from PyPI")
class WebSockets(Players):
    """Components that are clients and servers of the Python library websockets, of which two are behind TLS."""

    SESSIONS = 30

    @contextlib.contextmanager
    def network(self):
        from websockets.sync.server import serve

        with folder() as place:
            self.place, self.children = place, []
            self.ports = {role: free_port() for role in ROLES}
            run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                "-keyout", place / "key.pem", "-out", place / "certificate.pem")
            self.paths, self.problems = [], []
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(place / "certificate.pem", place / "key.pem")
            with serve(self.seller, "127.0.0.1", self.ports["seller"], ssl=context) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                try:
                    self.start_monitors()
                    yield
                finally:
                    for child in self.children:
                        child.kill()
                        child.wait()
                    server.shutdown()

    def start_monitors(self):
        config = self.place / "monitors.toml"
        certificate = 'certificate = "certificate.pem", key = "key.pem"'
        config.write_text(f"""
[multiparty]
protocol = "{EXAMPLES / "two-buyer.scr"}"
[[multiparty.role]]
name = "alice"
listen = "127.0.0.1:{self.ports["alice"]}"
close-message = "{{json}}"
codec.kind = "websocket"
[[multiparty.role]]
name = "bob"
listen = "127.0.0.1:{self.ports["bob"]}"
tls = {{ {certificate} }}
close-message = "{{json}}"
codec.kind = "websocket"
[[multiparty.role]]
name = "seller"
upstream = "127.0.0.1:{self.ports["seller"]}"
upstream-tls = {{ ca = "certificate.pem", server-name = "localhost" }}
path = "/shop?open"
close-message = "{{json}}"
codec.kind = "websocket"
""")
        self.start(REFEREE, "guard", config, out="monitor-all")
        for role in ("alice", "bob"):
            wait_until(lambda: listens(self.ports[role]), f"the monitor of {role}")

    def send(self, socket, label, **fields):
        socket.send(json.dumps({"type": label, **fields}))

    def expect(self, socket, *labels):
        said = json.loads(socket.recv(timeout=30))
        self.assertIn(said.get("type"), labels, said)
        return said

    def ends(self, socket):
        """The monitor says that it is over, in the way of WebSocket."""
        from websockets.exceptions import ConnectionClosedOK

        with self.assertRaises(ConnectionClosedOK):
            socket.recv(timeout=30)

    def seller(self, socket):
        try:
            self.paths.append(socket.request.path)
            self.expect(socket, "title")
            self.send(socket, "quote", price=10)
            # In fragments.
            socket.send(iter(['{"type":"qu', 'ote","price"', ":10}"]))
            if self.expect(socket, "address", "stop")["type"] == "address":
                self.send(socket, "date", day="Monday")
            self.ends(socket)
        except Exception as problem:
            self.problems.append(problem)

    def connect(self, role):
        from websockets.sync.client import connect

        context = ssl.create_default_context(cafile=self.place / "certificate.pem")
        if role == "alice":
            return connect(f"ws://127.0.0.1:{self.ports[role]}/")
        # Session tickets of TLS 1.3 are read by one thread of the client while another writes, and before Python 3.13 its
        # request may never leave: such a client waits for ever.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        return connect(f"wss://127.0.0.1:{self.ports[role]}/", ssl=context, server_hostname="localhost")

    def test_clients_and_servers_of_another_hand(self):
        with self.network():
            for n in range(self.SESSIONS):
                with self.connect("bob") as bob, self.connect("alice") as alice:
                    self.send(alice, "title", name="x" * (n * 5000))
                    self.expect(alice, "quote")
                    bob.ping().wait(30)
                    self.send(alice, "share", part=5)
                    self.expect(bob, "quote")
                    self.expect(bob, "share")
                    if n % 2 == 0:
                        self.send(bob, "ok")
                        self.send(bob, "address", text="Groningen")
                        self.expect(bob, "date")
                    else:
                        self.send(bob, "quit")
                        self.send(bob, "stop")
                    self.expect(alice, "ok", "quit")
                    self.ends(alice)
                    self.ends(bob)
            wait_until(lambda: len(self.paths) == self.SESSIONS, "the seller")
            self.assertEqual({"/shop?open"}, set(self.paths))
            # Somebody breaks the protocol: everyone is told why before it is closed.
            self.assertEqual([], self.problems, self.logs())
            with self.connect("bob") as bob, self.connect("alice") as alice:
                self.send(alice, "nonsense")
                for socket in (alice, bob):
                    self.assertEqual("alice", json.loads(socket.recv(timeout=30))["blame"])
                    self.ends(socket)
