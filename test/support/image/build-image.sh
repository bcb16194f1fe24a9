#!/usr/bin/env bash
# Builds the image of the Dockerfile without a Docker engine, as root: on a base that is made of Debian's packages, from
# where this machine has them, and of the Node.js of an npm package. Prints the name of a container that is made from it.
#
# usage: build-image.sh <empty folder> <a Node.js of version 24>
set -euo pipefail
work=$1
node=$2
cd "$(dirname "$0")/../../.."

buildah() { command buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"; }

sources=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
mirror=$(sed -nE 's/^URIs: +//p; s/^deb +(\[[^]]*\] +)?([^ ]+).*/\2/p' <<< "$sources" | head -n 1)
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >&2
install -D "$node" "$work/base/usr/local/bin/node"
mkdir -p "$work/base/usr/local/lib/node_modules"
cp -r "$(npm root -g)/npm" "$work/base/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
chroot "$work/base" useradd --create-home --uid 1000 node

base=$(buildah from scratch)
tar -C "$work/base" -cf "$work/base.tar" .
rm -rf "$work/base"
buildah add "$base" "$work/base.tar" / >&2
buildah commit --quiet "$base" localhost/wharf-base >&2
rm "$work/base.tar"

# The registry of this machine, and whom it trusts.
npm config get cafile | xargs -I{} cp {} "$work/ca.crt" 2>/dev/null || cp /etc/ssl/certs/ca-certificates.crt "$work/ca.crt"
printf 'registry=%s\ncafile=/root/ca.crt\n' "$(npm config get registry)" > "$work/npmrc"
buildah build --isolation chroot --network host --format docker --build-arg NODE_IMAGE=localhost/wharf-base \
  --volume "$work/npmrc:/root/.npmrc:ro" --volume "$work/ca.crt:/root/ca.crt:ro" --tag wharf:test . >&2
buildah from wharf:test
