# Sends the records on standard input to Gatehouse: python send.py < records.ndjson
# Needs PyJWT[crypto].
import base64
import hashlib
import json
import os
import sys
import time
import urllib.request
import uuid

import jwt

url = os.environ["ISSUER"] + "/platform/records"
body = sys.stdin.buffer.read()
now = int(time.time())
digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
with open(os.environ["KEY_FILE"]) as file:
    key = file.read()
token = jwt.encode(
    {"aud": url, "jti": str(uuid.uuid4()), "iat": now, "exp": now + 60, "body_sha256": digest},
    key,
    algorithm="ES256",
    headers={"kid": os.environ["KEY_ID"], "typ": "records+jwt"},
)
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
request = urllib.request.Request(url, body, headers)
with urllib.request.urlopen(request) as response:
    for result in json.load(response)["results"]:
        changed = "changed" if result["changed"] else "unchanged"
        print(f"{result['line']}: {changed if result['ok'] else result['error']}")
