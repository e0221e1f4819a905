#!/bin/sh
# A CGI program of Apache's and lighttpd's: a line of CORPUS_LOG as server.py's, with the overrides that frameworks look
# for.
body=${CONTENT_LENGTH:-0}
[ "$body" = 0 ] || body=$(wc -c)
method=${HTTP_X_HTTP_METHOD_OVERRIDE:-${HTTP_X_HTTP_METHOD:-${HTTP_X_METHOD_OVERRIDE:-$REQUEST_METHOD}}}
target=${HTTP_X_ORIGINAL_URL:-${HTTP_X_REWRITE_URL:-$REQUEST_URI}}
host=${HTTP_X_FORWARDED_HOST:-${HTTP_X_HOST:-$HTTP_HOST}}
printf '%s\t%s\t%s\t%s\t-\n' "$method" "$target" "$host" "$body" >>"$CORPUS_LOG"
printf 'Content-Type: text/plain\r\n\r\n'
[ "$REQUEST_METHOD" = HEAD ] || printf 'served %s %s\n' "$method" "$target"
