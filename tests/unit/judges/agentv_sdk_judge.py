"""A judge that accepts what the SDKs of AgentV accept: `python agentv_sdk_judge.py VERSION`.

The schemas have the required keys and the types of the schemas that the SDKs check a request by,
before their names are converted to camel case. An invalid request is answered as the SDKs do.
"""

from __future__ import annotations

import json
import sys

import jsonschema_rs

STRING = {"type": "string"}
STRINGS = {"type": "array", "items": STRING}
OBJECT = {"type": "object"}
OBJECT_OR_NULL = {"type": ["object", "null"]}
ROLE = {"enum": ["assistant", "user", "system", "tool"]}
ANY_CONTENT = {"anyOf": [STRING, OBJECT, {"type": "array", "items": OBJECT}]}
PART = {
    "anyOf": [
        {
            "properties": {"type": {"const": "text"}, "text": STRING},
            "required": ["type", "text"],
        },
        {
            "properties": {"type": {"enum": ["image", "file"]}, "media_type": STRING, "path": STRING},
            "required": ["type", "media_type", "path"],
        },
    ],
}  # fmt: skip
TEXT_OR_PARTS = {"anyOf": [STRING, {"type": "array", "items": {**OBJECT, **PART}}]}


def messages(content, *required):
    message = {
        "type": "object",
        "properties": {"role": ROLE, "content": content},
        "required": ["role", *required],
    }
    return {"type": "array", "items": message}


def later(content):
    return {
        "criteria": STRING,
        "expected_output": messages(content),
        "output": {"anyOf": [messages(content), {"type": "null"}]},
        "input_files": STRINGS,
        "input": messages(content),
        "config": OBJECT_OR_NULL,
    }


KEYS = {
    "eval-2.0.2": {
        "question": STRING,
        "expected_outcome": STRING,
        "expected_messages": {"type": "array", "items": OBJECT},
        "reference_answer": STRING,
        "candidate_answer": STRING,
        "guideline_files": STRINGS,
        "input_files": STRINGS,
        "input_messages": messages(ANY_CONTENT, "content"),
        "config": OBJECT_OR_NULL,
    },
    "sdk-4.9": {
        **later(ANY_CONTENT),
        "question": STRING,
        "reference_answer": STRING,
        "answer": STRING,
        "guideline_files": STRINGS,
    },
    "sdk-4.42": later(TEXT_OR_PARTS),
}

if __name__ == "__main__":
    keys = KEYS[sys.argv[1]]
    schema = {"type": "object", "properties": keys, "required": [*keys]}
    try:
        jsonschema_rs.validate(schema, json.load(sys.stdin))
    except jsonschema_rs.ValidationError as error:
        reply = {"score": 0, "hits": [], "misses": [error.message]}
        reply["reasoning"] = f"Evaluation failed: {error.message}"
        sys.stdout.write(json.dumps(reply))
        sys.exit(1)
    sys.stdout.write('{"score": 1}')
