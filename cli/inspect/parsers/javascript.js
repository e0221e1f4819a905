/*
 * Looks at a JavaScript program, which it reads from standard input, by acorn: the system's, or the one in node. Started
 * by callgate inspect in a sandbox, as the program may be hostile. Nothing of it is run.
 */
"use strict";

const fs = require("fs");
const path = require("path");
const { builtinModules } = require("module");
const { GLOBALS, isOfGlobal, unwrap } = require("./javascript_calls.js");
const { findWritten } = require("./javascript_environment.js");

const OF_A_KIND_MAX = 300; // so that many harmless findings do not hide a bad one
const WHAT_CHARACTERS_MAX = 100;
const TEXT_CHARACTERS_MAX = 100000;
const LOCAL_IMPORTS_MAX = 1000; // cli/inspect/findings.h
const ELEMENTS_MAX = 1000; // that are joined to a text
const WORK_MAX = 10000000; // steps that the expressions of a program take
const WORK_OF_EACH_MAX = 4000; // and that one takes
const NO_PARSER_STATUS = 3; // cli/inspect/parser.c
const MODULES = {
	network: new Set(["http", "https", "http2", "net", "dgram", "tls", "dns", "dns/promises", "axios", "node-fetch", "got",
		"request", "ws", "undici", "superagent", "socket.io-client", "ssh2", "nodemailer"]),
	process: new Set(["child_process", "cluster", "worker_threads", "execa", "shelljs", "cross-spawn", "node-pty"]),
	native: new Set(["ffi-napi", "ffi", "koffi", "bindings", "node-gyp-build", "bun:ffi", "node:ffi", "wasi"]),
	dynamic: new Set(["vm", "vm2", "repl", "inspector"]),
};
const CALLS = {
	network: ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "navigator.sendBeacon"],
	native: ["process.binding", "process._linkedBinding", "process.dlopen", "WebAssembly.instantiate",
		"WebAssembly.compile", "WebAssembly.Module"],
	dynamic: ["eval", "Function", "AsyncFunction", "vm.runInThisContext", "vm.runInNewContext", "vm.runInContext",
		"vm.Script", "vm.compileFunction", "execScript", "module._compile", "module.register",
		"module.prototype._compile", "module.Module.prototype._compile",
		"module.registerHooks"],
};
const DECODERS = ["atob", "unescape", "String.fromCharCode", "String.fromCodePoint", "decodeURIComponent", "Buffer.from",
	"Buffer", "zlib.inflateSync", "zlib.gunzipSync", "zlib.brotliDecompressSync"];
const FETCHERS = ["fetch", "http.get", "https.get", "http.request", "https.request", "axios.get", "axios", "got"];
const RUNNERS = ["eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "vm.Script", "module._compile",
	"setTimeout", "setInterval", "execScript"];
// functions that return a module by its name; "module" is also the module of this name, as which createRequire() is found
const REQUIRERS = new RegExp("^(require|(require\\.main|process\\.mainModule|" +
	"module(\\.parent|\\.constructor|\\.Module|\\.default)?)\\.(require|_load)|" +
	"module(\\.default)?\\.createRequire\\(\\)|process\\.getBuiltinModule)$");
