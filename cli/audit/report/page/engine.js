/* The engine: holds the records as columns of numbers, and answers questions about them. It runs in a worker, so that
 * the page stays responsive, and touches no document. Texts of records are data: they are compared, never evaluated. */

const LEFT_OUT = '(left out: the page has no room for more texts)';
const DENIED_VERDICTS = ['deny', 'kill'];

const texts = ['', LEFT_OUT];
const blocks = [];
const column = {};
let about = null;
let count = 0;
let runStart = []; /* of each run: nanoseconds of its first record after the first record of all */
let denied = null; /* 1 for each record that was denied */
let network = null; /* 1 for each record of a network event */
let found = null; /* indices of the records that the filter selects */

const COLUMNS = ['run', 'seq', 'time', 'pid', 'tid', 'ppid', 'exe', 'call', 'verdict', 'effect', 'right', 'path',
	'resolved', 'path2', 'resolved2', 'host', 'port', 'rule', 'reason', 'errno', 'ret', 'ns', 'rest'];
const WIDE_COLUMNS = ['seq', 'time', 'ret', 'ns'];

function addRows(text) {
	const block = JSON.parse(text);
	blocks.push(block);
	count += block.rows;
}

function addTexts(text) {
	for (const one of JSON.parse(text))
		texts.push(one);
}

function textOf(id) {
	const text = texts[id];
	return typeof text === 'string' ? text : JSON.stringify(text);
}

/* The fields of a record that have no column. */
function restOf(index) {
	const rest = texts[column.rest[index]];
	return rest && typeof rest === 'object' ? rest : {};
}

/* From differences to values, in typed arrays. */
function joinBlocks() {
	for (const name of COLUMNS) {
		const values = WIDE_COLUMNS.includes(name) ? new Float64Array(count) : new Int32Array(count);
		let at = 0;
		for (const block of blocks) {
			if (block[name])
				values.set(block[name], at);
			at += block.rows;
		}
		column[name] = values;
	}
	blocks.length = 0;
	for (let i = 1; i < count; i++) {
		column.seq[i] += column.seq[i - 1];
		column.time[i] += column.time[i - 1];
	}
}

/* A set of the numbers of these texts, to compare records by numbers. */
function idsOf(wanted) {
	const ids = new Set();
	texts.forEach((text, id) => {
		if (id > 1 && wanted.includes(text))
			ids.add(id);
	});
	return ids;
}

function start(text) {
	about = JSON.parse(text);
	joinBlocks();
	runStart = about.runs.map(() => -1);
	const deniedIds = idsOf(DENIED_VERDICTS);
	const networkIds = new Set();
	texts.forEach((name, id) => {
		if (typeof name === 'string' && name.startsWith('net.'))
			networkIds.add(id);
	});
	denied = new Uint8Array(count);
	network = new Uint8Array(count);
	for (let i = 0; i < count; i++) {
		const run = column.run[i];
		if (runStart[run] < 0 || runStart[run] === undefined)
			runStart[run] = column.time[i];
		column.time[i] -= runStart[run];
		denied[i] = deniedIds.has(column.verdict[i]) ? 1 : 0;
		network[i] = networkIds.has(column.call[i]) ? 1 : 0;
	}
	return overview();
}

/* The distinct values of a text column, most frequent first. */
function valuesOf(name) {
	const counts = new Map();
	for (let i = 0; i < count; i++)
		if (column[name][i] > 1)
			counts.set(column[name][i], (counts.get(column[name][i]) || 0) + 1);
	return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500).map(([id, n]) => ({text: textOf(id), count: n}));
}

function overview() {
	const span = about.runs.map(() => 0);
	for (let i = 0; i < count; i++)
		span[column.run[i]] = Math.max(span[column.run[i]], column.time[i]);
	return {about, count, span, runStart, verdicts: valuesOf('verdict'), calls: valuesOf('call'),
		programs: valuesOf('exe'), reasons: valuesOf('reason'), hosts: valuesOf('host'), errors: valuesOf('errno'),
		denials: about.denials.map((one) => ({...one, call: textOf(one.call), target: textOf(one.target),
			resolved: textOf(one.resolved), reason: textOf(one.reason), rule: textOf(one.rule),
			errno: textOf(one.errno), exe: textOf(one.exe)}))};
}

/* ---- filter ---- */

const SEARCHED = ['path', 'resolved', 'path2', 'resolved2', 'host', 'rule', 'reason', 'exe', 'call', 'errno', 'rest'];

/* For each text whether it contains what is searched for. */
function matchTexts(wanted) {
	const lower = wanted.toLowerCase();
	return Uint8Array.from(texts, (text, id) => (id > 1 && textOf(id).toLowerCase().includes(lower) ? 1 : 0));
}

/* For each text whether it is a path below (or the path) `under`. */
function matchPaths(under) {
	const below = under.endsWith('/') ? under : under + '/';
	return Uint8Array.from(texts, (text, id) => (id > 1 && typeof text === 'string' &&
		(text === under || text.startsWith(below)) ? 1 : 0));
}

