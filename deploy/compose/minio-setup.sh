#!/bin/sh
# Make the bucket of the project, and a user who may use it and nothing else.
set -eu
bucket=$1
access_key=$(sed -n 's/^aws_access_key_id *= *//p' /run/secrets/aws_credentials)
secret_key=$(sed -n 's/^aws_secret_access_key *= *//p' /run/secrets/aws_credentials)
mc alias set store http://minio:9000 "$(cat /run/secrets/minio_user)" "$(cat /run/secrets/minio_password)"
mc mb --ignore-existing "store/$bucket"
cat >/tmp/policy.json <<END
{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"], "Resource": ["arn:aws:s3:::$bucket"]},
  {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
   "Resource": ["arn:aws:s3:::$bucket/*"]}]}
END
mc admin user add store "$access_key" "$secret_key"
mc admin policy create store thresher /tmp/policy.json
mc admin policy attach store thresher --user "$access_key" || true # attached already
