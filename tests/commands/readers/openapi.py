"""Holds a server to its OpenAPI document: openapi.py ORIGIN QUERIES.

The document has to be valid, and the answer to each query (path and parameters, relative to the API) has to be as the
document says: its status is there, and its body fits the schema. Prints the number of answers.
"""

import json
import sys
import urllib.error
import urllib.request

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

origin, queries = sys.argv[1], json.loads(sys.argv[2])
root = "/api/archive/"


def get(path):
    try:
        with urllib.request.urlopen(origin + path) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)


document = get(root + "openapi.json")[1]
validate(document)
registry = Registry().with_resource("document:", Resource(document, DRAFT202012))


def absolute(schema):
    """The schema with references into the document."""
    if isinstance(schema, dict):
        return {key: "document:" + value if key == "$ref" else absolute(value) for key, value in schema.items()}
    return [absolute(value) for value in schema] if isinstance(schema, list) else schema


asked = set()
for query in queries:
    path = root + query.split("?")[0]
    status, body = get(root + query)
    answers = document["paths"][path]["get"]["responses"]
    schema = answers[str(status)]["content"]["application/json"]["schema"]
    Draft202012Validator(absolute(schema), registry=registry).validate(body)
    asked.add(path)
assert asked == set(document["paths"]), "these were not asked: %s" % (set(document["paths"]) - asked)
print(len(queries))
