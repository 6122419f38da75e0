#!/usr/bin/env bash
# A browser for the tests that open pages: Debian's Chromium, where it can be had. Without one they are skipped.
set -u
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null && exit 0
fi
echo "no Chromium: the tests marked browser will be skipped (apt-get install chromium)" >&2
