# Prints the outline of a shell library: its functions without most of what they do, and a use of each of its variables.
# For shellcheck, which takes most of its time for the library that a script sources, and does so again for each script
# (lint.sh). In a script it still sees which functions end it, which take arguments or call a function that the script
# defines anew, and which variables the library reads and sets.
/^[a-z_]+\(\) \{.*\}$/ {
	print
	redefined[substr($1, 1, index($1, "(") - 1)] = 1
	next
}
/^[a-z_]+\(\)/ {
	name = substr($1, 1, index($1, "(") - 1)
	next
}
/^\{/ {
	in_body = 1
	body = ":"
	arguments = ""
	next
}
/^\}/ {
	printf "%s() { %s%s; }\n", name, body, arguments
	in_body = 0
	next
}
/^[ \t]*#/ { next }
/^\. / { print }
in_body && /^\texit/ { body = "exit" }
in_body && /\$[1-9@*]/ { arguments = " \"$@\"" }
in_body && $1 in redefined { body = $1 }
in_body && /^\tlocal / {
	for (i = 2; i <= NF; i++) {
		sub(/=.*/, "", $i)
		is_local[$i] = 1
	}
	next
}
in_body && /^[\t]read -r / {
	for (i = 3; i <= NF && $i ~ /^[a-z_]+$/; i++)
		is_variable[$i] = 1
}
{ text = text "\n" $0 }
END {
	while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
		word = substr(text, RSTART, RLENGTH)
		before = RSTART > 1 ? substr(text, RSTART - 1, 1) : ""
		text = substr(text, RSTART + RLENGTH)
		if (before ~ /[${]/ || text ~ /^\+?=/)
			is_variable[word] = 1
		if (text ~ /^=[0-9]/)
			value[word] = 0
		if (text ~ /^(\+?=\(|\[@\])/)
			value[word] = "()"
	}
	for (word in is_variable) {
		if (word in is_local || word == "SECONDS")
			continue
		sets = sets " " word "=" value[word]
		uses = uses " \"${" word (value[word] == "()" ? "[@]" : "") "}\""
	}
	if (sets != "")
		print sets "\n:" uses
}
