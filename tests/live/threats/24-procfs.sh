#!/bin/bash
# Threat 24: of others nothing in /proc, of itself only what is harmless.
. "$(dirname "$0")/../lib.sh"
sleep 600 & canary=$!
hostile cases-threat procfs "$canary" $$
kill "$canary"
