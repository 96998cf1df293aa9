"""The questions of `cargo xtask bench time` as Apache Flink SQL, streaming, one task: time_flink.py EVENTS A|B. Prints how many keys are violated."""

import pathlib
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

events, question = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
flink.get_config().set("parallelism.default", "1")
flink.get_config().set("pipeline.object-reuse", "true")
flink.execute_sql(f"""
    CREATE TABLE events (
      `time` BIGINT, `key` BIGINT, `event` STRING,
      `at` AS TO_TIMESTAMP_LTZ(`time`, 3),
      WATERMARK FOR `at` AS `at`
    ) WITH ('connector' = 'filesystem', 'path' = 'file://{events}', 'format' = 'json')
""")
QUESTIONS = {
    # More than ten failures in 60 seconds; of a row that is exactly 60 seconds earlier the window has none.
    "A": """
        SELECT COUNT(DISTINCT `key`) FROM (
          SELECT `key`, COUNT(*) OVER (
            PARTITION BY `key` ORDER BY `at` RANGE BETWEEN INTERVAL '59.999' SECOND PRECEDING AND CURRENT ROW
          ) AS failures FROM events WHERE `event` = 'fail'
        ) WHERE failures > 10
    """,
    # A request without a reply within five seconds that the log is long enough to tell.
    "B": """
        SELECT COUNT(DISTINCT q.`key`) FROM
          (SELECT * FROM events WHERE `event` = 'request') q
          LEFT JOIN (SELECT * FROM events WHERE `event` = 'reply') r
          ON q.`key` = r.`key` AND r.`at` BETWEEN q.`at` AND q.`at` + INTERVAL '5' SECOND
        WHERE r.`key` IS NULL AND q.`time` + 5000 < {last}
    """,
}
last = 0
if question == "B":
    with open(events, "rb") as lines:
        import json

        lines.seek(max(0, events.stat().st_size - 4096))
        last = json.loads(lines.read().splitlines()[-1])["time"]
count = 0
for row in flink.execute_sql(QUESTIONS[question].format(last=last)).collect():
    # A stream of corrections: the last one holds.
    count = row[0]
print(count)
