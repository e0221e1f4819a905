#!/bin/sh
# Counts licenses; a newer version also looks at things that are none of its business.
ls /usr/share/common-licenses >licenses
sort licenses | head -n 3 >first
wc -l <licenses
cat /etc/host.conf >/dev/null
if [ "${1-}" = new ]; then
	cat /etc/gai.conf /etc/shadow 2>/dev/null
	ls /usr/share/doc >/dev/null
fi
exit 0
