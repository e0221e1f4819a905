/* Part of the JavaScript parser of callgate inspect: what names and constant expressions of a program stand for. */
"use strict";

const { builtinModules } = require("module");
const { GLOBALS } = require("./javascript_calls.js");

const TEXT_CHARACTERS_MAX = 100000;
const ELEMENTS_MAX = 1000; // that are joined to a text
const WORK_MAX = 10000000; // steps that the expressions of a program take
const WORK_OF_EACH_MAX = 4000; // and that one takes
const DECODERS = ["atob", "unescape", "String.fromCharCode", "String.fromCodePoint", "decodeURIComponent", "Buffer.from",
	"Buffer", "zlib.inflateSync", "zlib.gunzipSync", "zlib.brotliDecompressSync"];
const FETCHERS = ["fetch", "http.get", "https.get", "http.request", "https.request", "axios.get", "axios", "got"];
// functions that return a module by its name; "module" is also the module of this name, as which createRequire() is found
const REQUIRERS = new RegExp("^(require|(require\\.main|process\\.mainModule|" +
	"module(\\.parent|\\.constructor|\\.Module|\\.default)?)\\.(require|_load)|" +
	"module(\\.default)?\\.createRequire\\(\\)|process\\.getBuiltinModule)$");
const BUILT_IN = [RegExp, Array, String, Map, Set, Promise, Function].map((type) => type.prototype);

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

/* The name of a file that is put together. null: not known. */
function pathOf(node, depth = 0) {
	const name = node && depth < 20 ? resolve(node) : null;
	if (!node || depth >= 20)
		return null;
	if (name === "process.env.HOME" || name === "os.homedir()")
		return "~";
	if (name === "__dirname")
		return ".";
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

/* Whether an expression was not looked at to its end. */
function wasLimited() {
	return isLimited;
}

module.exports = { DECODERS, FETCHERS, REQUIRERS, comesFrom, decoded, fetched, learn, listNodes, moduleName, partsOf,
	pathOf, resolve, textOf, wasLimited };
