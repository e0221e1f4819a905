#!/bin/bash
# Threat 37: of all families only connected unix sockets, and queries by NETLINK_ROUTE, exist.
. "$(dirname "$0")/../lib.sh"
hostile cases-threat families
