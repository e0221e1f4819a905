#!/bin/sh
# Writes the page's files as C arrays: embed.sh DIRECTORY >templates.c. The scripts become one, because the page's own
# policy (CSP) allows one: the engine as a function, which a worker can run as well, and then what shows its answers.
set -eu

dir=$1

# array NAME: the bytes on stdin as a C array.
array()
{
	printf 'static const unsigned char template_%s[] = {\n' "$1"
	od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
	printf '};\n'
}

script()
{
	printf '"use strict";\n(function () {\nfunction createEngine() {\n'
	cat "$dir"/engine.js "$dir"/engine-files.js "$dir"/engine-views.js "$dir"/engine-compare.js "$dir"/engine-end.js
	printf '}\n'
	cat "$dir"/dom.js "$dir"/words.js "$dir"/client.js "$dir"/summary.js "$dir"/tree.js "$dir"/timeline.js \
		"$dir"/tables.js "$dir"/records.js "$dir"/main.js
	printf '})();\n'
}

printf '/* Made by cli/audit/report/embed.sh. */\n#include "cli/audit/report/report.h"\n\n'
array css <"$dir/page.css"
array html <"$dir/page.html"
script | array js
cat <<'END'

const struct report_template report_templates[] = {
	{"page.css", template_css, sizeof(template_css)},
	{"page.html", template_html, sizeof(template_html)},
	{"page.js", template_js, sizeof(template_js)},
	{0},
};
END
