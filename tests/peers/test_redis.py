"""redis-server behind a guard; redis-cli, redis-benchmark and redis-py before it."""

import contextlib
import re
import socket
import subprocess
import threading
import unittest

from harness import FULL, Case, Guard, folder, free_port, need, process, run, wait_until

try:
    import redis
except ImportError:
    redis = None

# What redis-cli is told, one command a line: replies of every kind, errors, transactions, scripts.
COMMANDS = b"""
PING
SET key value
GET key
GET missing
INCR key
INCRBYFLOAT float 1.5
RPUSH list a b c "with space" ""
LRANGE list 0 -1
LRANGE list 10 20
HSET hash f1 v1 f2 v2
HGETALL hash
SADD set x
SMEMBERS set
ZADD sorted 1.5 one 2 two
ZRANGE sorted 0 -1 WITHSCORES
MULTI
SET in-transaction 1
NOSUCHCOMMAND
EXEC
MULTI
INCR counter
LRANGE list 0 -1
GET missing
EXEC
MULTI
SET key other
DISCARD
EXEC
DISCARD
WATCH key
MULTI
GET key
EXEC
EVAL "return {1,'two',{3,false,{}}}" 0
EVAL "return redis.error_reply('MY own')" 0
EVAL "return redis.status_reply('FINE')" 0
XADD stream 1-1 field value
XREAD COUNT 2 STREAMS stream 0
OBJECT ENCODING list
COMMAND COUNT
COMMAND DOCS get
BLPOP nothing 0.05
SETRANGE big 100000 end
GET big
CLIENT SETNAME someone
CLIENT GETNAME
SELECT 1
DBSIZE
SELECT 0
DEBUG SLEEP 0
TYPE list
"""


@contextlib.contextmanager
def redis_server(place, *options):
    port = free_port()
    with process("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", place, "--save", "", *options, port=port):
        yield port


