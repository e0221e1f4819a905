#!/bin/sh
# answer.sh DIR: answers the questions in DIR: what is below /etc may be read, all else is denied.
# For people, replace the case by: read -r word </dev/tty
while sleep 0.1; do
	for question in "$1"/*.json; do
		answer=${question%.json}.answer
		[ -e "$question" ] || continue
		[ ! -e "$answer" ] || continue
		case $(jq -r '.right + " " + .resolved' "$question") in
		"r /etc/"*) word=allow ;;
		*) word=deny ;;
		esac
		jq -r --arg word "$word" '"\($word): \(.exe) wants to \(.syscall) \(.resolved) (\(.right))"' "$question"
		echo "$word" >"$answer.part" && mv "$answer.part" "$answer"
	done
done
