#!/bin/sh
# Make the bucket of the project. It may exist already.
set -eu
master=$1
bucket=$2
for attempt in $(seq 1 60); do
    # weed shell ends with 0 even if a command fails, so the list decides.
    printf 's3.bucket.create -name %s\ns3.bucket.list\n' "$bucket" | weed shell -master="$master" >/tmp/setup.log 2>&1 || true
    if grep -q "^ *${bucket}[[:space:]]" /tmp/setup.log; then
        echo "bucket $bucket is there"
        exit 0
    fi
    echo "attempt $attempt: the store is not ready"
    sleep 1
done
cat /tmp/setup.log >&2
exit 1