const BUILT_IN = [RegExp, Array, String, Map, Set, Promise, Function].map((type) => type.prototype);
const ROOTS = /^(\/|\/home|\/etc|\/usr|\/root|~)$/;
const STARTERS = ["exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "fork"];

// ---- findings ----

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

/*
 * An environment variable that is set. cli/inspect/findings.c knows which ones are of note; none is left out here.
 * isAdded: "+=".
 */
function addAssignment(line, name, value, isAdded = false) {
	const sign = isAdded ? "+=" : "=";
	lookAtText(line, `${name}${sign}${textOf(value) ?? `{${describe(value)}}`}`, "shell");
	const cleaned = clean(`${name}${sign}${describeValue(value, name)}`);
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

// ---- the parser ----

function loadAcorn() {
	for (const name of ["/usr/share/nodejs/acorn", "internal/deps/acorn/acorn/dist/acorn"])
		try {
			return require(name);
		} catch {
			// the next one
		}
	return null;
}

function parse(acorn, text) {
	const options = { ecmaVersion: "latest", locations: true, allowHashBang: true, allowReturnOutsideFunction: true,
		allowAwaitOutsideFunction: true, allowSuperOutsideMethod: true };
	try {
		return acorn.parse(text, { ...options, sourceType: "module" });
	} catch (first) {
		try {
			return acorn.parse(text, { ...options, sourceType: "script" });
		} catch (error) {
			const worse = first.pos > error.pos ? first : error;
			if (error instanceof SyntaxError)
				add(worse.loc ? worse.loc.line : 1, "syntax", worse.message);
			else
				add(1, "unparsable", `could not be parsed: ${error}`); // too deep for the parser
			lookAtLines(text);
			return null;
		}
	}
}

/* All nodes of the tree, each once; no recursion, which a deep tree would make too much of. */
function listNodes(root) {
	const nodes = [];
	const left = [root];
	while (left.length) {
		const node = left.pop();
		nodes.push(node);
		for (const key of Object.keys(node)) {
			const value = node[key];
			for (const item of Array.isArray(value) ? value : [value])
				if (item && typeof item.type === "string" && key !== "loc")
					left.push(item);
		}
	}
	return nodes;
}

// ---- names ----

const standsFor = new Map();
const texts = new Map();
const arrays = new Map();
const paths = new Map(); // variables with names of files that are put together
const members = new Map(); // names of members of objects that are modules, such as "cp" of this.cp = require("x")
const objects = new Set(); // variables with objects that are no built-in ones
const decoded = new Set();
const fetched = new Set();

let workLeft = WORK_MAX;
let workOfThis = 0; // what is left for this expression
let isLimited = false; // an expression was not looked at to its end

/* What looks at the parts of an expression looks at theirs several times. depth 0: another one begins. */
function hasWorkLeft(depth) {
	workOfThis = (depth ? workOfThis : WORK_OF_EACH_MAX) - 1;
	workLeft--;
	isLimited ||= workOfThis < 0 || workLeft < 0;
	return workOfThis >= 0 && workLeft >= 0;
}

function joinTexts(parts, between) {
	const size = parts.reduce((sum, part) => sum + (part?.length ?? 0) + between.length, 0);
	return size > TEXT_CHARACTERS_MAX || parts.includes(null) ? null : parts.join(between);
}

/* The text that an expression has in each run. null: not known, or too long. */
function textOf(node, depth = 0) {
	if (!node || depth > 40 || !hasWorkLeft(depth))
		return null;
	if (node.type === "Literal")
		return typeof node.value === "string" ? node.value : null;
	if (node.type === "Identifier")
		return texts.get(node.name) ?? null;
	if (node.type === "MemberExpression" && node.computed)
		return textOfElement(node, depth);
	if (node.type === "TemplateLiteral")
		return joinTexts(node.quasis.map((part, at) => (part.value.cooked ?? "") +
			(at < node.expressions.length ? textOf(node.expressions[at], depth + 1) ?? "{}" : "")), "");
	if (node.type === "BinaryExpression" && node.operator === "+") {
		const left = textOf(node.left, depth + 1);
		const right = left === null ? null : textOf(node.right, depth + 1);
		return right === null ? null : joinTexts([left, right], "");
	}
	return node.type === "CallExpression" ? textOfCall(node, depth) : null;
}

/* NAME[1] of an array that is a constant. */
function textOfElement(node, depth) {
	const elements = node.object.type === "Identifier" ? arrays.get(node.object.name) : null;
	const at = node.property.type === "Literal" ? node.property.value : null;
	return elements && Number.isInteger(at) && elements[at] ? textOf(elements[at], depth + 1) : null;
}

function textOfCall(node, depth) {
	const name = resolve(node.callee, depth + 1);
	const first = textOf(node.arguments[0], depth + 1);
	if (name === "atob" && first !== null)
		return Buffer.from(first, "base64").toString();
	if (name === "String.fromCharCode" && node.arguments.every((item) => Number.isInteger(item.value)))
		return String.fromCharCode(...node.arguments.map((item) => item.value));
	if (name === "Buffer.from().toString") {
		const from = node.callee.object.arguments;
		const encoding = textOf(from[1], depth + 1);
		const value = textOf(from[0], depth + 1);
		return value !== null && ["base64", "hex"].includes(encoding) ? Buffer.from(value, encoding).toString() : null;
	}
	if (node.callee.type === "MemberExpression" && node.callee.property.name === "join" &&
			node.callee.object.type === "ArrayExpression" && node.callee.object.elements.length <= ELEMENTS_MAX) {
		const parts = node.callee.object.elements.map((item) => textOf(item, depth + 1));
		return joinTexts(parts, first ?? ",");
	}
	return null;
}

function moduleName(text) {
	return text.replace(/^node:/, "");
}

/* The dotted name that an expression stands for, such as "child_process.exec". null: unknown. */
function resolve(node, depth = 0) {
	if (!node || depth > 40 || !hasWorkLeft(depth))
		return null;
	if (node.type === "Identifier")
		return standsFor.get(node.name) ?? node.name;
	if (node.type === "ThisExpression")
		return "globalThis";
	if (node.type === "ChainExpression" || node.type === "ParenthesizedExpression" || node.type === "AwaitExpression")
		return resolve(node.expression ?? node.argument, depth + 1);
	if (node.type === "SequenceExpression")
		return resolve(node.expressions[node.expressions.length - 1], depth + 1);
	if (node.type === "MemberExpression")
		return resolveMember(node, depth);
	if (node.type === "CallExpression" || node.type === "NewExpression") {
		const name = resolve(node.callee, depth + 1);
		const text = textOf(node.arguments[0], depth + 1);
		if (REQUIRERS.test(name ?? "") && text !== null)
			return moduleName(text);
		if (/(^|\.)promisify$/.test(name ?? "") && node.arguments.length)
			return resolve(node.arguments[0], depth + 1);
		return name ? name + "()" : null;
	}
	if (node.type === "ImportExpression")
		return textOf(node.source, depth + 1);
	return null;
}

function resolveMember(node, depth) {
	const base = resolve(node.object, depth + 1);
	const key = node.computed ? textOf(node.property, depth + 1) : node.property.name ?? null;
	if (key === null)
		return null;
	if (members.has(key) && hasMember(node.object, key) && !isModule(base))
		return members.get(key);
	if (GLOBALS.includes(base))
		return key;
	return base ? `${base}.${key}` : key === "constructor" ? "constructor" : null;
}

/* Whether an object may be one that has a module by this key: exec() is also a method of each RegExp. */
function hasMember(object, key) {
	return object.type === "ThisExpression" || (object.type === "Identifier" &&
		(objects.has(object.name) || !BUILT_IN.some((prototype) => key in prototype)));
}

function isModule(name) {
	return builtinModules.includes((name ?? "").split(".")[0]);
}

/* "cp: require("child_process")" of an object or a class, or "this.cp = ..." */
function learnMember(key, value) {
	const name = value && /^(CallExpression|Identifier|MemberExpression)$/.test(value.type) ? resolve(value) : null;
	if (key && name && isModule(name) && !name.includes("()") && name !== key && !/^(process|console)\b/.test(name))
		members.set(key, name);
}

function learnPattern(pattern, name) {
	if (pattern.type === "Identifier" && name !== pattern.name && !standsFor.has(pattern.name))
		standsFor.set(pattern.name, name);
	if (pattern.type === "ObjectPattern")
		for (const property of pattern.properties)
			if (property.type === "Property" && property.value.type === "Identifier" && !property.computed)
				standsFor.set(property.value.name, `${name}.${property.key.name ?? property.key.value}`);
}

function learnAssignment(target, value) {
	const text = textOf(value);
	if (target.type === "Identifier" && (value.type === "ObjectExpression" ||
			(value.type === "NewExpression" && value.callee.type === "Identifier" && !(value.callee.name in globalThis))))
		objects.add(target.name);
	if (text !== null && target.type === "Identifier")
		texts.set(target.name, text);
	if (target.type === "Identifier" && value.type === "ArrayExpression")
		arrays.set(target.name, value.elements);
	const file = target.type === "Identifier" ? pathOf(value) : null;
	if (file !== null)
		paths.set(target.name, file);
	const name = text === null ? resolve(value) : null;
	if (name)
		learnPattern(target, name);
	const names = listNodes(target).filter((node) => node.type === "Identifier").map((node) => node.name);
	if (comesFrom(value, DECODERS, decoded))
		names.forEach((item) => decoded.add(item));
	if (comesFrom(value, FETCHERS, fetched))
		names.forEach((item) => fetched.add(item));
}

/* What the callbacks of a call that fetches get is what was fetched. */
function learnCallbacks(call) {
	for (const node of call.arguments.flatMap(listNodes))
		if (/Function/.test(node.type))
			for (const parameter of node.params)
				if (parameter.type === "Identifier")
					fetched.add(parameter.name);
}

function learn(node) {
	if (node.type === "ImportDeclaration")
		for (const item of node.specifiers)
			standsFor.set(item.local.name, item.type === "ImportSpecifier" ?
				`${moduleName(String(node.source.value))}.${item.imported.name}` : moduleName(String(node.source.value)));
	else if (node.type === "VariableDeclarator" && node.init)
		learnAssignment(node.id, node.init);
	else if (/^Property(Definition)?$/.test(node.type) && !node.computed)
		learnMember(node.key.name ?? node.key.value, node.value);
	else if (node.type === "AssignmentExpression" && node.left.type === "MemberExpression" && !node.left.computed)
		learnMember(node.left.property.name, node.right);
	else if (node.type === "AssignmentExpression")
		learnAssignment(node.left, node.right);
	else if (node.type === "CallExpression" && FETCHERS.includes(resolve(node.callee)?.slice(0, 200).replace(/(\(\)\.then)+$/, "")))
		learnCallbacks(node);
}

function comesFrom(node, table, known) {
	return listNodes(node).some((part) => {
		if (part.type === "Identifier")
			return known.has(part.name);
		if (part.type !== "CallExpression" && part.type !== "NewExpression")
			return false;
		const name = resolve(part.callee);
		if (name === "Buffer.from" || name === "Buffer")
			return table === DECODERS && ["base64", "hex"].includes(textOf(part.arguments[1]));
		return table.includes(name);
	});
}

// ---- what is of note ----

let source = "";
let startsShell = false;
let connects = false;
const listed = new Set(); // directories whose files are

function describe(node) {
	return source.slice(node.start, Math.min(node.end, node.start + 200));
}

function isDataUrl(text) {
	return /^data:/i.test(text ?? "");
}

function lookAtModule(node, name) {
	const line = node.loc.start.line;
	if (isDataUrl(name)) {
		add(line, /;base64,/i.test(name) ? "obfuscated" : "dynamic", describe(node));
		return;
	}
	const module = moduleName(name);
	addLocalImport(line, name);
	add(line, builtinModules.includes(module) ? "standard" : "import", module);
	for (const [kind, modules] of Object.entries(MODULES))
		if (modules.has(module))
			add(line, kind, "import " + module);
	if (/\.node$/.test(module))
		add(line, "native", "import " + module);
}

/* What makes code of texts is given to another function: fetch(u).then((r) => r.text()).then(eval). */
function lookAtGiven(node) {
	const line = node.loc.start.line;
	const names = node.arguments.map((item) => resolve(item));
	if (!names.some((name) => RUNNERS.includes(name) && !/^set(Timeout|Interval)$/.test(name)))
		return;
	add(line, "dynamic", describe(node));
	if (comesFrom(node.callee, FETCHERS, fetched))
		add(line, "download-run", describe(node));
	else if (comesFrom(node.callee, DECODERS, decoded))
		add(line, "obfuscated", describe(node));
}

function lookAtCall(called) {
	lookAtGiven(called);
	if (isOfGlobal(called, resolve) && textOf(called.callee.property) === null)
		add(called.loc.start.line, "dynamic", describe(called));
	const node = unwrap(called, resolve);
	const line = node.loc.start.line;
	const name = resolve(node.callee);
	const first = node.arguments[0];
	if (!name)
		return;
	if (REQUIRERS.test(name) && first) {
		const text = textOf(first);
		if (text === null)
			add(line, "dynamic", describe(node));
		else
			lookAtModule(node, text);
		if (text !== null && first.type !== "Literal" && first.type !== "TemplateLiteral" && first.type !== "Identifier")
			add(line, "obfuscated", `require of a name that is put together: ${text}`);
	}
	for (const [kind, calls] of Object.entries(CALLS))
		if (calls.includes(name))
			add(line, kind, describe(node));
	if (first && isFunctionMaker(node, name))
		add(line, "dynamic", describe(node));
	lookAtRunner(node, name, first);
	lookAtStarter(node, name, first);
	lookAtFiles(node, name, first);
}

/* Whether a call makes a function of a text: (function () {}).constructor("..."), [].filter["constructor"]("..."). */
function isFunctionMaker(node, name) {
	if (!/(^|\.)constructor$/.test(name))
		return false;
	/* "new" with a text: others make an object that way, new this.constructor("x") */
	if (node.type === "NewExpression")
		return /Function/.test(node.callee.object?.type ?? "") || /^(Object|Reflect)\.getPrototypeOf\(\)\./.test(name);
	const first = node.arguments[0];
	return /constructor\.constructor$/.test(name) || textOf(first) !== null || comesFrom(first, DECODERS, decoded);
}

/* The expressions that an expression joins to one text. null: it does not. */
function partsOf(node) {
	if (node.type === "BinaryExpression" && node.operator === "+")
		return [node.left, node.right];
	if (node.type === "TemplateLiteral")
		return [...node.quasis, ...node.expressions].sort((a, b) => a.start - b.start);
	if (node.type === "CallExpression" && node.callee.type === "MemberExpression" && node.arguments.length === 1 &&
			node.callee.property.name === "join" && node.callee.object.type === "ArrayExpression" &&
			node.callee.object.elements.every((item) => item && item.type !== "SpreadElement"))
		return node.callee.object.elements.flatMap((item) => [node.arguments[0], item]).slice(1);
	return null;
}

/* A value: "$NAME" for what the variable has already, "\\$NAME" for that text, and what is not known within braces. */
function describeValue(node, variable, depth = 0) {
	const name = resolve(node);
	if (name === `process.env.${variable}`)
		return "$" + variable;
	if (name === "path.delimiter")
		return ":";
	const parts = depth < 40 ? partsOf(node) : null;
	const isTemplate = node.type === "TemplateLiteral";
	const text = node.type === "TemplateElement" ? node.value.cooked ?? "" : isTemplate ? null : textOf(node);
	if (text === null && parts)
		return parts.map((part) => describeValue(part, variable, depth + 1)).join("");
	const escaped = variable.replace(/[^\w]/g, "\\$&");
	return (text ?? `{${describe(node)}}`).replace(new RegExp(`\\$(?=\\{?${escaped}\\b)`, "g"), "\\$");
}

/* process.env.NAME = VALUE, or of a copy. */
function lookAtEnvironment(node) {
	const target = node.left;
	const object = target.type === "MemberExpression" ? resolve(target.object) : null;
	const isOwn = target.type === "MemberExpression" && /env$/i.test(target.object.name ?? target.object.property?.name);
	if (!isOwn && !/(^|\.)env$/i.test(object ?? ""))
		return;
	const name = target.computed ? textOf(target.property) : target.property.name;
	if (name)
		addAssignment(node.loc.start.line, name, node.right, node.operator !== "=");
}

/* The variables that an object sets. */
function addVariables(object) {
	for (const inner of listNodes(object)) {
		const key = inner.type !== "Property" ? null : inner.computed ? textOf(inner.key) : inner.key.name ?? inner.key.value;
		if (key)
			addAssignment(inner.loc.start.line, String(key), inner.value);
	}
}

/* "env: {NAME: VALUE}" of a program that is started, or an environment that is made for one. */
function lookAtVariables(node) {
	const isProperty = node.type === "Property" && !node.computed && (node.key.name ?? node.key.value) === "env";
	const isVariable = node.type === "VariableDeclarator" && node.init && /env$/i.test(node.id.name ?? "");
	if (node.type === "AssignmentExpression")
		lookAtEnvironment(node);
	if (node.type === "CallExpression" && resolve(node.callee) === "Object.assign" &&
			resolve(node.arguments[0]) === "process.env")
		for (const item of node.arguments.slice(1))
			addVariables(item);
	if (!isProperty && !isVariable)
		return;
	addVariables(isProperty ? node.value : node.init);
}

function lookAtRunner(node, name, first) {
	const line = node.loc.start.line;
	const isTimer = /^set(Timeout|Interval)$/.test(name);
	if (!RUNNERS.includes(name) && !(first && isFunctionMaker(node, name)))
		return;
	if (isTimer && textOf(first) !== null)
		add(line, "dynamic", describe(node));
	if (isTimer && first && /Function/.test(first.type))
		return;
	for (const value of node.arguments.slice(0, isTimer ? 1 : 5)) {
		if (comesFrom(value, FETCHERS, fetched))
			add(line, "download-run", describe(node));
		else if (comesFrom(value, DECODERS, decoded))
			add(line, "obfuscated", textOf(value) ?? describe(node));
	}
}

function lookAtStarter(node, name, first) {
	const line = node.loc.start.line;
	const method = name.slice(name.lastIndexOf(".") + 1);
	if (!STARTERS.includes(method) || !/child_process|shelljs|execa/.test(name))
		return;
	add(line, "process", describe(node));
	const words = [textOf(first)];
	if (node.arguments[1] && node.arguments[1].type === "ArrayExpression")
		words.push(...node.arguments[1].elements.map((item) => textOf(item)));
	const text = words.map((word) => word ?? "{}").join(" ");
	startsShell ||= /^(\/bin\/|\/usr\/bin\/)?(ba|z|da)?sh$|^(cmd|powershell)(\.exe)?$/.test(words[0] ?? "");
	lookAtText(line, text, "shell");
	if (first && comesFrom(first, DECODERS, decoded))
		add(line, "obfuscated", words[0] ?? describe(node));
	if (first && comesFrom(first, FETCHERS, fetched))
		add(line, "download-run", describe(node));
}

/* Whether a directory of which a call copies or reads all is one of credentials. */
function lookAtDirectories(node, name) {
	if (!/^fs(\.promises|\/promises|-extra)?\.(cp|copy|readdir|opendir)(Sync)?$/.test(name))
		return;
	const directory = pathOf(node.arguments[0]);
	if (directory !== null && /(readdir|opendir)(Sync)?$/.test(name))
		listed.add(directory.replace(/(.)\/+$/, "$1"));
	for (const [kind, list] of Object.entries(patterns.directories))
		if (directory !== null && list.some((pattern) => new RegExp(pattern).test(directory)))
			add(node.loc.start.line, kind, "all of " + directory);
}

/* The name of a file that is put together. null: not known. */
function pathOf(node, depth = 0) {
	const name = node && depth < 20 ? resolve(node) : null;
	if (!node || depth >= 20)
		return null;
	if (name === "process.env.HOME" || name === "os.homedir()")
		return "~";
	if (node.type === "Identifier")
		return paths.get(node.name) ?? textOf(node);
	if (node.type === "CallExpression" && /^path\.(posix\.)?(join|resolve)\(\)$/.test(name ?? ""))
		return node.arguments.map((item) => pathOf(item, depth + 1) ?? "{}").join("/");
	const parts = node.type === "BinaryExpression" || node.type === "TemplateLiteral" ? partsOf(node) : null;
	if (parts)
		return parts.map((part) => part.type === "TemplateElement" ? part.value.cooked ?? "" :
			pathOf(part, depth + 1) ?? "{}").join("");
	return textOf(node);
}

function lookAtFiles(node, name, first) {
	const line = node.loc.start.line;
	lookAtDirectories(node, name);
	connects ||= /^(net|tls)\.(connect|createConnection|createServer|Socket)$|^net\.Socket\(\)\.connect$/.test(name);
	if (/^fs(\.promises|\/promises)?\.(rm|rmdir|rmSync|rmdirSync)$/.test(name) &&
			(ROOTS.test(pathOf(first) ?? "") || isBelowRoot(first)))
		add(line, "destructive", describe(node));
	if (startsShell && connects && /\.pipe$/.test(name) && first && first.type === "MemberExpression" &&
			first.property.name === "stdin")
		add(line, "reverse-shell", describe(node));
}

/* Whether it is the name of each file of a root that is listed: for (f of fs.readdirSync("/")) fs.rmSync("/" + f). */
function isBelowRoot(node) {
	const file = /^(.*?)\/*\{\}$/.exec(pathOf(node) ?? "");
	return file !== null && ROOTS.test(file[1] || "/") && listed.has(file[1] || "/");
}

function lookAt(node) {
	const line = node.loc.start.line;
	lookAtVariables(node);
	if ((node.type === "TemplateLiteral" && node.end - node.start < 1000) ||
			(node.type === "CallExpression" && /^path\.(posix\.)?(join|resolve)\(\)$/.test(resolve(node) ?? "")))
		lookAtText(line, pathOf(node) ?? "", "strings");
	if (node.type === "ImportDeclaration" || (/^Export(Named|All)Declaration$/.test(node.type) && node.source))
		lookAtModule(node, String(node.source.value));
	else if (node.type === "NewExpression" && resolve(node.callee) === "Worker" && isDataUrl(textOf(node.arguments[0])))
		lookAtModule(node, textOf(node.arguments[0]));
	else if (node.type === "ImportExpression" && textOf(node.source) !== null)
		lookAtModule(node, textOf(node.source));
	else if (node.type === "ImportExpression")
		add(line, "dynamic", describe(node));
	else if (node.type === "CallExpression" || node.type === "NewExpression")
		lookAtCall(node);
	else if (node.type === "Literal" && typeof node.value === "string" && node.value.length < 1000 &&
			!node.value.includes("\n"))
		lookAtText(line, node.value, "strings");
}

/* eval as a value, [eval][0]("x"): where it is called, that is told. */
function lookAtEval(nodes) {
	const others = new Set(nodes.flatMap((node) => [
		node.callee, node.computed ? null : node.property, node.computed || node.shorthand ? null : node.key]));
	for (const node of nodes)
		if (node.type === "Identifier" && node.name === "eval" && !others.has(node))
			add(node.loc.start.line, "dynamic", "uses eval");
}

function lookAtNames(nodes) {
	const made = new Set(nodes.filter((node) => node.type === "Identifier" && /^_0x[0-9a-f]{3,}$/.test(node.name))
		.map((node) => node.name));
	if (made.size >= 5)
		add(1, "obfuscated", `${made.size} names such as ${[...made][0]}`);
}

function main() {
	const acorn = loadAcorn();
	if (!acorn)
		process.exit(NO_PARSER_STATUS);
	source = fs.readFileSync(0, "utf8").replace(/^\ufeff/, "");
	const tree = parse(acorn, source);
	if (tree) {
		const nodes = listNodes(tree).sort((a, b) => a.start - b.start);
		const each = (look) => nodes.forEach((node) => attempt(node.loc.start.line, () => look(node)));
		for (let round = 0; round < 3; round++)
			each(learn);
		each(lookAt);
		each((node) => node.type === "CallExpression" &&
			lookAtFiles(node, resolve(node.callee) ?? "", node.arguments[0]));
		attempt(1, () => findWritten(tree, listNodes(tree), resolve, (node) =>
			add(node.loc.start.line, "credentials", "the whole environment: " + describe(node))));
		attempt(1, () => lookAtNames(nodes));
		attempt(1, () => lookAtEval(nodes));
		if (isLimited)
			add(1, "unparsable", "could not be parsed: too many expressions in each other");
	}
	end();
}

main();
