/*
 * The JavaScript interpreter of a context: runs the requests that come on descriptor 0, and tells what they did. It
 * runs in a sandbox, started by agents/context, which describes the protocol.
 *
 * Code is evaluated by V8's own REPL mode, through the inspector of this process: let, const and class stay and can be
 * declared anew, await works at the top level, and a cell has a value.
 */
const fs = require("fs");
const inspector = require("inspector");
const net = require("net");
const path = require("path");
const url = require("url");
const util = require("util");
const vm = require("vm");
const { createRequire } = require("module");
const childProcess = require("child_process");
const { Readable } = require("stream");

const FRAME_BYTES_MAX = 4096; // PIPE_BUF: a shorter write is never mixed with another one's bytes
const EVENT_BYTES_MAX = 15 << 20; // the server drops longer events
const RUNNER_FRAME = /\(node:inspector:|\(eval at <anonymous> \(\[eval\]/;
const SINK = Symbol.for("callgate.sink");
const DISPLAY = Symbol.for("Jupyter.display"); // Deno's convention
const FIELDS = {
	"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg",
	"image/png": "png", "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex",
	"application/json": "json", "application/javascript": "javascript",
};

let nonce = "";
let count = 0;
let isRunning = false;
let onInterrupt = null; // rejects what the running cell awaits
const sleeper = new Int32Array(new SharedArrayBuffer(4));

// ---- events ----

function writeAll(fd, buffer) {
	for (let offset = 0; offset < buffer.length;) {
		try {
			offset += fs.writeSync(fd, buffer, offset);
		} catch (error) {
			if (error.code !== "EAGAIN") throw error;
			Atomics.wait(sleeper, 0, 0, 1); // the pipe is non-blocking, and full
		}
	}
}

/* Lone surrogates, which no UTF-8 text can have, become U+FFFD. */
function makeWellFormed(_key, value) {
	return typeof value === "string" && value.toWellFormed ? value.toWellFormed() : value;
}

function emit(event, fd = 1) {
	const line = Buffer.from(JSON.stringify(event, makeWellFormed) + "\n");
	const room = FRAME_BYTES_MAX - nonce.length - 8;

	if (line.length > EVENT_BYTES_MAX) {
		process.stderr.write(`[a result of ${line.length} bytes is too long to be shown]\n`);
		return;
	}
	for (let i = 0; i < line.length; i += room) {
		const part = line.subarray(i, i + room);
		writeAll(fd, Buffer.concat([Buffer.from(`\x1e${nonce}${part.length}:`), part]));
	}
}

/* On both pipes: what was written to either before has then been read. */
function emitOnBoth(event) {
	emit(event, 1);
	emit(event, 2);
}

function tellError(error) {
	const isError = error instanceof Error || util.types.isNativeError(error);
	let name = "Error", value = "", traceback = "";

	try {
		name = isError ? String(error.name) : typeof error;
		value = isError ? String(error.message) : typeof error === "string" ? error : util.inspect(error);
		const lines = String(isError ? error.stack : value).split("\n");
		const end = lines.findIndex((line) => RUNNER_FRAME.test(line));
		traceback = (end < 0 ? lines : lines.slice(0, end)).join("\n");
	} catch { /* a getter of the user's */ }
	emit({ type: "error", name, value, traceback });
}

// ---- values ----

function addBundle(event, bundle) {
	for (const [mime, item] of Object.entries(bundle)) {
		const value = item instanceof Uint8Array ? Buffer.from(item).toString("base64") : item;

		if (FIELDS[mime]) event[FIELDS[mime]] = value;
		else (event.extra ??= {})[mime] = value;
	}
}

async function show(value, isMain) {
	const event = { type: "result", is_main_result: isMain };
	const method = value !== null && typeof value === "object" ? value[DISPLAY] : undefined;

	if (typeof method === "function") {
		addBundle(event, await method.call(value));
	} else {
		event.text = util.inspect(value, { maxArrayLength: 1000, maxStringLength: 1 << 20 });
		if (value !== null && typeof value === "object" &&
			(Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype)) {
			try {
				event.json = JSON.parse(JSON.stringify(value));
			} catch { /* a circle, or what JSON does not have */ }
		}
	}
	emit(event);
}

globalThis.display = async (value, options) => {
	if (options?.raw) {
		const event = { type: "result", is_main_result: false };

		addBundle(event, value);
		emit(event);
	} else {
		await show(value, false);
	}
};

// ---- imports ----

async function importModule(name) {
	const base = path.join(process.cwd(), "cell.js");

	if (/^\.{0,2}\//.test(name)) return dynamicImport(url.pathToFileURL(path.resolve(name)).href);
	try {
		const found = createRequire(base).resolve(name);
		return dynamicImport(path.isAbsolute(found) ? url.pathToFileURL(found).href : found);
	} catch {
		return dynamicImport(name);
	}
}

/* `a, {b as c}` or `* as d` of an import statement, as declarations. */
function translateClause(clause, name) {
	const module = `await __callgate_import(${name})`;
	const all = clause.match(/^(?:([\w$]+)\s*,\s*)?\*\s*as\s+([\w$]+)$/);

	if (all) return `const ${all[2]} = ${module};` + (all[1] ? ` const ${all[1]} = ${all[2]}.default;` : "");
	const named = clause.match(/^(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\})?$/);
	if (!named) return null;
	const parts = (named[2] ?? "").split(",").map((part) => part.trim()).filter(Boolean)
		.map((part) => part.replace(/\s+as\s+/, ": "));
	if (named[1]) parts.unshift(`default: ${named[1]}`);
	return `const { ${parts.join(", ")} } = ${module};`;
}

/* V8's REPL mode knows no import: statements become declarations, import() a call of ours. */
function translateImports(code) {
	if (!code.includes("import")) return code;
	return code
		.replace(/(?<=(?:^|;)[ \t]*)import\s+([\w$*{][^'"();]*?)\s+from\s*(['"][^'"\n]+['"])[ \t]*;?/gm,
			(statement, clause, name) => translateClause(clause.trim(), name) ?? statement)
		.replace(/(?<=(?:^|;)[ \t]*)import\s*(['"][^'"\n]+['"])[ \t]*;?/gm, "await __callgate_import($1);")
		.replace(/(?<![.\w$])import\s*\(/g, "__callgate_import(");
}

// ---- cells ----

const session = new inspector.Session();

function post(method, parameters) {
	return new Promise((resolve, reject) => {
		session.post(method, parameters, (error, result) => error ? reject(error) : resolve(result));
	});
}

/* The value that the inspector describes. */
async function getValue(remote) {
	if (!remote.objectId) {
		if (remote.type === "bigint") return BigInt(remote.unserializableValue.slice(0, -1));
		return remote.unserializableValue !== undefined ? Number(remote.unserializableValue) : remote.value;
	}
	let value;
	globalThis[SINK] = (item) => { value = item; };
	await post("Runtime.callFunctionOn", {
		objectId: remote.objectId, arguments: [{ objectId: remote.objectId }],
		functionDeclaration: "function (item) { globalThis[Symbol.for('callgate.sink')](item) }",
	});
	delete globalThis[SINK];
	return value;
}

class KeyboardInterrupt extends Error {
	name = "KeyboardInterrupt";
}

/* SIGINT ends synchronous code: the evaluation is called from a script that it breaks. */
async function evaluateCell(code) {
	let evaluated;
	const interrupted = new Promise((_, reject) => {
		onInterrupt = () => reject(new KeyboardInterrupt("interrupted"));
	});

	interrupted.catch(() => {});
	globalThis[SINK] = () => {
		evaluated = post("Runtime.evaluate", { expression: code, replMode: true, objectGroup: "cell" });
	};
	try {
		vm.runInThisContext("globalThis[Symbol.for('callgate.sink')]()", { breakOnSigint: true });
	} catch (error) {
		throw error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED" ? new KeyboardInterrupt("interrupted") : error;
	}
	const result = await Promise.race([evaluated, interrupted]);
	if (result.exceptionDetails) {
		const thrown = result.exceptionDetails.exception;
		throw thrown ? await getValue(thrown) : new Error(result.exceptionDetails.text);
	}
	return getValue(result.result);
}

async function runCell(code) {
	try {
		const value = await evaluateCell(`${translateImports(code)}\n//# sourceURL=cell-${count}`);

		if (value !== undefined) await show(value, true);
	} catch (error) {
		tellError(error);
	}
	onInterrupt = null;
	session.post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
}

/* What came of TypeScript is JavaScript, where this node can do that. */
function stripTypes(code) {
	const strip = require("module").stripTypeScriptTypes;

	if (!strip) throw new Error(`node ${process.version} cannot run TypeScript: it needs 22.13 or later`);
	return strip(code);
}

async function serveRun(number, mode, code, ...variables) {
	const before = {};

	count++;
	isRunning = true;
	emit({ type: "number_of_executions", execution_count: count });
	for (const variable of variables) {
		const name = variable.slice(0, variable.indexOf("="));

		before[name] = process.env[name];
		process.env[name] = variable.slice(name.length + 1);
	}
	try {
		await runCell(mode === "typescript" ? stripTypes(code) : code);
	} catch (error) {
		tellError(error);
	}
	for (const [name, value] of Object.entries(before)) {
		if (value === undefined) delete process.env[name];
		else process.env[name] = value;
	}
	isRunning = false;
	emitOnBoth({ type: "end", run: Number(number) });
}

// ---- requests: the number of fields, then the fields, each with a zero byte at its end ----

let buffered = Buffer.alloc(0);
let isServing = false;

function takeRequest() {
	const fields = [];
	let at = 0, wanted = 1;

	while (fields.length < wanted) {
		const end = buffered.indexOf(0, at);

		if (end < 0) return null;
		fields.push(buffered.toString("utf8", at, end));
		at = end + 1;
		if (fields.length === 1) wanted += Number(fields[0]);
	}
	buffered = buffered.subarray(at);
	return fields.slice(1);
}

async function serve() {
	let request;

	if (isServing) return;
	isServing = true;
	while ((request = takeRequest())) {
		if (request[0] === "nonce") {
			nonce = request[1];
			defineGlobals();
		}
		if (request[0] === "warm") emitOnBoth({ type: "ready" });
		if (request[0] === "run") await serveRun(...request.slice(1));
	}
	isServing = false;
}

/* Requests come on descriptor 0, which a child must not get. */
function keepRequestsFromChildren() {
	const withoutStdin = (stdio) => {
		const list = typeof stdio === "string" ? [stdio, stdio, stdio] : Array.isArray(stdio) ? [...stdio] : stdio;

		if (Array.isArray(list) && (list[0] === "inherit" || list[0] === 0 || list[0] === process.stdin))
			list[0] = "ignore";
		return list;
	};
	const start = childProcess.ChildProcess.prototype.spawn;
	const spawnSync = childProcess.spawnSync;

	childProcess.ChildProcess.prototype.spawn = function spawn(options) {
		return start.call(this, { ...options, stdio: withoutStdin(options.stdio) });
	};
	for (const name of ["spawnSync", "execSync", "execFileSync"]) {
		const original = name === "spawnSync" ? spawnSync : childProcess[name];

		childProcess[name] = (...parameters) => {
			const last = parameters.at(-1);

			if (last && typeof last === "object" && !Array.isArray(last) && last.stdio)
				parameters[parameters.length - 1] = { ...last, stdio: withoutStdin(last.stdio) };
			return original(...parameters);
		};
	}
	Object.defineProperty(process, "stdin", { configurable: true, value: Readable.from([]) });
}

/* Called after the program of the command line has ended, when node sets some of them back. */
function defineGlobals() {
	const require = createRequire(path.join(process.cwd(), "cell.js"));
	const module = { exports: {} };

	for (const [name, value] of Object.entries({ require, module, exports: module.exports, __dirname: process.cwd() }))
		Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
	Object.defineProperty(globalThis, "__callgate_import", { value: importModule });
	process.argv.length = 1;
}

session.connect();
keepRequestsFromChildren();
process.on("SIGINT", () => onInterrupt?.());
for (const name of ["uncaughtException", "unhandledRejection"]) {
	process.on(name, (error) => isRunning ? tellError(error) : process.stderr.write(`${util.inspect(error)}\n`));
}
new net.Socket({ fd: 0, readable: true, writable: false })
	.on("data", (data) => {
		buffered = Buffer.concat([buffered, data]);
		serve();
	})
	.on("end", () => process.exit(0));
