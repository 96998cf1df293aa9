"""The logs of sshd, nginx, Postfix, Redis and PostgreSQL, as these write them themselves, watched with the sources that come with Referee.

Clients do what is right, and now and then what a property forbids: they know what happened, and so what has to be found."""

import contextlib
import datetime
import json
import os
import pathlib
import shutil
import smtplib
import socket
import subprocess
import tempfile
import threading
import unittest

from harness import FULL, REFEREE, Case, folder, free_port, listens, need, process, run, wait_until
from test_postgres import BINARIES, postgres, psql
from test_redis import redis_server
from test_smtp import postfix

ROUNDS = 200 if FULL else 20
# What `docs/watch.md` shows is what is tested here.
LOGS = pathlib.Path(__file__).parents[2] / "examples" / "logs"


class Watched:
    """What `referee watch` found: verdicts, its exit status, the summary."""

    def __init__(self, *arguments):
        with tempfile.NamedTemporaryFile() as summary:
            command = [REFEREE, "watch", "--format", "json", "--summary", summary.name, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
            self.summary = json.load(summary)
        self.verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.status, self.errors = done.returncode, done.stderr.decode()
        self.keys = sorted(verdict["key"] or verdict["session"] for verdict in self.verdicts)


class Logs(Case):
    def assert_found(self, watched, *keys, events):
        """These keys, and nobody else; everything was judged, and at least so many events were seen."""
        self.assertEqual(sorted(keys), watched.keys, watched.errors)
        self.assertEqual(1 if keys else 0, watched.status, (watched.errors, watched.summary))
        self.assertGreaterEqual(watched.summary["events"], events)


@contextlib.contextmanager
def syslog(path):
    """What stands at /dev/log where no syslog does: writes what it is sent into a file, as rsyslog does."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind("/dev/log")
    os.chmod("/dev/log", 0o666)

    def write():
        with open(path, "wb", buffering=0) as log:
            while (message := server.recv(65536)) != b"end":
                # `<38>Nov 19 12:51:39 sshd[7207]: …` has everything but the host.
                _, _, line = message.partition(b">")
                log.write(line[:16] + b"web " + line[16:].rstrip(b"\0\n") + b"\n")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.sendto(b"end", "/dev/log")
        writer.join(10)
        server.close()
        os.unlink("/dev/log")


@need("sshd", "ssh", "ssh-keygen")
@unittest.skipIf(os.geteuid() != 0 or os.path.exists("/dev/log"), "somebody else writes the syslog of this machine")
class Sshd(Logs):
    def setUp(self):
        self.place = pathlib.Path(self.enterContext(folder()))
        for name in ["host", "right", "wrong"]:
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.place / name)
        os.makedirs("/run/sshd", exist_ok=True)
        shutil.copy(self.place / "right.pub", self.place / "keys")
        self.port, self.log = free_port(), self.place / "auth.log"
        (self.place / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.place}/host\nAuthorizedKeysFile {self.place}/keys\n"
            "StrictModes no\nUsePAM no\nLogLevel VERBOSE\nPasswordAuthentication no\nPidFile none\nMaxStartups 100\n")
        self.enterContext(syslog(self.log))
        self.enterContext(process(shutil.which("sshd"), "-D", "-f", self.place / "config", port=self.port, stderr=subprocess.DEVNULL))

    def login(self, address, key):
        """Whether somebody who comes from `address` gets in."""
        command = ["ssh", "-F", "none", "-b", address, "-p", str(self.port), "-i", str(self.place / key), "-o", "IdentitiesOnly=yes",
                   "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.place}/known",
                   "root@127.0.0.1", "true"]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    def test_who_guesses_until_he_gets_in_is_found(self):
        for _ in range(ROUNDS // 4):
            self.assertTrue(self.login("127.0.0.10", "right"))
        guesses = {"127.0.0.11": 3, "127.0.0.12": 2, "127.0.0.13": 5, "127.0.0.14": 4}
        for address, failures in guesses.items():
            for _ in range(failures):
                self.assertFalse(self.login(address, "wrong"))
            if address != "127.0.0.14":
                self.assertTrue(self.login(address, "right"))
        wait_until(lambda: self.log.read_bytes().count(b"Accepted publickey") == ROUNDS // 4 + 3, "the log")
        found = Watched("--source", "preset:sshd", "--property", LOGS / "guessed.hml", self.log)
        self.assert_found(found, "127.0.0.11", "127.0.0.13", events=ROUNDS // 4 + 17)

    def test_sshd_keeps_its_own_protocol(self):
        for attempt in range(ROUNDS // 2):
            self.login("127.0.0.20", "right" if attempt % 3 else "wrong")
        with socket.create_connection(("127.0.0.1", self.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        wait_until(lambda: self.log.read_bytes().count(b"Accepted publickey") == ROUNDS // 2 - (ROUNDS // 2 + 2) // 3, "the log")
        protocol = self.place / "sshd.scr"
        protocol.write_text("""protocol Sshd(role client, role server) {
            Connect(address: string, port: int) from client to server;
            rec X {
              choice at client { Failed(method: string, user: string, address: string, port: int) from client to server; continue X; }
              or { Accepted(method: string, user: string, address: string, port: int) from client to server; }
            }
        }""")
        found = Watched("--source", "preset:sshd", "--protocol", protocol, self.log)
        # Who goes before getting in has ended early, and nobody else is to blame for anything.
        self.assertEqual({("premature-end", "client")}, {(it["kind"], it["blame"]) for it in found.verdicts}, found.errors)
        self.assertGreaterEqual(found.summary["events"], ROUNDS // 2 * 2)


NGINX = """
worker_processes 1; daemon off; pid {place}/pid; error_log {place}/errors crit;
events {{ worker_connections 256; }}
http {{
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  log_format fields escape=json '{{"time_iso8601":"$time_iso8601","remote_addr":"$remote_addr","request_method":"$request_method",'
    '"request_uri":"$request_uri","status":$status,"agent":"$http_user_agent"}}';
  access_log {place}/access.log combined; access_log {place}/access.json fields;
  server {{
    listen 127.0.0.1:{port};
    location / {{ return 200 "hello\\n"; }}
    location /broken {{ proxy_pass http://127.0.0.1:{nobody}; }}
    location /shaky {{ if ($arg_fail) {{ return 503; }} return 200 "shaky\\n"; }}
  }}
}}
"""


@need("nginx")
class Nginx(Logs):
    def test_a_page_that_fails_is_found_whatever_clients_send(self):
        with folder() as place:
            port = free_port()
            (place / "nginx.conf").write_text(NGINX.format(place=place, port=port, nobody=free_port()))

            def request(line, agent=b"test", address="127.0.0.1"):
                with socket.create_connection(("127.0.0.1", port), 20, source_address=(address, 0)) as client:
                    client.sendall(line + b"\r\nHost: a\r\nUser-Agent: " + agent + b"\r\nConnection: close\r\n\r\n")
                    return b"".join(iter(lambda: client.recv(65536), b""))

            with process("nginx", "-c", place / "nginx.conf", port=port):
                sent = 0
                for number in range(ROUNDS):
                    agent = [b"test", b"x\xff", b'"', b"\\x22 500 \\", b"\xf0\x9f\x92\xa9\x1b[2J"][number % 5]
                    self.assertIn(b"200 OK", request(b"GET /%d HTTP/1.1" % number, agent))
                    sent += 1
                # The page is broken, and those who hide behind their agents are seen all the same.
                for number in range(5):
                    self.assertIn(b" 502 ", request(b"GET /broken HTTP/1.1", b"x\xff" if number % 2 else b"\\"))
                    sent += 1
                # Three failures are few.
                for number in range(ROUNDS):
                    request(b"GET /shaky%s HTTP/1.1" % (b"?fail=1" if number < 3 else b""))
                    sent += 1
                for junk in [b"\x16\x03\x01\x02\x00\x01", b"NONSENSE", b'GET /a"b c HTTP/1.1', b"GET / HTTP/9.9"]:
                    request(junk)
                    sent += 1
                # Who asks whether a server is there says nothing.
                lines = lambda name: (place / name).read_bytes().count(b"\n")
                wait_until(lambda: lines("access.json") >= sent and lines("access.log") >= sent, "the log")
            for source, log in [("nginx-combined", "access.log"), ("nginx-json", "access.json")]:
                found = Watched("--source", f"preset:{source}", "--property", LOGS / "outage.hml", place / log)
                self.assert_found(found, "/broken", events=sent)


@need("postfix")
@unittest.skipIf(os.geteuid() != 0, "Postfix is started by root")
class Postfix(Logs):
    def test_mail_that_stays_in_the_queue_is_found(self):
        with folder() as place, postfix(place, relay=free_port()) as port:
            stuck = set()
            for number in range(ROUNDS):
                away = number % 7 == 3
                with smtplib.SMTP("127.0.0.1", port, timeout=60) as client:
                    client.ehlo("client.test")
                    client.mail("sender@client.test")
                    # Nobody listens where this one goes.
                    client.rcpt("someone@relay.test" if away else "someone@peers.test")
                    _, answer = client.data(b"Subject: %d\r\n\r\nhello\r\n" % number)
                if away:
                    # `2.0.0 Ok: queued as 49D249C01F7`
                    stuck.add(answer.decode().split()[-1])
            wait_until(lambda: (place / "log").read_bytes().count(b"removed") == ROUNDS - len(stuck), "delivery")
            wait_until(lambda: (place / "log").read_bytes().count(b"status=deferred") >= len(stuck), "failures")
            later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
            found = Watched("--source", "preset:postfix", "--property", LOGS / "delivered.hml", "--until", later, place / "log")
        host = socket.gethostname().split(".")[0]
        self.assert_found(found, *(f"{self.host(found, host)}/{queue}" for queue in stuck), events=ROUNDS * 4)

    @staticmethod
    def host(found, default):
        """As Postfix calls this machine."""
        return found.keys[0].split("/")[0] if found.keys else default


@need("redis-server", "redis-cli")
class Redis(Logs):
    def test_an_update_that_may_be_lost_is_found(self):
        with folder() as place, redis_server(place) as port:
            log = open(place / "monitor.log", "wb")
            monitor = subprocess.Popen(["redis-cli", "-p", str(port), "MONITOR"], stdin=subprocess.DEVNULL, stdout=log)
            try:
                wait_until(lambda: (place / "monitor.log").read_bytes().startswith(b"OK"), "the monitor")

                def client(*commands):
                    with socket.create_connection(("127.0.0.1", port), 20) as connection:
                        replies = connection.makefile("rb")
                        for command in commands:
                            words = command.split(b" ")
                            connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                            head = replies.readline()
                            if head[:1] == b"$" and head != b"$-1\r\n":
                                replies.readline()
                            elif head[:1] == b"*":
                                replies.readline()
                        return "127.0.0.1:%d" % connection.getsockname()[1]

                careless = []
                for number in range(ROUNDS):
                    client(b"SET stock 7")
                    client(b"WATCH stock", b"GET stock", b"MULTI", b"DECR stock", b"EXEC")
                    if number % 5 == 2:
                        careless.append(client(b"GET stock", b"MULTI", b"DECR stock", b"EXEC"))
                # What a client writes into a value is a value, whatever it looks like.
                client(b'SET note "\r\n1.0 [0 1.2.3.4:5] "multi""', b"GET note")
                wait_until(lambda: b'"GET" "note"' in (place / "monitor.log").read_bytes(), "the log")
            finally:
                monitor.terminate()
                monitor.wait(10)
                log.close()
            found = Watched("--source", "preset:redis-monitor", "--property", LOGS / "lost_update.hml", place / "monitor.log")
            self.assert_found(found, *careless, events=ROUNDS * 6)


SETTINGS = """log_min_messages = warning
log_line_prefix = '%m [%p] %q%u@%d '
log_timezone = 'UTC'
log_connections = on
log_disconnections = on
log_statement = 'all'"""


@unittest.skipIf(not pathlib.Path(BINARIES or "/nowhere", "initdb").exists(), "not installed: postgresql")
@need("psql")
class PostgreSQL(Logs):
    def test_a_commit_after_an_error_is_found(self):
        with folder() as place:
            with open(place / "postgresql.log", "w+b") as log, postgres(place, settings=SETTINGS, log=log) as (port, environment):
                psql(port, environment, "create table t(x int);")
                wrong = []
                for number in range(ROUNDS):
                    statement = "insert into t values (%s);" % ("1/0" if number % 4 == 1 else "1")
                    # Every other one goes back, and is right.
                    end = "commit;" if number % 8 < 4 else "rollback;"
                    answer = psql(port, environment, f"select pg_backend_pid() as mine \\gset\n\\echo :mine\nbegin;\n{statement}\n{end}\n")
                    if number % 8 == 1:
                        wrong.append((answer if isinstance(answer, str) else answer.decode()).split()[0])
                psql(port, environment, "begin;\nsavepoint s;\nselect 1/0;\nrollback to s;\ninsert into t values (2);\ncommit;\n")
                wait_until(lambda: (place / "postgresql.log").read_bytes().count(b"disconnection: session time") >= ROUNDS + 2, "the log")
            found = Watched("--source", "preset:postgresql", "--property", LOGS / "commit.hml", place / "postgresql.log")
            self.assert_found(found, *wrong, events=ROUNDS * 4)
