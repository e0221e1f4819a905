/* ---- processes ---- */

function processKey(index) {
	return column.run[index] + ':' + column.pid[index];
}

function getProcesses(run) {
	const processes = new Map();
	for (let i = 0; i < count; i++) {
		if ((run >= 0 && column.run[i] !== run) || !column.pid[i])
			continue;
		let one = processes.get(processKey(i));
		if (!one) {
			one = {run: column.run[i], pid: column.pid[i], ppid: column.ppid[i], exe: '', argv: '', calls: 0,
				denied: 0, first: column.time[i], last: column.time[i], children: []};
			processes.set(processKey(i), one);
		}
		one.calls++;
		one.denied += denied[i];
		one.last = Math.max(one.last, column.time[i]);
		if (column.exe[i] > 1)
			one.exe = textOf(column.exe[i]);
		const args = restOf(i).args;
		if (args && args.argv !== undefined && !denied[i] && !column.errno[i]) {
			one.argv = String(args.argv);
			one.exe = textOf(pathIdOf(i, false)) || one.exe;
		}
	}
	return linkProcesses([...processes.values()], new Map([...processes.keys()].map((key, i) => [key, i])));
}

/* Children and roots are places in the list: an answer that is nested as deep as the processes could not be sent. */
function linkProcesses(list, places) {
	const roots = [];
	list.forEach((one, i) => {
		const parent = one.ppid === one.pid ? undefined : places.get(one.run + ':' + one.ppid);
		(parent === undefined ? roots : list[parent].children).push(i);
	});
	/* An edited log may have processes that are each other's parent: no root leads to them. */
	let reached = 0;
	const walk = [...roots];
	while (walk.length > 0) {
		reached++;
		for (const child of list[walk.pop()].children)
			walk.push(child);
	}
	return {list, roots, total: list.length, lost: list.length - reached};
}

/* ---- network ---- */

const REQUESTS_MAX = 200;

function endpointOf(map, index) {
	const key = [column.run[index], column.host[index], column.port[index]].join(':');
	let one = map.get(key);
	if (!one) {
		one = {run: column.run[index], host: textOf(column.host[index]), port: column.port[index], proto: '',
			opened: 0, failed: 0, denied: 0, requests: 0, up: 0, down: 0, list: new Map(), more: 0,
			seq: column.seq[index]};
		map.set(key, one);
	}
	return one;
}

function addRequest(one, index, rest) {
	const request = {method: rest.method || '', path: textOf(column.path[index]), denied: denied[index] === 1,
		status: rest.status || (column.ns[index] < 0 ? '' : column.ret[index]), reason: textOf(column.reason[index]),
		seq: column.seq[index], count: 0};
	const key = JSON.stringify([request.method, request.path, request.status, request.denied]);
	one.requests++;
	if (!one.list.has(key) && one.list.size >= REQUESTS_MAX)
		one.more++;
	else
		one.list.set(key, one.list.get(key) || request).get(key).count++;
}

function getEndpoints(run) {
	const map = new Map();
	for (let i = 0; i < count; i++) {
		/* In the record of a redirected path, host is a path. */
		if ((run >= 0 && column.run[i] !== run) || !column.host[i] || textOf(column.host[i]).startsWith('/'))
			continue;
		const call = textOf(column.call[i]);
		if (!network[i] && !denied[i] && call !== 'bind' && call !== 'listen')
			continue; /* what became of an allowed connect is in the events */
		const one = endpointOf(map, i), rest = restOf(i);
		one.proto = String(rest.proto || one.proto);
		one.denied += denied[i];
		if (call === 'net.open' && !denied[i]) {
			one.opened += column.errno[i] ? 0 : 1;
			one.failed += column.errno[i] ? 1 : 0;
		} else if (call === 'net.request') {
			addRequest(one, i, rest);
		} else if (call === 'net.close') {
			one.up += Number(rest.bytes_up) || 0;
			one.down += Number(rest.bytes_down) || 0;
		} else if (call === 'listen' || call === 'bind') {
			one.proto = 'listen';
		}
	}
	return [...map.values()].map((one) => ({...one, list: [...one.list.values()]}));
}

/* ---- latency ---- */

const LATENCY_STEPS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9,
	Infinity];

function percentile(sorted, part) {
	return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] : 0;
}

/* Of system calls: the time that callgate took. Of network events: how long they lasted, which is not shown here. */
function getLatency(run) {
	const bins = LATENCY_STEPS.map((most) => ({most, allowed: 0, denied: 0}));
	const byCall = new Map();
	const all = [];
	for (let i = 0; i < count; i++) {
		const ns = column.ns[i];
		if ((run >= 0 && column.run[i] !== run) || ns < 0 || network[i])
			continue;
		const bin = bins[LATENCY_STEPS.findIndex((most) => ns <= most)];
		bin[denied[i] ? 'denied' : 'allowed']++;
		all.push(ns);
		if (!byCall.has(column.call[i]))
			byCall.set(column.call[i], []);
		byCall.get(column.call[i]).push(ns);
	}
	const describe = (values) => {
		const sorted = Float64Array.from(values).sort();
		return {count: sorted.length, p50: percentile(sorted, 0.5), p90: percentile(sorted, 0.9),
			p99: percentile(sorted, 0.99), max: percentile(sorted, 1)};
	};
	const calls = [...byCall].map(([id, values]) => ({call: textOf(id), ...describe(values)}));
	calls.sort((a, b) => b.count - a.count);
	return {bins, all: describe(all), calls};
}

/* ---- timeline ---- */

/* How many records of each kind are in each of `size` equal parts of [from, to], by run. */
function getBins(from, to, size) {
	const lanes = about.runs.map(() => ({allowed: new Array(size).fill(0), denied: new Array(size).fill(0),
		network: new Array(size).fill(0)}));
	const scale = size / Math.max(to - from, 1);
	for (let i = 0; i < count; i++) {
		const time = column.time[i];
		if (time < from || time > to)
			continue;
		const bin = Math.min(size - 1, Math.max(0, Math.floor((time - from) * scale)));
		lanes[column.run[i]][denied[i] ? 'denied' : network[i] ? 'network' : 'allowed'][bin]++;
	}
	return lanes;
}

/* ---- summary ---- */

function summarise(run) {
	const processes = new Set(), programs = new Map();
	let unfinished = 0, records = 0;
	for (let i = 0; i < count; i++) {
		if (column.run[i] !== run)
			continue;
		records++;
		unfinished += column.ns[i] < 0 ? 1 : 0;
		if (column.pid[i])
			processes.add(column.pid[i]);
		const call = textOf(column.call[i]);
		if (call.startsWith('exec') && !denied[i] && !column.errno[i] && pathIdOf(i, false)) {
			const name = textOf(pathIdOf(i, false));
			programs.set(name, (programs.get(name) || 0) + 1);
		}
	}
	return {processes: processes.size, unfinished, records,
		programs: [...programs].sort((a, b) => b[1] - a[1]).map(([name, n]) => ({name, count: n})),
		files: summariseFiles(run), endpoints: getEndpoints(run)};
}
