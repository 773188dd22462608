#!/usr/bin/env bash
# Make the secrets of compose.yaml, once: random passwords, and the files that hold them.
#
#   deploy/compose/make-secrets.sh mailto:crawl@example.org
#
# The directory is for its owner alone. The files in it are readable, because the users of the containers are others.
set -euo pipefail
contact=${1:?usage: make-secrets.sh CONTACT, for example mailto:crawl@example.org}
cd "$(dirname "$0")"
if [ -e secrets ]; then
    echo "deploy/compose/secrets exists already: delete it to make new secrets, which the running servers do not know" >&2
    exit 2
fi
umask 022
mkdir -m 700 secrets.new
random() { head -c 24 /dev/urandom | base64 | tr -d '+/=\n'; }
redis=$(random) postgres=$(random) access=$(random) secret=$(random) token=$(random)

cat >secrets.new/valkey.acl <<END
user default on nopass resetkeys resetchannels -@all +ping
user thresher on >$redis ~* &* +@all -flushall -flushdb -shutdown -debug -replicaof -failover -module
END
cat >secrets.new/s3.json <<END
{"identities": [{"name": "thresher",
                 "credentials": [{"accessKey": "$access", "secretKey": "$secret"}],
                 "actions": ["Read:crawl", "Write:crawl", "List:crawl", "Tagging:crawl"]}]}
END
cat >secrets.new/aws_credentials <<END
[default]
aws_access_key_id = $access
aws_secret_access_key = $secret
END
cat >secrets.new/thresher.toml <<END
[project]
contact = "$contact"
storage = "s3://crawl/project"
redis = "redis://thresher:$redis@valkey:6379/0"
catalog = "postgresql://thresher:$postgres@postgres/thresher"
cache = "10GiB"

[crawler]
allow_networks = []  # keep it empty: a page must not make the crawler ask the other services of this network
END
printf %s "$postgres" >secrets.new/postgres_password
printf %s minio-admin >secrets.new/minio_user
random >secrets.new/minio_password
random >secrets.new/grafana_password
printf %s "$token" >secrets.new/console_token
mv secrets.new secrets
echo "made deploy/compose/secrets: keep a copy where the backups are"
