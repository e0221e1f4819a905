/* ---- the list of records: only the rows in sight are in the document ---- */

const ROW_HEIGHT = 26;
const ROWS_PAGE = 100;
const OVERSCAN = 8;
const HEADS = ['seq', 'time', 'pid', 'call', 'verdict', 'object', 'outcome', 'taken'];
const list = {count: 0, chosen: -1, pages: new Map(), version: 0, filterVersion: 0, lines: null};
const filter = {run: -1, text: '', verdict: '', call: '', exe: '', errno: '', reason: '', host: '', rule: '', pid: 0,
	slower: 0, from: 0, to: 0, under: ''};

function lineOf(row, place) {
	const cells = [el('span.n', null, String(row.seq)), el('span.n', null, duration(row.time)),
		el('span.n', null, String(row.pid || '')), el('span', null, data(row.call, 60)),
		el('span', null, data(row.verdict, 20)),
		el('span', null, data(row.object, 300)), el('span', null, data(row.outcome, 40)),
		el('span.n', null, duration(row.ns))];
	cells.forEach((cell) => cell.setAttribute('role', 'gridcell'));
	const line = el(row.denied ? 'div.line.denied' : 'div.line', {role: 'row', id: 'row-' + place,
		'aria-rowindex': place + 2, 'aria-selected': String(place === list.chosen)}, cells);
	if (place === list.chosen)
		line.classList.add('chosen');
	line.style.top = (place + 1) * ROW_HEIGHT + 'px';
	line.addEventListener('click', () => choose(place));
	return line;
}

async function pageOf(number) {
	if (!list.pages.has(number))
		list.pages.set(number, ask('getRows', number * ROWS_PAGE, (number + 1) * ROWS_PAGE));
	return list.pages.get(number);
}

/* Draws the rows in sight, unless the list has changed by the time when they are there. */
async function drawRows() {
	const grid = byId('grid'), version = ++list.version;
	const first = Math.max(0, Math.floor(grid.scrollTop / ROW_HEIGHT) - OVERSCAN);
	const last = Math.min(list.count, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW_HEIGHT) + OVERSCAN);
	const lines = [];
	for (let page = Math.floor(first / ROWS_PAGE); page * ROWS_PAGE < last; page++) {
		const rows = await pageOf(page);
		rows.forEach((row, i) => {
			const place = page * ROWS_PAGE + i;
			if (place >= first && place < last)
				lines.push(lineOf(row, place));
		});
	}
	if (version !== list.version)
		return;
	list.lines.replaceChildren(...lines);
	if (list.pages.size > 40)
		list.pages.clear();
	if (list.chosen >= first && list.chosen < last)
		grid.setAttribute('aria-activedescendant', 'row-' + list.chosen);
	else
		grid.removeAttribute('aria-activedescendant');
}

function scrollTo(place) {
	const grid = byId('grid'), top = place * ROW_HEIGHT, height = grid.clientHeight - 2 * ROW_HEIGHT;
	const away = Math.max(grid.scrollTop - top, top - grid.scrollTop - height);
	if (away > 2 * ROW_HEIGHT)
		grid.scrollTop = top - height / 2; /* far away: with what was before and after */
	else if (away > 0)
		grid.scrollTop += top < grid.scrollTop ? -away : away;
}

async function choose(place) {
	if (place < 0 || place >= list.count)
		return;
	list.chosen = place;
	scrollTo(place);
	await drawRows();
	const rows = await pageOf(Math.floor(place / ROWS_PAGE));
	const row = rows[place % ROWS_PAGE];
	if (!row || list.chosen !== place)
		return;
	showDetail(await ask('getRecord', row.index));
}

function addressOf(record) {
	return '#record=' + (state.runs.length > 1 ? record.run + 1 + '.' : '') + record.seq;
}

function showDetail(record) {
	const value = (text) => (text === null ? el('span.quiet', null, 'null') : data(text, Infinity));
	const field = (name) => (record.fields.find((one) => one[0] === name) || [])[1];
	const path = field('resolved') || field('path');
	history.replaceState(null, '', addressOf(record));
	const ofRun = state.runs.length > 1 ? ' of run ' + (record.run + 1) : '';
	fill(byId('detail'), el('h3', null, 'Record ' + record.seq + ofRun),
		el('div.row', null, el('button', {type: 'button', onclick: () => copyText(String(location.href))}, 'Copy link'),
			field('pid') ? el('button', {type: 'button', onclick: () => setFilter({pid: Number(field('pid'))})},
				'Only this process') : null,
			path && String(path).startsWith('/') ? el('button', {type: 'button',
				onclick: () => setFilter({under: String(path)})}, 'Only this path') : null),
		el('dl', null, record.fields.map(([name, text]) => [el('dt', null, data(name)), el('dd', null, value(text))])));
}

/* ---- filters ---- */

function optionsOf(name, label, values, fixed) {
	const select = el('select', {id: 'filter-' + name}, el('option', {value: ''}, 'any'),
		(fixed || []).map(([value, text]) => el('option', {value}, text)),
		values.map((one) => {
			const option = el('option', null, plain(one.text, 60) + ' (' + number(one.count) + ')');
			option.value = one.text;
			return option;
		}));
	select.addEventListener('change', () => setFilter({[name]: select.value}));
	return el('label', {for: 'filter-' + name}, label, select);
}

