/*
 * Looks at a JavaScript program, which it reads from standard input, by acorn: the system's, or the one in node. Started
 * by callgate inspect in a sandbox, as the program may be hostile. Nothing of it is run.
 */
"use strict";

const fs = require("fs");
const { builtinModules } = require("module");
const { isOfGlobal, unwrap } = require("./javascript_calls.js");
const { findWritten } = require("./javascript_environment.js");
const findings = require("./javascript_findings.js");
const { DECODERS, FETCHERS, REQUIRERS, comesFrom, decoded, fetched, learn, listNodes, moduleName, partsOf, pathOf, resolve,
	textOf, wasLimited } = require("./javascript_names.js");

const { add, attempt, lookAtText, patterns } = findings;

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
const RUNNERS = ["eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "vm.Script", "module._compile",
	"setTimeout", "setInterval", "execScript"];
const ROOTS = /^(\/|\/home|\/etc|\/usr|\/root|~)$/;
const STARTERS = ["exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "fork"];

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
			findings.lookAtLines(text);
			return null;
		}
	}
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
	findings.addLocalImport(line, name);
	add(line, builtinModules.includes(module) ? "standard" : "import", module);
	for (const [kind, modules] of Object.entries(MODULES))
		if (modules.has(module))
			add(line, kind, "import " + module);
	if (/\.node$/.test(module))
		add(line, "native", "import " + module);
}

/* The name of a module. null: it, or a part of it, is not known. */
function nameOfModule(node) {
	const text = textOf(node);
	return text?.includes("{}") ? null : text;
}

/* Of a module whose name is put together: require(__dirname + "/x") and require(path.join(__dirname, "x")) are files. */
function lookAtMadeModule(node, name) {
	const file = pathOf(name) ?? "";
	add(node.loc.start.line, "dynamic", describe(node));
	if (file.startsWith("./") && !file.includes("{}"))
		findings.addLocalImport(node.loc.start.line, file);
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
		const text = nameOfModule(first);
		if (text === null)
			lookAtMadeModule(node, first);
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

/*
 * An environment variable that is set. cli/inspect/findings.c knows which ones are of note; none is left out here.
 * isAdded: "+=".
 */
function addAssignment(line, name, value, isAdded = false) {
	const sign = isAdded ? "+=" : "=";
	lookAtText(line, `${name}${sign}${textOf(value) ?? `{${describe(value)}}`}`, "shell");
	findings.tellAssignment(line, `${name}${sign}${describeValue(value, name)}`);
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
	else if (node.type === "ImportExpression" && nameOfModule(node.source) !== null)
		lookAtModule(node, nameOfModule(node.source));
	else if (node.type === "ImportExpression")
		lookAtMadeModule(node, node.source);
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
		if (wasLimited())
			add(1, "unparsable", "could not be parsed: too many expressions in each other");
	}
	findings.end();
}

main();
