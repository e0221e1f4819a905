/* ---- summary ---- */

function commandOf(run) {
	const command = asObject(run.header).command;
	return Array.isArray(command) ? command.join(' ') : '';
}

function shortName(run, index) {
	return (state.runs.length > 1 ? 'AB'[index] && state.runs.length === 2 ? 'AB'[index] + ': ' : index + 1 + ': ' : '') +
		(commandOf(run) || run.id);
}

function statusChip(run) {
	const trailer = run.trailer;
	if (!trailer)
		return el('span.chip.warn', null, 'no end on record');
	const good = trailer.status === 'ok';
	return el(good ? 'span.chip.good' : 'span.chip.bad', null, data(trailer.status),
		trailer.exit_code !== undefined ? ' · exit code ' + Number(trailer.exit_code) : '',
		trailer.signal !== undefined ? el('span', null, ' · signal ', data(trailer.signal)) : null);
}

const CHAIN_TEXT = {
	not_verified: 'The log has no chain of hashes: this page does not tell whether it was edited.',
	verified: 'Verified: the log is as the run wrote it, if its key is the one in the result.',
	open_end: 'In order so far, but without an end: the run goes on or was killed, or lines were cut off.',
	unsigned: 'In order, but not signed: callgate was killed before, or the log was rewritten.',
};

function chainText(run) {
	const chain = run.chain || {};
	return [CHAIN_TEXT[chain.state] || el('span.chip.bad', null, 'Broken'), chain.why ? ' ' : null,
		chain.why ? data(chain.why) : null];
}

function sentences(run, facts, denials) {
	const mark = (name) => facts.files.find((one) => one.mark === name);
	const listed = denials.filter((one) => !EXPECTED.includes(one.reason));
	const contacted = facts.endpoints.filter((one) => one.opened || one.requests);
	const items = [];
	items.push(el('li', null, 'It ran ', facts.programs.length ? listOf(facts.programs.map((one) => one.name),
		facts.programs.length) : 'no other program', ' in ' + amount(facts.processes, 'process', 'processes') + '.'));
	const read = mark('read'), written = mark('written');
	const lacksReads = asObject(run.header).judge === 'changes';
	items.push(lacksReads ? el('li', null, 'What it read is not on record: the run left that to the kernel.')
		: el('li', null, 'It read or looked at ' + amount(read.files, 'file') + (read.files ? ': ' : '.'),
			read.files ? listOf(read.first, read.files) : null));
	items.push(el('li', null, written.files ? 'It changed, or opened to change, ' + amount(written.files, 'file') + ': '
		: 'It changed nothing.', written.files ? listOf(written.first, written.files) : null));
	items.push(el('li', null, contacted.length ? 'It contacted ' + amount(contacted.length, 'endpoint') + ': '
		: 'It contacted nothing over the network.', contacted.length ? listOf(contacted.map((one) =>
		one.host + (one.port ? ':' + one.port : '')), contacted.length) : null));
	const attempts = listed.reduce((sum, one) => sum + one.count, 0);
	items.push(el('li', null, listed.length ? amount(attempts, 'attempt') + ' of ' + amount(listed.length, 'kind') +
		(attempts === 1 ? ' was' : ' were') + ' refused'
		: lacksReads ? 'Nothing of what is on record was refused.' : 'Nothing that matters was refused.',
	listed.length ? [', most often ', data(listed[0].call + ' ' + listed[0].target, 200),
		', because ' + reasonText(listed[0].reason) + '. ', el('a', {href: '#denials'}, 'All of them')] : null));
	if (facts.unfinished)
		items.push(el('li', null, amount(facts.unfinished, 'call') + ' had no outcome when the log ended.'));
	return items;
}

function layersOf(header) {
	const layers = Object.entries(asObject(header.layers)).map(([name, layer]) => [name, asObject(layer)]);
	const line = ([name, layer]) => el('li', null, el(layer.active ? 'span.chip.good' : 'span.chip.warn', null,
		layer.active ? 'active' : 'not active'), ' ', data(name), layer.why ? [': ', data(layer.why)] : null);
	const active = layers.filter(([, layer]) => layer.active).length;
	return el('details', null, el('summary', null, 'Layers: ' + active + ' of ' + layers.length + ' active'),
		el('ul.plain-list', null, layers.map(line)));
}

const LIMIT_UNITS = {wall: (ms) => duration(ms * 1e6), cpu: (ms) => duration(ms * 1e6)};
for (const name of ['memory', 'disk', 'file_size', 'audit', 'stdout', 'stderr'])
	LIMIT_UNITS[name] = bytes;

