"""What `referee check --format sarif` prints is SARIF 2.1.0, by the standard's own schema."""

import json
import os
import subprocess
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "target" / "peers" / "sarif" / "schema.json"

UNSAFE = "A: B!login; B?ok; B!quit; end  B: A?login; A!ok; A?exit; end"
WAITING = "A: B?x; B!y; end  B: A?y; A!x; end"
UNKNOWN = "A: rec x. C!a; x  B: rec y. C!b; y  C: rec z. {A?a; z, B?b; z}"
WRONG = "A: C!x; end"


@unittest.skipUnless(jsonschema, "there is no jsonschema")
@unittest.skipUnless(SCHEMA.exists(), "the schema of SARIF could not be had")
class Sarif(unittest.TestCase):
    def results(self, *arguments, text=""):
        """The results in what `check` prints, which is valid."""
        command = [os.environ["REFEREE"], "check", "--format", "sarif", *arguments]
        output = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
        document = json.loads(output.stdout)
        schema = json.loads(SCHEMA.read_text())
        validator = jsonschema.validators.validator_for(schema)(schema)
        self.assertEqual([error.message for error in validator.iter_errors(document)], [])
        return document["runs"][0]["results"]

    def test_texts(self):
        of = lambda text: [found["ruleId"] for found in self.results("--language", "kmc", "-", text=text)]
        self.assertEqual(of(UNSAFE), ["unexpected-message"])
        self.assertEqual(of(WAITING), ["wait-cycle"])
        self.assertEqual(len(of(UNKNOWN)), 1)
        self.assertEqual(of(WRONG), ["RF0502"])
        self.assertEqual(of("A: B!x; end  B: A?x; end"), [])

    def test_examples(self):
        self.assertGreater(len(self.results(str(ROOT / "examples"))), 20)

    def test_a_wrong_document_is_seen(self):
        schema = json.loads(SCHEMA.read_text())
        validator = jsonschema.validators.validator_for(schema)(schema)
        wrong = {"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": []}]}
        self.assertNotEqual(list(validator.iter_errors(wrong)), [])
