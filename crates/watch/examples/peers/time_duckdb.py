"""What `cargo xtask bench time` asks, as a query of DuckDB over the whole file: python3 time_duckdb.py EVENTS A|B"""

import sys

import duckdb

QUERIES = {
    "A": """
        SELECT count(DISTINCT key) FROM (
            SELECT key, count(*) OVER (
                PARTITION BY key ORDER BY time RANGE BETWEEN 59999 PRECEDING AND CURRENT ROW
            ) AS failures FROM events WHERE event = 'fail'
        ) WHERE failures > 10""",
    "B": """
        SELECT count(DISTINCT key) FROM (
            SELECT key, event, time, count(*) FILTER (event = 'reply') OVER (
                PARTITION BY key ORDER BY time RANGE BETWEEN CURRENT ROW AND 5000 FOLLOWING
            ) AS replies FROM events
        ) WHERE event = 'request' AND replies = 0 AND time + 5000 < (SELECT max(time) FROM events)""",
}

path, question = sys.argv[1:]
base = duckdb.connect(config={"threads": 1})
columns = "{time: 'BIGINT', key: 'BIGINT', event: 'VARCHAR'}"
base.execute(f"CREATE VIEW events AS FROM read_json('{path}', format = 'newline_delimited', columns = {columns})")
print(base.execute(QUERIES[question]).fetchone()[0])
