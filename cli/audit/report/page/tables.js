/* ---- denials ---- */

const ROWS_AT_FIRST = 50;

function recordLink(run, seq, text) {
	return el('a', {href: '#record=' + (state.runs.length > 1 ? run + 1 + '.' : '') + seq}, text);
}

function remedyOf(one) {
	if (one.suggest)
		return el('div.suggest', null, copyButton(one.suggest), data(one.suggest));
	return el('span.quiet', null, one.why ? 'nothing is suggested: ' + one.why : 'no rule would allow it');
}

function denialRow(one) {
	return el('tr', null, el('td.n', null, number(one.count)),
		el('td', null, data(one.call), ' ', data(one.target, 400), one.resolved ? [' → ', data(one.resolved, 400)] : null,
			one.observed ? [' ', el('span.chip.warn', null, 'observed only')] : null,
			state.runs.length > 1 ? el('div.quiet', null, 'run ' + (one.run + 1)) : null),
		el('td', null, reasonText(one.reason), one.rule ? [el('br'), 'rule: ', data(one.rule, 300)] : null),
		el('td', null, remedyOf(one)),
		el('td', null, recordLink(one.run, one.seq, 'record ' + one.seq), el('div.quiet', null, data(one.exe, 120))));
}

/* A table of some of the rows, and a button for the others. */
function longTable(caption, heads, items, row) {
	const made = table(caption, heads, items.slice(0, ROWS_AT_FIRST).map(row));
	if (items.length <= ROWS_AT_FIRST)
		return [made];
	const button = el('button', {type: 'button'}, 'Show all ' + number(items.length));
	button.addEventListener('click', () => {
		made.querySelector('tbody').append(...items.slice(ROWS_AT_FIRST).map(row));
		button.remove();
	});
	return [made, button];
}

function showDenials() {
	const heads = ['#Times', 'What was tried', 'Why it was refused', 'What would allow it', 'First'];
	const own = state.denials.filter((one) => state.run < 0 || state.run === one.run);
	const listed = own.filter((one) => !EXPECTED.includes(one.reason));
	const expected = own.filter((one) => EXPECTED.includes(one.reason));
	fill(byId('denials-body'), listed.length ? longTable('Equal attempts are one row, most frequent first. A suggestion ' +
		'is an option of callgate run, which the policy can have as a rule: think before you grant it.', heads, listed,
	denialRow) : el('p.quiet', null, 'Nothing that matters.'),
	state.about.denials_unlisted ? el('p.notice', null, amount(state.about.denials_unlisted, 'attempt') +
		' of further kinds are not listed here; they are among the records.') : null,
	expected.length ? el('details', null, el('summary', null, amount(expected.length, 'kind') + ' that every program ' +
		'does without, which do not count'), longTable('Expected refusals', heads, expected, denialRow)) : null);
}

/* ---- network ---- */

function endpointRow(one) {
	const requests = one.list.length ? el('details', null, el('summary', null, amount(one.requests, 'request')),
		el('ul.plain-list', null, one.list.map((request) => el('li', null,
			el(request.denied ? 'span.chip.bad' : 'span.chip.plain', null, request.denied ? 'denied' : 'status', ' ',
				data(request.status)), ' ', data(request.method), ' ', data(request.path, 500),
			request.count > 1 ? ' × ' + number(request.count) : '', request.denied ? ' ' + reasonText(request.reason) : '',
			' ', recordLink(one.run, request.seq, 'record'))),
		one.more ? el('li', null, number(one.more) + ' more') : null)) : number(one.requests);
	return el('tr', null, el('td', null, data(one.host), one.port ? ':' + one.port : '',
		state.runs.length > 1 ? el('div.quiet', null, 'run ' + (one.run + 1)) : null),
	el('td', null, data(one.proto)), el('td.n', null, number(one.opened)), el('td', null, requests),
	el('td.n', null, one.denied ? el('span.chip.bad', null, number(one.denied)) : '0'),
	el('td.n', null, number(one.failed)),
	el('td.n', null, bytes(one.up)), el('td.n', null, bytes(one.down)),
	el('td', null, el('button', {type: 'button', 'aria-label': 'Records of ' + plain(one.host),
		onclick: () => showRecords({host: one.host, run: state.runs.length > 1 ? one.run : -1})}, 'Records')));
}

