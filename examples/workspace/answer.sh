#!/bin/sh
# Answers a question, a line of JSON: yes to writing VERSION, else no. Standard error shows what a person would see.
question=$(cat)
printf '%s\n' "$question" | jq -r '.shown[]' >&2
printf '%s\n' "$question" |
	jq -c '{id, answer: (if .right == "w" and (.resolved | endswith("/VERSION")) then "once" else "no" end)}'
