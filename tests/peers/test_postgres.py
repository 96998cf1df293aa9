"""PostgreSQL behind a guard; psql, pgbench and pg_dump before it."""

import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import FULL, Case, Guard, folder, free_port, listens, need, run, wait_until

BINARIES = max(glob.glob("/usr/lib/postgresql/*/bin"), default="", key=lambda path: int(path.split("/")[4]))

# Answers of every kind: rows, none, several at a time, errors, COPY both ways, notices, notifications, cursors.
SCRIPT = r"""
\set VERBOSITY terse
SELECT 1;
SELECT;
;
SELECT 1 \; SELECT 2, 'b' \; SELECT 3 WHERE false;
SELECT no_such_column;
SELECT 1 \; SELECT 1/0 \; SELECT 3;
DROP TABLE IF EXISTS t;
CREATE TABLE t (a int PRIMARY KEY, b text);
BEGIN;
INSERT INTO t SELECT n, repeat('x', n) FROM generate_series(1, 2000) n;
INSERT INTO t VALUES (1, 'again');
SELECT 'refused until the end of the transaction';
ROLLBACK;
COPY t FROM STDIN;
1	one
2	two
3	\N
\.
COPY t FROM STDIN;
not a number	one
\.
COPY t FROM STDIN;
1	not unique
\.
SELECT * FROM t ORDER BY a;
COPY t TO STDOUT;
COPY (SELECT n, md5(n::text) FROM generate_series(1, 20000) n) TO STDOUT;
COPY (SELECT 1/(3-n) FROM generate_series(1, 5) n) TO STDOUT;
COPY t TO STDOUT \; SELECT 'after' \; COPY t TO STDOUT;
DO $$ BEGIN RAISE NOTICE 'a notice'; END $$;
SET application_name = 'another';
LISTEN channel;
NOTIFY channel, 'payload';
BEGIN;
DECLARE c CURSOR FOR SELECT generate_series(1, 1000);
FETCH 10 FROM c;
MOVE 100 FROM c;
FETCH ALL FROM c;
COMMIT;
\set FETCH_COUNT 100
SELECT n, repeat('y', 100) FROM generate_series(1, 1000) n;
\set FETCH_COUNT 0
SELECT repeat('long', 500000) IS NOT NULL;
SELECT repeat('z', 3000000);
PREPARE p AS SELECT $1::int + 1;
EXECUTE p(41);
\d t
SELECT 'described' AS a, 1 AS b \gdesc
SELECT format('SELECT %s', n) FROM generate_series(1, 5) n \gexec
SELECT a FROM t WHERE false;
DROP TABLE t;
"""

# Several statements of the extended protocol before one Sync, with and without an error.
AHEAD = r"""
\startpipeline
SELECT 1;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 1;
SELECT abalance FROM pgbench_accounts WHERE aid < 50;
\endpipeline
"""