async function showNetwork() {
	const endpoints = await ask('getEndpoints', state.run);
	endpoints.sort((a, b) => b.requests + b.opened + b.denied - a.requests - a.opened - a.denied);
	fill(byId('network-body'), endpoints.length ? longTable('Endpoints that the program contacted or asked for',
		['Endpoint', 'Protocol', '#Connections', 'Requests', '#Denied', '#Failed', '#Sent', '#Received', 'Records'],
		endpoints, endpointRow) : el('p.quiet', null, 'The program asked for nothing on the network.'));
}

/* ---- latency ---- */

async function showLatency() {
	const {bins, all, calls} = await ask('getLatency', state.run);
	const most = Math.max(1, ...bins.map((bin) => bin.allowed + bin.denied));
	const used = bins.filter((bin) => bin.allowed + bin.denied > 0);
	const bar = (kind, n) => {
		const element = el('span.' + kind, null);
		element.style.width = n ? Math.max(2, n / most * 320) + 'px' : '0';
		return element;
	};
	const bound = (bin) => (bin.most === Infinity ? 'longer' : 'to ' + duration(bin.most));
	fill(byId('latency-body'), el('p', null, 'Time from a notification to its response: half of ' +
		amount(all.count, 'call') + ' took at most ' + duration(all.p50) + ', 90 % ' + duration(all.p90) +
		', 99 % ' + duration(all.p99) + ', the longest ' + duration(all.max) + '.'),
	table('Histogram', ['Time', '#Calls', '#Denied', 'Share'], used.map((bin) => el('tr', null, el('td', null, bound(bin)),
		el('td.n', null, number(bin.allowed + bin.denied)), el('td.n', null, number(bin.denied)),
		el('td', null, bar('bar', bin.allowed), bar('bar.denied', bin.denied))))),
	longTable('By system call', ['Call', '#Calls', '#Median', '#90 %', '#99 %', '#Longest'], calls, (one) => el('tr', null,
		el('td', null, data(one.call)), el('td.n', null, number(one.count)),
		[one.p50, one.p90, one.p99, one.max].map((ns) => el('td.n', null, duration(ns))))));
}

/* ---- two runs ---- */

async function showCompare() {
	if (state.runs.length !== 2)
		return;
	byId('compare').hidden = byId('compare-link').hidden = false;
	const different = await ask('compareRuns', 0, 1);
	const none = el('span.quiet', null, 'no');
	const parts = [['denials', 'Denials', 'Attempt'], ['programs', 'Programs', 'Program'], ['files', 'Files', 'Path'],
		['endpoints', 'Endpoints', 'Endpoint'], ['calls', 'System calls', 'Call']];
	fill(byId('compare-body'), el('p', null, 'A is ', data(commandOf(state.runs[0]) || state.runs[0].id, 200), ', B is ',
		data(commandOf(state.runs[1]) || state.runs[1].id, 200), '. Only what differs is listed.'),
	parts.map(([name, title, what]) => el('details', {open: name !== 'calls', id: 'compare-' + name},
		el('summary', null, title + ': ' + amount(different[name].total, 'difference')),
		different[name].total ? longTable(title + ' that differ', [what, 'A', 'B'], different[name].rows, (row) =>
			el('tr', null, el('td', null, data(row.what, 400)), el('td', null, row.a ? data(row.a) : none.cloneNode(true)),
				el('td', null, row.b ? data(row.b) : none.cloneNode(true)))) : null)));
}
