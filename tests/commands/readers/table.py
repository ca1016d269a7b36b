"""Reads a Parquet table with DuckDB.

usage: table.py FILE QUERY ; prints the rows as lines of JSON, FILE being the table `pages`
"""
import json
import sys

import duckdb

file, query = sys.argv[1:]
duckdb.read_parquet(file).create_view("pages")
for row in duckdb.sql(query).fetchall():
    print(json.dumps(row, default=str))