function limitsOf(run) {
	const limits = Object.entries(asObject(asObject(run.result).limits)).map(([name, one]) => [name, asObject(one)]);
	const set = limits.filter(([, one]) => one.limit !== null || one.hit);
	const value = (name, one) => (typeof one === 'number' ? (LIMIT_UNITS[name] || number)(one) : 'none');
	const line = ([name, one]) => el('li', null, one.hit ? [el('span.chip.bad', null, 'hit'), ' '] : null, data(name),
		': ', value(name, one.limit), typeof (one.peak ?? one.used) === 'number'
			? ', at most ' + value(name, one.peak ?? one.used) + ' used' : null);
	if (!run.result)
		return ['Not in the log; ', el('span.t', null, '--result'), ' adds the result of the run, which has them.'];
	return [el('ul.plain-list', null, set.map(line)), limits.length > set.length
		? 'No limit: ' + limits.filter((one) => !set.includes(one)).map(([name]) => plain(name)).join(', ') : null];
}

function changesOf(run) {
	const changes = asObject(run.result).changes;
	if (!Array.isArray(changes) || !changes.length)
		return null;
	return el('details', null, el('summary', null, amount(changes.length, 'file') + ' changed, as the result lists them'),
		el('ul.plain-list', null, changes.slice(0, 500).map(asObject).map((one) => el('li', null, data(one.kind), ' ',
			data(one.path),			one.size ? ' (' + bytes(one.size) + ')' : ''))));
}

function fact(name, ...value) {
	return [el('dt', null, name), el('dd', null, value)];
}

function runCard(run, index, facts) {
	const header = asObject(run.header), policy = asObject(header.policy);
	const denials = state.denials.filter((one) => one.run === index);
	return el('article.card', {'aria-label': 'Run ' + plain(run.id)},
		state.runs.length > 1 ? el('h3', null, 'Run ' + (state.runs.length === 2 ? 'AB'[index] : index + 1)) : null,
		el('p', null, statusChip(run), ' ', data(commandOf(run), 2000)),
		el('ul.say', null, sentences(run, facts, denials)),
		el('dl.facts', null,
			fact('Started', data(header.time || 'unknown')),
			fact('Lasted', run.result && run.result.duration_ms ? duration(run.result.duration_ms * 1e6)
				: duration(state.span[index]) + ' on record'),
			fact('Policy', data(policy.name || 'unknown'), ' ', el('span.quiet', null, data(policy.sha256 || ''))),
			fact('Working directory', data(header.workdir || 'unknown')),
			fact('Limits', limitsOf(run)),
			fact('Records', number(run.records) + ', ' + number(run.denied) + ' of them denied' +
				(header.record_allowed === false ? '; the policy asked for denials only' : '') +
				(header.judge === 'changes' ? '; what only reads was left to the kernel and is not on record' : '')),
			fact('Log', run.logs.map((name) => el('div', null, data(name)))),
			fact('Chain', chainText(run)),
			fact('Machine', data([header.kernel, header.machine].filter(Boolean).join(', ')), ', callgate ',
				data(header.version || '?')),
			fact('Run', data(run.id))),
		layersOf(header), changesOf(run));
}

async function showSummary() {
	const cards = [];
	for (let i = 0; i < state.runs.length; i++)
		if (state.run < 0 || state.run === i)
			cards.push(runCard(state.runs[i], i, await ask('summarise', i)));
	fill(byId('summary-body'), cards);
}

function showNotices() {
	const notices = [], about = state.about;
	const records = state.runs.reduce((sum, run) => sum + run.records, 0);
	if (state.count < records)
		notices.push('This page has a sample: ' + number(state.count) + ' of ' + number(records) + ' records. Denials, ' +
			'network events and execs come first; of the others one in ' + number(about.step) + ' is here. The numbers ' +
			'of records and of denials are of all, other numbers are of the sample.');
	if (!about.texts_complete)
		notices.push('The logs have more different texts than fit into a page; some are left out.');
	for (const run of state.runs) {
		if (run.damaged)
			notices.push(amount(run.damaged, 'line') + ' of run ' + plain(run.id) + ' ' +
				(run.damaged === 1 ? 'is' : 'are') + ' damaged and left out: the log was edited.');
		if (run.torn)
			notices.push('The log of run ' + plain(run.id) + ' ends in the middle of a record: the writer was killed.');
		if (!run.trailer)
			notices.push('Run ' + plain(run.id) + ' has no end on record: it still goes on, or its end was not recorded.');
	}
	fill(byId('notices'), notices.map((text) => el('p.notice', null, text)));
}
