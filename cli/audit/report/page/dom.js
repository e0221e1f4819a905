/* ---- making elements: data become text nodes, never markup ---- */

/* Characters that show nothing, or move or reorder others, and blanks that look like a plain one. */
const INVISIBLE = new RegExp('[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\u00a0\\u1680\\u2000-\\u200a\\u202f' +
	'\\u205f\\u3000\\u115f\\u1160\\u3164\\uffa0\\u034f\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\ufe00-\\ufe0f' +
	'\\u{e0100}-\\u{e01ef}]', 'gu');
const SHOWN_MAX = 4096; /* characters of a text, beyond which it is cut in lists */

function byId(id) {
	return document.getElementById(id);
}

/* el('a.quiet', {href: '#x'}, 'text', child): an element. Attributes are ours; children are nodes or texts. */
function el(what, attributes, ...children) {
	const [tag, ...classes] = what.split('.');
	const element = document.createElement(tag);
	if (classes.length)
		element.className = classes.join(' ');
	for (const [name, value] of Object.entries(attributes || {}))
		if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else if (value !== undefined && value !== null && value !== false)
			element.setAttribute(name, value === true ? '' : value);
	element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

function escapeCharacter(character) {
	return '\\u' + (character.length > 1 ? '{' + character.codePointAt(0).toString(16) + '}'
		: character.charCodeAt(0).toString(16).padStart(4, '0'));
}

/* A text of a record, with invisible characters as escapes. The log writes a backslash as two, so it is unambiguous. */
function data(text, most = SHOWN_MAX) {
	const whole = String(text);
	const cut = whole.length > most ? whole.slice(0, most) : whole;
	const span = el('span.t', null);
	let at = 0;
	for (const match of cut.matchAll(INVISIBLE)) {
		span.append(cut.slice(at, match.index), el('span.escape', null, escapeCharacter(match[0])));
		at = match.index + match[0].length;
	}
	span.append(cut.slice(at));
	if (cut !== whole)
		span.append(el('span.escape', null, '… and ' + (whole.length - most) + ' more characters'));
	return span;
}

/* The same as plain text, for labels. */
function plain(text, most = 200) {
	const whole = String(text);
	return (whole.length > most ? whole.slice(0, most) + '…' : whole).replace(INVISIBLE, escapeCharacter);
}

function fill(element, ...children) {
	element.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

function announce(text) {
	byId('status').textContent = text;
}

function table(caption, heads, rows) {
	return el('div.scroll', {tabindex: '0', role: 'region', 'aria-label': caption}, el('table', null,
		el('caption', null, caption),
		el('thead', null, el('tr', null, heads.map((head) => el(head.startsWith('#') ? 'th.n' : 'th', {scope: 'col'},
			head.replace('#', ''))))),
		el('tbody', null, rows)));
}

async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch (error) {
		const area = el('textarea', {'aria-label': 'Text to copy'});
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	announce('Copied: ' + plain(text));
}

/* A button that copies a text. The name says which, for those who hear the page. */
function copyButton(text) {
	const button = el('button', {type: 'button', 'aria-label': 'Copy ' + plain(text)}, 'Copy');
	button.addEventListener('click', async () => {
		await copyText(text);
		button.textContent = 'Copied';
		setTimeout(() => { button.textContent = 'Copy'; }, 1500);
	});
	return button;
}
