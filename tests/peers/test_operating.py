"""What operators point at a guard: a scraper of metrics, systemd, images, manifests."""

import http.client
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import unittest
import urllib.request

from harness import Case, Guard, REFEREE, folder, need, run, wait_until
from test_http import python_server

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


@unittest.skipIf(text_string_to_metric_families is None, "not installed: prometheus-client (PyPI)")
class Metrics(Case):
    def families(self, guard):
        with urllib.request.urlopen(f"http://127.0.0.1:{guard.admin}/metrics", timeout=10) as page:
            self.assertEqual("application/openmetrics-text; version=1.0.0; charset=utf-8", page.headers["Content-Type"])
            text = page.read().decode()
        self.assertTrue(text.endswith("# EOF\n"))
        return {family.name: family for family in text_string_to_metric_families(text)}

    def value(self, families, name, **labels):
        samples = families[name.removesuffix("_total").removesuffix("_count")].samples
        return sum(sample.value for sample in samples if sample.name == name and labels.items() <= sample.labels.items())

    def test_the_page_is_openmetrics_and_counts_what_happened(self):
        with python_server() as port, Guard("http", port) as guard:
            empty = self.families(guard)
            client = http.client.HTTPConnection("127.0.0.1", guard.port, timeout=20)
            for number in range(10):
                client.request("GET", f'/"quoted"\\{number}')
                client.getresponse().read()
            with socket.create_connection(("127.0.0.1", guard.port), 20) as wrong:
                wrong.sendall(b'\\"\n\r\n\r\n')
                self.assertEqual(b"", wrong.recv(100))
            # The peer sees the end of its connection before the guard has put the session away.
            open_now = lambda: self.value(self.families(guard), "referee_sessions_open")
            wait_until(lambda: open_now() == 1, "the session that ended is no longer open")
            families = self.families(guard)
            client.close()
        self.assertEqual(set(empty), set(families))
        kinds = {name: family.type for name, family in families.items()}
        self.assertEqual(kinds, {
            "referee_sessions_open": "gauge", "referee_sessions_opened": "counter", "referee_sessions_closed": "counter",
            "referee_connections_refused": "counter", "referee_sessions_unchecked": "counter", "referee_messages": "counter",
            "referee_verdicts": "counter", "referee_bytes": "counter", "referee_buffered_bytes": "gauge",
            "referee_decision_seconds": "histogram", "referee_reloads": "counter", "referee_journal_errors": "counter",
            "referee_reports_dropped": "counter", "referee_discarded_bytes": "counter",
        } | {name: kind for name, kind in kinds.items() if name.startswith("referee_propert")})
        self.assertEqual(10, self.value(families, "referee_messages_total", listener="http", role="client", label="Request"))
        self.assertEqual(10, self.value(families, "referee_messages_total", role="server", label="Response"))
        self.assertEqual(1, self.value(families, "referee_verdicts_total", role="client"))
        self.assertEqual(1, self.value(families, "referee_sessions_open"))
        self.assertEqual(2, self.value(families, "referee_sessions_opened_total"))
        self.assertEqual(1, self.value(families, "referee_sessions_closed_total", why="violation"))
        self.assertEqual(21, self.value(families, "referee_decision_seconds_count"))
        self.assertGreater(self.value(families, "referee_bytes_total", role="server"), 1000)
        self.assertEqual(0, self.value(families, "referee_buffered_bytes"))


class Deploy(Case):
    @need("systemd-analyze")
    def test_systemd_takes_the_units(self):
        with folder() as place:
            units = place / "units"
            units.mkdir()
            for unit in ["referee-guard.service", "referee-guard.socket"]:
                text = (DEPLOY / unit).read_text(encoding="utf-8")
                # What it starts must be there; the place is the only thing that is changed.
                (units / unit).write_text(text.replace("/usr/bin/referee", str(REFEREE)))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", units / "referee-guard.service", units / "referee-guard.socket"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            said = [line for line in done.stdout.splitlines() if "referee" in line]
            self.assertEqual([], said, done.stdout)

    def test_the_configuration_in_the_manifest_is_right(self):
        text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
        block = text.split("guard.toml: |\n")[1].split("---")[0]
        with folder() as place:
            (place / "guard.toml").write_text("".join(f"{line.removeprefix('    ')}\n" for line in block.splitlines()))
            told = run(REFEREE, "guard", place / "guard.toml", "--check-config", env={"REFEREE_TOKEN": "x"})
        self.assertIn(b"protocol Smtp checked", told)
        for port in re.findall(r"containerPort: (\d+)", text):
            self.assertIn(f":{port}\"", block)

    def test_the_image_is_built_of_what_there_is(self):
        text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
        package, binary = re.search(r"cargo build .*--package (\S+) --bin (\S+)", text).groups()
        manifest = (ROOT / "crates" / package / "Cargo.toml").read_text(encoding="utf-8")
        self.assertIn(f'name = "{package}"', manifest)
        self.assertTrue((ROOT / "crates" / package / "src" / "main.rs").is_file())
        self.assertTrue((ROOT / "Cargo.lock").is_file(), "--locked needs it")
        self.assertIn(f"COPY --from=build /source/target/release/{binary} /{binary}", text)
        self.assertIn(f'ENTRYPOINT ["/{binary}"]', text)
        user = re.search(r"(?m)^USER (\d+)", text)
        self.assertGreater(int(user.group(1)), 0)
        ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        self.assertIn("target", ignored)
        # What the build needs is not left out.
        for name in ["crates", "xtask", "Cargo.toml", "docs"]:
            self.assertNotIn(name, ignored)
        if shutil.which("hadolint"):
            run("hadolint", DEPLOY / "Dockerfile")
