/* ---- the page ---- */

const state = {runs: [], run: -1, denials: [], count: 0, span: [], about: {}};

function makeThemeButton() {
	const themes = ['system', 'light', 'dark'], button = byId('theme');
	let theme = 'system';
	const set = (name) => {
		theme = name;
		if (name === 'system')
			delete document.documentElement.dataset.theme;
		else
			document.documentElement.dataset.theme = name;
		button.textContent = 'Theme: ' + name;
	};
	try {
		set(themes.includes(localStorage.getItem('callgate-theme')) ? localStorage.getItem('callgate-theme') : 'system');
	} catch (error) {
		set('system');
	}
	button.addEventListener('click', () => {
		set(themes[(themes.indexOf(theme) + 1) % themes.length]);
		try {
			localStorage.setItem('callgate-theme', theme);
		} catch (error) {
			/* a browser may keep nothing for pages from disk */
		}
	});
}

async function showAll() {
	await showSummary();
	showDenials();
	await showTimeline();
	await showProcesses();
	await showFiles();
	await showNetwork();
	await showLatency();
}

function makeRunChoice() {
	if (state.runs.length < 2)
		return;
	const select = byId('run-select');
	byId('run-label').hidden = false;
	select.append(el('option', {value: '-1'}, 'all ' + state.runs.length));
	state.runs.forEach((run, i) => select.append(el('option', {value: String(i)}, plain(shortName(run, i), 60))));
	select.addEventListener('change', async () => {
		state.run = Number(select.value);
		await showAll();
		await setFilter({...cleared});
	});
}

function showHeadline() {
	const first = state.runs[0], names = state.runs.map(commandOf).join(', ');
	fill(byId('headline'), state.runs.length > 1 ? amount(state.runs.length, 'run') + ': ' : '',
		state.runs.length > 1 ? data(names, 300) : [statusChip(first), ' ', data(commandOf(first), 300)]);
	document.title = 'callgate: ' + plain(state.runs.length > 1 ? state.runs.length + ' runs' : commandOf(first), 80);
	byId('made').textContent = 'Made by callgate audit report ' + plain(state.about.version) + ' on ' +
		new Date(state.about.made * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC. The page loads nothing ' +
		'from elsewhere.';
}

async function main() {
	makeThemeButton();
	byId('print').addEventListener('click', () => window.print());
	startEngine();
	const overview = await loadData();
	Object.assign(state, {about: overview.about, runs: overview.about.runs, count: overview.count, span: overview.span,
		denials: overview.denials.sort((a, b) => b.count - a.count)});
	showHeadline();
	showNotices();
	makeRunChoice();
	makeFilters(overview);
	makeGrid();
	await setFilter({});
	await showAll();
	await showCompare();
	window.addEventListener('hashchange', followAddress);
	document.addEventListener('keydown', (event) => {
		if (event.key === '/' && !/^(input|select|textarea)$/i.test(document.activeElement.tagName)) {
			event.preventDefault();
			byId('filter-text').focus();
		}
	});
	await followAddress();
	document.documentElement.dataset.ready = 'yes';
}

main().catch((error) => {
	fill(byId('notices'), el('p.notice', null, 'This page cannot show its data: ' + error.message));
	throw error;
});