function inputOf(name, label, type, act, wide) {
	const input = el('input', {id: 'filter-' + name, type, min: type === 'number' ? 0 : null, autocomplete: 'off',
		spellcheck: 'false'});
	let timer = 0;
	input.addEventListener('input', () => {
		clearTimeout(timer);
		timer = setTimeout(() => act(input.value), 150);
	});
	return el(wide ? 'label.wide' : 'label', {for: 'filter-' + name}, label, input);
}

function makeFilters(overview) {
	const form = byId('filters');
	form.addEventListener('submit', (event) => event.preventDefault());
	fill(form, inputOf('text', 'Search paths, hosts, programs, rules, arguments', 'search',
		(value) => setFilter({text: value}), true),
	optionsOf('verdict', 'Verdict', overview.verdicts, [['denied', 'all denials'], ['network', 'network events']]),
	optionsOf('call', 'Call', overview.calls), optionsOf('exe', 'Program', overview.programs),
	optionsOf('host', 'Host', overview.hosts), optionsOf('errno', 'Error', overview.errors),
	optionsOf('reason', 'Reason', overview.reasons),
	inputOf('pid', 'Process', 'number', (value) => setFilter({pid: Number(value)})),
	inputOf('slower', 'Slower than (µs)', 'number', (value) => setFilter({slower: Number(value) * 1000})),
	el('button', {type: 'button', id: 'clear', onclick: () => setFilter(Object.assign({}, cleared))}, 'Clear'));
}

const cleared = {text: '', verdict: '', call: '', exe: '', errno: '', reason: '', host: '', rule: '', pid: 0, slower: 0,
	from: 0, to: 0, under: ''};

/* The controls show the filter, wherever it was set. */
function syncControls() {
	for (const name of ['text', 'verdict', 'call', 'exe', 'host', 'errno', 'reason', 'pid', 'slower']) {
		const control = byId('filter-' + name);
		const value = name === 'slower' ? filter.slower / 1000 || '' : filter[name] || '';
		if (control && document.activeElement !== control)
			control.value = value;
	}
}

async function setFilter(changes) {
	Object.assign(filter, changes, {run: state.run});
	syncControls();
	const version = ++list.filterVersion;
	const {count} = await ask('applyFilter', filter);
	if (version !== list.filterVersion)
		return; /* a later filter is on its way */
	list.pages.clear();
	list.count = count;
	list.chosen = -1;
	byId('grid').setAttribute('aria-rowcount', count + 1);
	list.lines.style.height = (count + 1) * ROW_HEIGHT + 'px';
	byId('grid').scrollTop = 0;
	fill(byId('found'), number(count) + ' of ' + amount(state.count, 'record'),
		filter.under ? el('span', null, ', about ', data(filter.under, 200)) : null,
		filter.to > filter.from ? ', between ' + duration(filter.from) + ' and ' + duration(filter.to) : null);
	await drawRows();
}

/* Shows the records that a choice elsewhere on the page stands for. */
async function showRecords(changes) {
	await setFilter({...cleared, ...changes});
	byId('records').scrollIntoView();
	byId('grid').focus();
}

function makeGrid() {
	const grid = byId('grid');
	list.lines = el('div', {role: 'presentation'});
	list.lines.style.position = 'absolute';
	list.lines.style.left = list.lines.style.right = list.lines.style.top = '0';
	grid.append(el('div.head', {role: 'row', 'aria-rowindex': 1}, HEADS.map((head) => el('span', {role: 'columnheader'},
		head))), list.lines);
	grid.setAttribute('aria-colcount', HEADS.length);
	grid.addEventListener('scroll', () => requestAnimationFrame(drawRows), {passive: true});
	grid.addEventListener('keydown', (event) => {
		const page = Math.max(1, Math.floor(grid.clientHeight / ROW_HEIGHT) - 2), now = list.chosen;
		const to = {ArrowDown: now + 1, ArrowUp: now - 1, PageDown: Math.max(now, 0) + page, PageUp: now - page, Home: 0,
			End: list.count - 1}[event.key];
		if (to !== undefined) {
			event.preventDefault();
			choose(Math.min(list.count - 1, Math.max(0, to)));
		} else if (event.key === 'Enter' && now >= 0) {
			byId('detail').focus();
		}
	});
	fill(byId('detail'), el('p.quiet', null, 'Choose a record to see its fields.'));
	byId('detail').addEventListener('keydown', (event) => {
		if (event.key === 'Escape')
			grid.focus();
	});
}

/* Follows an address such as #record=120, or #record=2.120 of the second run. */
async function followAddress() {
	const match = /^#record=(?:(\d+)\.)?(\d+)$/.exec(location.hash);
	if (!match)
		return;
	const run = match[1] ? Number(match[1]) - 1 : 0, seq = Number(match[2]);
	let found = await ask('findRecord', run, seq);
	if (found.index >= 0 && found.place < 0) {
		await setFilter(cleared);
		found = await ask('findRecord', run, seq);
	}
	if (found.place < 0) {
		announce('There is no record ' + seq + ' in this page');
		fill(byId('detail'), el('p', null, 'There is no record ' + seq + ' in this page.'));
		return;
	}
	byId('records').scrollIntoView();
	await choose(found.place);
	byId('grid').focus({preventScroll: true});
}
