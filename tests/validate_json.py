"""Validates JSON files: validate_json.py SCHEMA FILE... Exits with 77 if there is no jsonschema module."""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)

with open(sys.argv[1]) as file:
    schema = json.load(file)
for path in sys.argv[2:]:
    with open(path) as file:
        try:
            jsonschema.validate(json.load(file), schema)
        except jsonschema.ValidationError as error:
            where = "/".join(str(part) for part in error.absolute_path)
            sys.exit(f"{path}: at /{where}: {error.message}")
