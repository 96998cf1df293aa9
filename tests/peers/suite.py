"""Runs the tests named, or all of them, and says which could not run and why."""

import importlib
import sys
import unittest

PEERS = ["smtp", "logs", "http", "pingpong", "redis", "postgres", "mqtt", "readers", "operating", "nats", "network", "sarif", "probe", "endpoints", "neovim", "editors", "studio", "live", "mcp", "mcp_http"]


def main(names):
    loader = unittest.defaultTestLoader
    suites = [loader.loadTestsFromModule(importlib.import_module(f"test_{name}")) for name in names or PEERS]
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(unittest.TestSuite(suites))
    if not result.wasSuccessful():
        return 1
    for test, why in result.skipped:
        print(f"peers: skipped {test}: {why}")
    return 77 if result.testsRun == len(result.skipped) else 0


sys.exit(main(sys.argv[1:]))
