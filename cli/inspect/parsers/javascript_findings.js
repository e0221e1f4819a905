/* Part of the JavaScript parser of callgate inspect: what it has found, and how it tells it, as findings.py does. */
"use strict";

const fs = require("fs");
const path = require("path");

const OF_A_KIND_MAX = 300; // so that many harmless findings do not hide a bad one
const WHAT_CHARACTERS_MAX = 100;
const LOCAL_IMPORTS_MAX = 1000; // cli/inspect/findings.h

const found = new Set();
const counts = {};
const leftOut = {}; // for each kind further findings
const modules = new Set(); // that are imported
const localImports = new Set(); // that are files
const assignments = new Set();
let told = 0; // lines
const patterns = JSON.parse(fs.readFileSync(path.join(__dirname, "patterns.json"), "utf8"));

function clean(text) {
	let line = text.replace(/\s+/g, " ").trim();
	if (line.length > WHAT_CHARACTERS_MAX)
		line = line.slice(0, WHAT_CHARACTERS_MAX) + "...";
	return line.replace(/[^\x20-\x7e]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) || "-";
}

/* Prints a line as soon as it is found: a parser may be ended for its time or memory. */
function tell(text) {
	fs.writeSync(1, text + "\n");
	told++;
}

function keep(finding) {
	found.add(finding);
	tell(finding);
}

function add(line, kind, what) {
	const finding = `${line} ${kind} ${clean(what)}`;
	counts[kind] ??= 0;
	if (kind === "import" || kind === "standard") {
		/* once each, and all: with too many of them, the program is one that could not be parsed */
		if (!modules.has(`${kind} ${what}`))
			keep(finding);
		modules.add(`${kind} ${what}`);
	} else if (!found.has(finding) && counts[kind] >= OF_A_KIND_MAX) {
		(leftOut[kind] ??= new Set()).add(finding);
	} else if (!found.has(finding)) {
		keep(finding);
		counts[kind]++;
	}
}

/* An environment variable that is set, each value once. */
function tellAssignment(line, text) {
	const cleaned = clean(text);
	if (!assignments.has(cleaned))
		tell(`${line} assignment ${cleaned}`);
	assignments.add(cleaned);
}

/* An import of what may be a file of the program. Further ones are told by cli/inspect/imports.c. */
function addLocalImport(line, name) {
	if (localImports.has(name) || localImports.size >= LOCAL_IMPORTS_MAX || !/^(\.{0,2}\/|\.\.?$)/.test(name))
		return;
	/* what C takes; other names are rare */
	if (Buffer.byteLength(name) <= 400 && name.isWellFormed?.() !== false && !/[\0-\x1f\x7f]/.test(name)) {
		localImports.add(name);
		tell(`${line} local-import ${name}`);
	}
}

function lookAtText(line, text, group) {
	for (const [kind, list] of Object.entries(patterns[group]))
		for (const pattern of list) {
			const match = new RegExp(pattern).exec(text.slice(0, 100000));
			if (match)
				add(line, kind, match[0]);
		}
}

/* Calls what looks at one part of the program. If it fails, only what it would have found is lost: that is told. */
function attempt(line, look) {
	try {
		look();
	} catch (error) {
		add(line, "unparsable", `could not be parsed: ${error}`);
	}
}

/* Looks for patterns in a text that could not be parsed; another version of node may run it. */
function lookAtLines(text) {
	text.split("\n").forEach((line, i) => ["strings", "shell"].forEach((group) => lookAtText(i + 1, line, group)));
}

function end() {
	for (const [kind, findings] of Object.entries(leftOut))
		tell(`${findings.size} unlisted ${kind}`);
	fs.writeSync(1, `end ${told}\n`);
}

module.exports = { add, addLocalImport, attempt, end, lookAtLines, lookAtText, patterns, tellAssignment };
