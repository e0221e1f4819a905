/*
 * Part of the JavaScript parser of callgate inspect: where a program writes or sends all environment variables. It
 * follows them by the variables that hold them, each in its scope. What is given to a program as its environment is of
 * no note.
 */
"use strict";

const ROUNDS = 3;
const PASSES = new Set(["Object.assign", "Object.entries", "Object.values", "Object.fromEntries", "Object.freeze",
	"JSON.stringify", "JSON.parse", "structuredClone", "util.inspect", "util.format", "String", "Buffer.from", "btoa",
	"encodeURIComponent", "querystring.stringify", "URLSearchParams", "Array.from", "zlib.gzipSync", "zlib.deflateSync"]);
const PASSING_METHODS = new Set(["map", "join", "toString", "slice", "concat", "flat", "sort", "reverse", "replace"]);
const WRITING = new Set(["write", "end", "send", "post", "sendBeacon", "writeFile", "writeFileSync", "appendFile",
	"appendFileSync", "outputFile", "outputFileSync", "writeJson", "writeJsonSync"]);
const SENDS = /^(fetch|axios|got|request|superagent|undici|navigator\.sendBeacon|https?|node-fetch)(\.|\(|$)/;
const CONSOLE = /^(console|process\.(stdout|stderr))\b/;
const SCOPES = /Function|^(Program|BlockStatement|For(In|Of)?Statement|CatchClause)$/;

/* Each node's scope: what is declared in it, and which of that has all variables. "var" is taken for "let". */
function findScopes(tree) {
	const scopeOf = new Map();
	const left = [[tree, { parent: null, declared: new Set(), held: new Set() }]];
	while (left.length) {
		const [node, outer] = left.pop();
		const scope = SCOPES.test(node.type) ? { parent: outer, declared: new Set(), held: new Set() } : outer;
		scopeOf.set(node, scope);
		const names = node.type === "VariableDeclarator" ? [node.id] : /Function/.test(node.type) ? node.params :
			node.type === "CatchClause" && node.param ? [node.param] : [];
		names.flatMap(namesOf).forEach((name) => scope.declared.add(name));
		if (/Function/.test(node.type) && node.id)
			outer.declared.add(node.id.name);
		for (const [key, value] of Object.entries(node))
			for (const item of Array.isArray(value) ? value : [value])
				if (item && typeof item.type === "string" && key !== "loc")
					left.push([item, scope]);
	}
	return scopeOf;
}

/* The names that a pattern of any form binds. */
function namesOf(pattern) {
	const found = [];
	const left = [pattern];
	while (left.length) {
		const node = left.pop();
		if (!node)
			continue;
		if (node.type === "Identifier")
			found.push(node.name);
		left.push(...(node.elements ?? []), ...(node.properties ?? []).map((item) => item.value ?? item.argument),
			node.type === "AssignmentPattern" ? node.left : null, node.type === "RestElement" ? node.argument : null);
	}
	return found;
}

/* Calls report with each call that writes or sends all. nodes: of the tree, outer ones first. */
function findWritten(tree, nodes, resolve, report) {
	const scopeOf = findScopes(tree);
	const flags = new Map();

	function scopeFor(name, scope) {
		while (scope && !scope.declared.has(name))
			scope = scope.parent;
		return scope;
	}

	function hold(target, scope) {
		for (const name of target.type === "MemberExpression" ? namesOf(target.object) : namesOf(target))
			scopeFor(name, scope)?.held.add(name);
	}

	const has = (node) => Boolean(node) && flags.get(node) === true;

	function isHeldCall(node) {
		const name = resolve(node.callee) ?? "";
		const method = node.callee.type === "MemberExpression" ? node.callee.property.name : null;
		return (PASSES.has(name) && node.arguments.some(has)) || (PASSING_METHODS.has(method) && has(node.callee.object)) ||
			(node.callee.type === "Identifier" && has(node.callee));
	}

	function isHeld(node) {
		switch (node.type) {
		case "Identifier":
			return scopeFor(node.name, scopeOf.get(node))?.held.has(node.name) ?? false;
		case "MemberExpression":
			return resolve(node) === "process.env" && node.object.type !== "ThisExpression";
		case "CallExpression": case "NewExpression":
			return isHeldCall(node);
		case "ObjectExpression":
			return node.properties.some((item) => has(item.value ?? item.argument));
		case "ArrayExpression":
			return node.elements.some(has);
		case "TemplateLiteral": case "SequenceExpression":
			return node.expressions.some(has);
		case "BinaryExpression":
			return node.operator === "+" && (has(node.left) || has(node.right));
		case "LogicalExpression":
			return has(node.left) || has(node.right);
		case "ConditionalExpression":
			return has(node.consequent) || has(node.alternate);
		case "SpreadElement": case "AwaitExpression":
			return has(node.argument);
		case "ChainExpression": case "ParenthesizedExpression":
			return has(node.expression);
		default:
			return false;
		}
	}

	function learn(node) {
		const scope = scopeOf.get(node);
		if (node.type === "VariableDeclarator" && node.init && /^(Identifier|ArrayPattern)$/.test(node.id.type)) {
			if (has(node.init))
				hold(node.id, scope);
		} else if (node.type === "VariableDeclarator" && node.init && resolve(node.init) === "process") {
			for (const item of node.id.properties ?? [])
				if (item.key?.name === "env")
					hold(item.value, scope);
		} else if (node.type === "AssignmentExpression" && has(node.right)) {
			if (!/^process\.env/.test(resolve(node.left) ?? ""))
				hold(node.left, scope);
		} else if (node.type === "ImportDeclaration" && /^(node:)?process$/.test(node.source.value)) {
			for (const item of node.specifiers)
				if (item.imported?.name === "env") {
					scope.declared.add(item.local.name);
					scope.held.add(item.local.name);
				}
		}
	}

	function writes(node) {
		const name = resolve(node.callee) ?? "";
		const method = node.callee.type === "MemberExpression" ? node.callee.property.name : null;
		if (CONSOLE.test(name))
			return false;
		return node.arguments.some(has) && (name === "JSON.stringify" || SENDS.test(name) || WRITING.has(method ?? name));
	}

	for (let round = 0; round < ROUNDS; round++)
		for (const node of nodes.slice().reverse()) { // the parts of an expression before it
			flags.set(node, isHeld(node));
			learn(node);
		}
	for (const node of nodes)
		if ((node.type === "CallExpression" || node.type === "NewExpression") && writes(node))
			report(node);
}

module.exports = { findWritten };
