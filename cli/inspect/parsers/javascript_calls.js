/* Part of the JavaScript parser of callgate inspect: which function a call calls, and with what. */
"use strict";

const GLOBALS = ["globalThis", "global", "window", "self"]; // names of the object that has all functions

/* Whether a call is one of globalThis[KEY]; "self" is often a variable. */
function isOfGlobal(node, resolve) {
	return node.callee.type === "MemberExpression" && node.callee.computed &&
		GLOBALS.includes(resolve(node.callee.object)) && resolve(node.callee.object) !== "self";
}

function listElements(item) {
	return item && item.type === "ArrayExpression" ? item.elements.filter(Boolean) : item ? [item] : [];
}

/*
 * The call of F itself, of F.call(THIS, ...), F.bind(THIS, ...), F.apply(THIS, [...]), Reflect.apply(F, THIS, [...]) and
 * Reflect.construct(F, [...]). Of others: the same call.
 */
function unwrap(node, resolve) {
	const name = resolve(node.callee) ?? "";
	const of = (callee, values) => ({ ...node, callee, arguments: values });
	if (node.arguments.length && /^Reflect\.(apply|construct)$/.test(name))
		return of(node.arguments[0], listElements(node.arguments[name === "Reflect.apply" ? 2 : 1]));
	if (node.callee.type === "MemberExpression" && /\.(call|bind)$/.test(name))
		return of(node.callee.object, node.arguments.slice(1));
	if (node.callee.type === "MemberExpression" && /\.apply$/.test(name))
		return of(node.callee.object, listElements(node.arguments[1]));
	return node;
}

module.exports = { GLOBALS, isOfGlobal, unwrap };
