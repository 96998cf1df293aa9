"""Runs a client's command with a guard between it and the server, whose address is the last argument."""

import subprocess
import sys
import urllib.parse

from harness import Guard

*command, url = sys.argv[1:]
parts = urllib.parse.urlsplit(url)
with Guard("mcp-http", parts.port, 'policy = "reject"\n') as guard:
    status = subprocess.run([*command, parts._replace(netloc=f"127.0.0.1:{guard.port}").geturl()]).returncode
if guard.verdicts:
    print("blamed:", guard.verdicts)
sys.exit(status)
