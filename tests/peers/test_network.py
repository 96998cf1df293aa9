"""Monitors of one protocol that talk to each other over nats-server: it is killed, monitors are killed, and no message of a
session is lost, doubled or out of order."""

import contextlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from harness import REFEREE, Case, folder, free_port, listens, need, wait_until

EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples" / "network"
ROLES = ["alice", "bob", "seller"]
KEY = "a key of the network"


@need("nats-server")
class Network(Case):
    @contextlib.contextmanager
    def network(self, partition="30s", keys=()):
        with folder() as place:
            self.place, self.port = place, free_port()
            self.components = {role: free_port() for role in ROLES}
            self.children = []
            self.partition, self.keys = partition, dict(keys)
            try:
                self.broker = self.start_broker()
                self.monitors = {role: self.start_monitor(role) for role in ROLES}
                for role in ROLES:
                    wait_until(lambda: listens(self.components[role]), f"the monitor of {role}")
                yield
            finally:
                for child in self.children:
                    child.kill()
                    child.wait()

    def start(self, *command, out):
        with open(self.place / out, "ab") as file:
            child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.children.append(child)
        return child

    def start_broker(self):
        broker = self.start("nats-server", "-a", "127.0.0.1", "-p", self.port, "-js", "-sd", self.place / "js", out="broker")
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

[[multiparty.role]]
name = "{role}"
listen = "127.0.0.1:{self.components[role]}"
violation = '{{"type":"violation","notice":{{json}}}}'
codec = {{ kind = "json" }}
""")
        return self.start(REFEREE, "guard", config, out=f"monitor-{role}")

    def play(self, sessions, tag="first"):
        """The components of all roles, in as many sessions."""
        script = [sys.executable, "-B", EXAMPLES / "component.py", "two-buyer"]
        # The one that begins comes last.
        return {
            role: self.start(*script, role, f"127.0.0.1:{self.components[role]}", "--sessions", sessions, out=f"{tag}-{role}")
            for role in reversed(ROLES)
        }

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

    def test_sessions_over_a_broker(self):
        with self.network():
            began = time.monotonic()
            self.assert_over(self.play(100))
            self.assertLess(time.monotonic() - began, 60)

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
        with self.network(partition="3s"):
            self.assert_over(self.play(3))
            # Sessions without end: those who are left are told.
            players = self.play(1_000_000, tag="second")
            time.sleep(1)
            self.monitors["seller"].kill()
            self.monitors["seller"].wait()
            killed = time.monotonic()
            for role in ("alice", "bob"):
                self.assertEqual(1, players[role].wait(20), self.logs())
                notices = [json.loads(line) for line in self.said(f"second-{role}").splitlines() if '"violation"' in line]
                self.assertEqual(1, len(notices), self.logs())
                if isinstance(notices[0]["notice"], dict):
                    self.assertEqual(("fault", []), (notices[0]["notice"]["kind"], notices[0]["notice"]["blame"]))
            self.assertLess(time.monotonic() - killed, 10)
            players["seller"].kill()
            self.monitors["seller"] = self.start_monitor("seller")
            wait_until(lambda: listens(self.components["seller"]), "the monitor of seller")
            wait_until(lambda: "started anew" in self.said("monitor-alice"), "news of the seller's monitor")
            self.assert_over(self.play(3, tag="third"))

    def test_who_does_not_know_the_key_is_not_heard(self):
        with self.network(keys={"seller": "another key, as long"}):
            players = self.play(1)
            wait_until(lambda: "does not know the key" in self.said("monitor-alice"), "a complaint")
            time.sleep(2)
            self.assertIsNone(players["seller"].poll(), self.logs())
            self.assertNotIn("over", self.said("first-alice"))