@need("redis-server", "redis-cli", "redis-benchmark")
class Redis(Case):
    def test_redis_cli_hears_what_it_hears_without_a_guard(self):
        for version in ["-2", "-3"]:
            with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
                told = []
                for to in (port, guard.port):
                    run("redis-cli", "-p", port, "FLUSHALL")
                    told.append(run("redis-cli", version, "-p", to, input=COMMANDS))
                self.assertGreater(len(told[0]), 100_000)
                self.assertEqual(told[0], told[1])
            self.assert_innocent(guard)

    def test_reset_anywhere_and_no_stream_within_a_transaction(self):
        scripts = [b"RESET|PING", b"SUBSCRIBE a|RESET|PING", b"MULTI|RESET|PING", b"MULTI|MONITOR|SYNC|EXEC|PING",
                   b"MULTI|MONITOR|DISCARD|PING"]
        with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
            for script in scripts:
                told = []
                for to in (port, guard.port):
                    with socket.create_connection(("127.0.0.1", to)) as client, client.makefile("rb") as replies:
                        client.sendall(script.replace(b"|", b"\r\n") + b"\r\n")
                        told.append(list(iter(replies.readline, b"+PONG\r\n")))
                self.assertEqual(told[0], told[1], script)
                self.assertGreater(len(told[0]), 0, script)
        self.assert_innocent(guard)

    def test_mass_insertion(self):
        count = 20_000
        commands = b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key, len(value), value)
                            for key, value in ((b"key:%d" % n, b"v" * (n % 300)) for n in range(count)))
        with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
            told = run("redis-cli", "--pipe", "-p", guard.port, input=commands)
            self.assertIn(b"errors: 0, replies: %d" % count, told)
            self.assertEqual(b"%d\n" % count, run("redis-cli", "-p", port, "DBSIZE"))
        self.assert_innocent(guard)

    def test_redis_benchmark_with_pipelining(self):
        with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
            many = 1_000_000 if FULL else 20_000
            for options in [["-P", 16, "-n", many, "-t", "ping,set,get,incr,lpush"], ["-P", 16, "-n", 20_000], ["-P", 1, "-n", 2000, "-c", 20],
                            ["-P", 100, "-n", many, "-t", "set,get", "-3"], ["-P", 16, "-n", 20_000, "-t", "mset,lrange_100", "-d", 1000]]:
                told = run("redis-benchmark", "-p", guard.port, "--csv", *options, seconds=600).decode()
                self.assertNotIn("rror", told)
                self.assertGreaterEqual(len(told.splitlines()), 3, told)
        self.assert_innocent(guard, 50)

    def test_inspection_ends_with_monitor(self):
        with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
            watcher = subprocess.Popen(["redis-cli", "-p", str(guard.port), "MONITOR"], stdout=subprocess.PIPE)
            self.assertEqual(b"OK\n", watcher.stdout.readline())
            run("redis-cli", "-p", guard.port, "SET", "a", "b")
            self.assertIn(b'"SET" "a" "b"', watcher.stdout.readline())
            watcher.terminate()
            watcher.communicate()
        self.assert_innocent(guard, 2)

    def test_replication(self):
        with folder() as place, folder() as other, redis_server(place, "--repl-diskless-sync-delay", 0) as port, Guard("redis", port) as guard:
            run("redis-cli", "-p", port, "SET", "a", "b")
            with redis_server(other, "--replicaof", "127.0.0.1", guard.port) as replica:
                wait_until(lambda: run("redis-cli", "-p", replica, "GET", "a") == b"b\n", "the replica", 60)
        self.assert_innocent(guard)

    @unittest.skipIf(redis is None, "not installed: redis (PyPI)")
    def test_redis_py(self):
        for protocol in [2, 3]:
            with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
                client = redis.Redis(port=guard.port, protocol=protocol, socket_timeout=30)
                with client.pipeline(transaction=True) as transaction:
                    for number in range(1000):
                        transaction.set(f"k{number}", "x" * number)
                    self.assertEqual([True] * 1000, transaction.execute())
                with client.pipeline(transaction=False) as ahead:
                    for number in range(1000):
                        ahead.get(f"k{number}")
                    self.assertEqual([b"x" * number for number in range(1000)], ahead.execute())
                with client.pipeline() as failing:
                    failing.set("text", "a").incr("text").get("text")
                    with self.assertRaises(redis.ResponseError):
                        failing.execute()
                with client.pipeline() as watching:
                    watching.watch("k1")
                    client.set("k1", "changed")
                    watching.multi()
                    watching.set("k1", "mine")
                    with self.assertRaises(redis.WatchError):
                        watching.execute()
                self.assertEqual(1 << 20, len(self.large(client)))
                self.assertEqual([], client.zrange("none", 0, -1))
                self.assertEqual(len(list(client.scan_iter(count=100))), client.dbsize())
                self.assertEqual(3, client.register_script("return ARGV[1] + ARGV[2]")(args=[1, 2]))
                self.subscriptions(client)
                client.close()
            self.assert_innocent(guard)

    def large(self, client):
        client.set("large", b"\r\n$" * (1 << 19))
        return client.get("large")[: 1 << 20]

    def subscriptions(self, client):
        listener = client.pubsub()
        listener.subscribe("one", "two", "three")
        listener.psubscribe("p*")
        heard = []
        while len(heard) < 4:
            heard.append(listener.get_message(timeout=10))
        self.assertEqual([1, 2, 3, 4], [message["data"] for message in heard])
        for number in range(50):
            client.publish("two", f"m{number}")
            client.publish("pattern", f"p{number}")
        messages = [listener.get_message(timeout=10) for _ in range(100)]
        self.assertEqual([f"{kind}{number}".encode() for number in range(50) for kind in "mp"], [m["data"] for m in messages])
        listener.ping()
        self.assertEqual("pong", listener.get_message(timeout=10)["type"])
        listener.unsubscribe()
        left = [listener.get_message(timeout=10)["type"] for _ in range(3)]
        self.assertEqual(["unsubscribe"] * 3, left)
        listener.punsubscribe()
        self.assertEqual("punsubscribe", listener.get_message(timeout=10)["type"])
        listener.close()

    def test_a_wrong_client_is_stopped_and_blamed(self):
        for wrong in [b"*1\r\n$x\r\nPING\r\n", b"*-5\r\n$4\r\nPING\r\n", b"*1\r\n$4\r\nPINGPING\r\n", b"*1\r\n:4\r\n"]:
            with self.subTest(wrong=wrong), folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
                with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                    client.sendall(b"*1\r\n$4\r\nPING\r\n")
                    self.assertEqual(b"+PONG\r\n", client.recv(7))
                    client.sendall(wrong)
                    self.assertEqual(b"", client.recv(100))
                self.assertEqual(b"PONG\n", run("redis-cli", "-p", guard.port, "PING"))
            self.assert_blamed(guard, "client")

    def test_a_wrong_server_is_stopped_and_blamed(self):
        # Two replies to one command; a reply that is none; QUEUED is missing within MULTI.
        for replies in [[b"+PONG\r\n+FORGED\r\n"], [b"PONG\r\n"], [b"+OK\r\n", b"+FORGED\r\n"]]:
            with self.subTest(replies=replies), socket.create_server(("127.0.0.1", 0)) as server:
                def serve():
                    connection, _ = server.accept()
                    with connection:
                        for reply in replies:
                            connection.recv(1000)
                            connection.sendall(reply)
                        connection.recv(1000)

                threading.Thread(target=serve, daemon=True).start()
                with Guard("redis", server.getsockname()[1]) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        client.sendall(b"*1\r\n$5\r\nMULTI\r\n" if len(replies) > 1 else b"*1\r\n$4\r\nPING\r\n")
                        if len(replies) > 1:
                            self.assertEqual(b"+OK\r\n", client.recv(5))
                            client.sendall(b"*1\r\n$4\r\nPING\r\n")
                        self.assertIsNone(re.search(b"FORGED", client.makefile("rb").read()))
                self.assert_blamed(guard, "server")