/* The tests that a filter asks for, each of an index. */
function testsOf(filter) {
	const tests = [];
	const byText = (name, value) => {
		const ids = idsOf([value]);
		tests.push((i) => ids.has(column[name][i]));
	};
	if (filter.run >= 0)
		tests.push((i) => column.run[i] === filter.run);
	if (filter.verdict === 'denied')
		tests.push((i) => denied[i] === 1);
	else if (filter.verdict === 'network')
		tests.push((i) => network[i] === 1);
	else if (filter.verdict)
		byText('verdict', filter.verdict);
	for (const name of ['call', 'exe', 'errno', 'reason', 'host', 'rule'])
		if (filter[name])
			byText(name, filter[name]);
	if (filter.pid > 0)
		tests.push((i) => column.pid[i] === filter.pid || column.tid[i] === filter.pid);
	if (filter.slower > 0)
		tests.push((i) => column.ns[i] > filter.slower);
	if (filter.to > filter.from)
		tests.push((i) => column.time[i] >= filter.from && column.time[i] <= filter.to);
	if (filter.under) {
		const matches = matchPaths(filter.under);
		const paths = ['path', 'resolved', 'path2', 'resolved2'].map((name) => column[name]);
		tests.push((i) => paths.some((ids) => ids[i] > 1 && matches[ids[i]]));
	}
	if (filter.text) {
		const matches = matchTexts(filter.text);
		const searched = SEARCHED.map((name) => column[name]);
		tests.push((i) => searched.some((ids) => ids[i] > 1 && matches[ids[i]]));
	}
	return tests;
}

function applyFilter(filter) {
	const tests = testsOf(filter);
	const indices = new Int32Array(count);
	let length = 0;
	for (let i = 0; i < count; i++) {
		let selected = true;
		for (let t = 0; t < tests.length && selected; t++)
			selected = tests[t](i);
		if (selected)
			indices[length++] = i;
	}
	found = indices.slice(0, length);
	return {count: length};
}

/* ---- records ---- */

/* The instant of a record as the log has it: RFC 3339 with nanoseconds. */
function instantOf(index) {
	const [whole, fraction] = String(about.start).replace('Z', '').split('.');
	const base = BigInt(Date.parse(whole + 'Z') || 0) * 1000000n + BigInt(((fraction || '') + '000000000').slice(0, 9));
	const ns = base + BigInt(runStart[column.run[index]]) + BigInt(column.time[index]);
	const second = new Date(Number(ns / 1000000000n) * 1000);
	return second.toISOString().slice(0, 19) + '.' + String(ns % 1000000000n).padStart(9, '0') + 'Z';
}

function outcomeOf(index) {
	if (column.errno[index] > 0)
		return textOf(column.errno[index]);
	return column.ns[index] < 0 ? '' : String(column.ret[index]);
}

/* What the call was about, in one line. */
function objectOf(index) {
	const path = textOf(column.path[index]), second = textOf(column.path2[index]);
	const host = textOf(column.host[index]), port = column.port[index];
	if (port > 0 || network[index]) {
		const rest = restOf(index);
		return (rest.method ? rest.method + ' ' : '') + host + (port ? ':' + port : '') + (network[index] ? path : '');
	}
	const args = restOf(index).args;
	const resolved = column.resolved[index] > 0 ? ' → ' + textOf(column.resolved[index]) : '';
	if (!path && args)
		return Object.entries(args).map(([name, value]) => name + '=' + value).join(' ');
	return path + resolved + (second ? '  ' + second : '');
}

function rowOf(index) {
	return {index, run: column.run[index], seq: column.seq[index], time: column.time[index],
		pid: column.pid[index], call: textOf(column.call[index]), verdict: textOf(column.verdict[index]),
		denied: denied[index] === 1, object: objectOf(index), outcome: outcomeOf(index),
		ns: column.ns[index], reason: textOf(column.reason[index])};
}

function getRows(from, to) {
	const rows = [];
	for (let i = from; i < Math.min(to, found.length); i++)
		rows.push(rowOf(found[i]));
	return rows;
}

/* Every field of a record, by name, in the log's order. */
function getRecord(index) {
	const fields = [['seq', column.seq[index]], ['time', instantOf(index)]];
	const add = (name, value) => fields.push([name, value]);
	for (const name of ['pid', 'tid', 'ppid'])
		if (column[name][index])
			add(name, column[name][index]);
	for (const name of ['exe', 'call', 'path', 'resolved', 'path2', 'resolved2', 'host'])
		if (column[name][index] > 0)
			add(name, textOf(column[name][index]));
	if (column.resolved[index] < 0)
		add('resolved', null);
	if (column.port[index])
		add('port', column.port[index]);
	for (const [name, value] of Object.entries(restOf(index)))
		add(name, typeof value === 'object' ? JSON.stringify(value) : value);
	for (const name of ['right', 'verdict', 'effect', 'rule', 'reason', 'errno'])
		if (column[name][index] > 0)
			add(name, textOf(column[name][index]));
	if (!column.errno[index])
		add('ret', column.ns[index] < 0 ? null : column.ret[index]);
	add('ns', column.ns[index] < 0 ? null : column.ns[index]);
	return {index, run: column.run[index], seq: column.seq[index], denied: denied[index] === 1, fields};
}

/* Where a record is: its index (-1: not in the page) and its place among the selected ones (-1: not selected). */
function findRecord(run, seq) {
	let index = -1;
	for (let i = 0; i < count && index < 0; i++)
		if (column.run[i] === run && column.seq[i] === seq)
			index = i;
	return {index, place: index < 0 ? -1 : found.indexOf(index)};
}