@contextlib.contextmanager
def postgres(place, authentication="trust", settings="", log=subprocess.DEVNULL):
    port, data = free_port(), place / "data"
    place.chmod(0o777)
    options = {"cwd": "/"}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    (place / "password").write_text("right\n")
    run(f"{BINARIES}/initdb", "-D", data, "-U", "postgres", "-N", "--no-locale", "-E", "UTF8", "-A", authentication,
        "--pwfile", place / "password", **options)
    with open(data / "postgresql.conf", "a", encoding="utf-8") as config:
        config.write(f"port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\n"
                     f"logging_collector = off\nlog_min_messages = panic\n{settings}\n")
    server = subprocess.Popen([f"{BINARIES}/postgres", "-D", str(data)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=log, **options)
    try:
        wait_until(lambda: listens(port), "postgres")
        environment = os.environ | {"PGHOST": "127.0.0.1", "PGUSER": "postgres", "PGDATABASE": "postgres", "PGPASSWORD": "right"}
        wait_until(lambda: ready(port), "postgres")
        yield port, environment
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def ready(port):
    return subprocess.run([f"{BINARIES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], check=False).returncode == 0


def psql(port, environment, script):
    """What psql prints, its errors among the rest."""
    done = subprocess.run(["psql", "-X", "-p", str(port)], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, timeout=120, check=False)
    # Of a notification psql tells the process that sent it.
    return re.sub(rb"PID \d+", b"PID", done.stdout)


@need("psql")
@unittest.skipUnless(BINARIES, "not installed: postgresql")
class Postgres(Case):
    def test_psql_prints_what_it_prints_without_a_guard(self):
        with folder() as place, postgres(place) as (port, environment), Guard("postgres", port, 'limits.message = "16MiB"') as guard:
            direct = psql(port, environment, SCRIPT)
            self.assertIn(b"a notice", direct)
            self.assertIn(b"division by zero", direct)
            self.assertGreater(len(direct), 3_000_000)
            self.assertEqual(direct, psql(guard.port, environment, SCRIPT))
        self.assert_innocent(guard)

    def test_pgbench_simple_extended_prepared_and_pipelined(self):
        with folder() as place, postgres(place) as (port, environment), Guard("postgres", port) as guard:
            run(f"{BINARIES}/pgbench", "-i", "-q", "-p", guard.port, env=environment)
            (place / "ahead.sql").write_text(AHEAD)
            for options in [["-M", "simple"], ["-M", "extended"], ["-M", "prepared"], ["-M", "simple", "-C"],
                            ["-M", "extended", "-f", place / "ahead.sql"], ["-M", "prepared", "-f", place / "ahead.sql"]]:
                transactions = (10 if FULL else 1) * (20 if "-C" in options else 200)
                told = run(f"{BINARIES}/pgbench", "-n", "-c", 4, "-t", transactions, "-p", guard.port, *options, env=environment, seconds=600)
                self.assertIn(f"actually processed: {4 * transactions}/{4 * transactions}".encode(), told)
            sums = psql(port, environment, "SELECT sum(tbalance) - (SELECT sum(delta) FROM pgbench_history) FROM pgbench_tellers")
            self.assertIn(b" 0\n", sums)
        self.assert_innocent(guard, 5 * 4)

    def test_a_dump_is_the_same(self):
        with folder() as place, postgres(place) as (port, environment), Guard("postgres", port) as guard:
            run(f"{BINARIES}/pgbench", "-i", "-q", "-p", port, env=environment)
            dumps = [run(f"{BINARIES}/pg_dump", "-p", to, env=environment) for to in (port, guard.port)]
            # Newer versions mark their dumps with a random key.
            direct, guarded = (re.sub(rb"(?m)^\\(un)?restrict .*$", b"", dump) for dump in dumps)
            self.assertGreater(len(direct), 1_000_000)
            self.assertEqual(direct, guarded)
            run("psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-p", guard.port, "-c", "CREATE DATABASE copy", env=environment)
            run("psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-p", guard.port, "-d", "copy", input=dumps[1], env=environment)
            restored = run(f"{BINARIES}/pg_dump", "-p", port, "-d", "copy", env=environment)
            self.assertEqual(direct, re.sub(rb"(?m)^\\(un)?restrict .*$", b"", restored))
        self.assert_innocent(guard, 3)

    def test_passwords(self):
        for method in ["scram-sha-256", "md5", "password"]:
            with folder() as place, postgres(place, method) as (port, environment), Guard("postgres", port) as guard:
                self.assertIn(b" 1\n", psql(guard.port, environment, "SELECT 1"))
                self.assertIn(b"failed", psql(guard.port, environment | {"PGPASSWORD": "wrong"}, "SELECT 1"))
                # Without one it asks whether one is needed, closes, and would connect again.
                nothing = {name: value for name, value in environment.items() if name != "PGPASSWORD"}
                done = subprocess.run(["psql", "-w", "-p", str(guard.port), "-c", ""], env=nothing, stderr=subprocess.PIPE, check=False)
                self.assertIn(b"no password supplied", done.stderr)
            self.assert_innocent(guard, 2)

    def test_inspection_ends_with_tls(self):
        settings = "ssl = on\nssl_cert_file = '{0}/tls.crt'\nssl_key_file = '{0}/tls.key'\n"
        with folder() as place:
            if not shutil.which("openssl"):
                self.skipTest("not installed: openssl")
            run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                "-keyout", place / "tls.key", "-out", place / "tls.crt")
            if os.geteuid() == 0:
                shutil.chown(place / "tls.key", "postgres")
            (place / "tls.key").chmod(0o600)
            with postgres(place, settings=settings.format(place)) as (port, environment), Guard("postgres", port) as guard:
                told = psql(guard.port, environment | {"PGSSLMODE": "require"}, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                self.assertIn(b" t\n", told)
        self.assert_innocent(guard)

    def test_a_query_is_cancelled(self):
        with folder() as place, postgres(place) as (port, environment), Guard("postgres", port) as guard:
            client = subprocess.Popen(["psql", "-X", "-p", str(guard.port), "-c", "SELECT pg_sleep(60)"], env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            asleep = "SELECT 'asleep' FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND wait_event = 'PgSleep'"
            wait_until(lambda: b" asleep\n" in psql(port, environment, asleep), "the query")
            client.send_signal(signal.SIGINT)
            told, _ = client.communicate(timeout=30)
            self.assertIn(b"canceling statement due to user request", told)
        self.assert_innocent(guard, 2)

    def test_a_backend_that_is_terminated_is_nobodys_fault(self):
        with folder() as place, postgres(place) as (port, environment), Guard("postgres", port) as guard:
            client = subprocess.Popen(["psql", "-X", "-p", str(guard.port)], env=environment, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            client.stdin.write(b"SET application_name = 'victim';\n")
            client.stdin.flush()
            kill = "SELECT 'killed' FROM pg_stat_activity WHERE CASE application_name WHEN 'victim' THEN pg_terminate_backend(pid) END"
            wait_until(lambda: b" killed\n" in psql(port, environment, kill), "the session")
            time.sleep(0.3)
            told, _ = client.communicate(b"SELECT 1;\n", timeout=30)
            self.assertIn(b"terminating connection due to administrator command", told)
        self.assert_innocent(guard)

    def test_wrong_clients_are_stopped_and_blamed(self):
        startup = b"\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
        startup = (len(startup) + 4).to_bytes(4, "big") + startup
        with folder() as place, postgres(place) as (port, environment):
            # Not a message; rows from a client; a length that is too small; a second startup.
            for wrong in [b"z\x00\x00\x00\x04", b"T\x00\x00\x00\x04", b"Q\x00\x00\x00\x03", startup]:
                with self.subTest(wrong=wrong), Guard("postgres", port) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        client.sendall(startup)
                        heard = b""
                        while not heard.endswith(b"Z\x00\x00\x00\x05I"):
                            heard += client.recv(1000)
                        client.sendall(wrong)
                        self.assertEqual(b"", client.recv(1000))
                    self.assertIn(b" 1\n", psql(guard.port, environment, "SELECT 1"))
                self.assert_blamed(guard, "client")

    def test_a_wrong_server_is_stopped_and_blamed(self):
        for reply in [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"Z\x00\x00\x00\x05I", b"D\x00\x00\x00\x06\x00\x00"]:
            with self.subTest(reply=reply), socket.create_server(("127.0.0.1", 0)) as server:
                def serve():
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1000)
                        connection.sendall(reply)
                        connection.recv(1000)

                threading.Thread(target=serve, daemon=True).start()
                with Guard("postgres", server.getsockname()[1]) as guard:
                    environment = os.environ | {"PGHOST": "127.0.0.1", "PGUSER": "a", "PGSSLMODE": "disable", "PGGSSENCMODE": "disable"}
                    self.assertNotIn(b" 1\n", psql(guard.port, environment, "SELECT 1"))
                self.assert_blamed(guard, "server")
