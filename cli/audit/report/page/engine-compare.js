/* ---- two runs ---- */

const DIFFERENCES_MAX = 1000;

/* What is in one of two maps of names to descriptions, or described differently. */
function differ(first, second) {
	const rows = [];
	for (const [what, a] of first)
		if (second.get(what) !== a)
			rows.push({what, a, b: second.get(what) || ''});
	for (const [what, b] of second)
		if (!first.has(what))
			rows.push({what, a: '', b});
	rows.sort((x, y) => (x.what < y.what ? -1 : x.what > y.what ? 1 : 0));
	return {rows: rows.slice(0, DIFFERENCES_MAX), total: rows.length};
}

function describeFiles(run) {
	const marks = new Map();
	eachAccess(run, (id, mark) => {
		const path = textOf(id);
		marks.set(path, (marks.get(path) || 0) | (1 << mark));
	});
	return new Map([...marks].map(([path, bits]) => [path,
		MARKS.filter((name, mark) => bits & (1 << mark)).join(', ')]));
}

function describePrograms(run) {
	return new Map(summarise(run).programs.map((one) => [one.name, one.count + ' ×']));
}

function describeEndpoints(run) {
	return new Map(getEndpoints(run).map((one) => [one.host + (one.port ? ':' + one.port : ''),
		[one.opened && 'connected', one.requests && one.requests + ' requests', one.denied && one.denied + ' denied',
			one.failed && one.failed + ' failed', one.proto === 'listen' && 'listened'].filter(Boolean).join(', ')]));
}

function describeDenials(run) {
	return new Map(about.denials.filter((one) => one.run === run).map((one) => [
		textOf(one.call) + ' ' + textOf(one.target), textOf(one.reason) || 'denied']));
}

function describeCalls(run) {
	const counts = new Map();
	for (let i = 0; i < count; i++)
		if (column.run[i] === run)
			counts.set(column.call[i], (counts.get(column.call[i]) || 0) + 1);
	return new Map([...counts].map(([id, n]) => [textOf(id), String(n)]));
}

function compareRuns(a, b) {
	const compare = (describe) => differ(describe(a), describe(b));
	return {programs: compare(describePrograms), files: compare(describeFiles), endpoints: compare(describeEndpoints),
		denials: compare(describeDenials), calls: compare(describeCalls)};
}
