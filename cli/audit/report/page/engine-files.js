/* ---- files: a tree over the sorted distinct paths, of which only what is shown is made ---- */

const MARKS = ['read', 'written', 'run', 'denied', 'absent'];
const fileTrees = new Map();

/* The canonical path that a record is about; 0: unknown. second: its second path. */
function pathIdOf(index, second) {
	const resolved = column[second ? 'resolved2' : 'resolved'][index];
	const written = column[second ? 'path2' : 'path'][index];
	if (resolved)
		return resolved > 1 ? resolved : 0;
	return written > 1 && typeof texts[written] === 'string' && texts[written].startsWith('/') ? written : 0;
}

/* Calls `each` with the path and the mark of every access to a file. */
function eachAccess(run, each) {
	const absent = idsOf(['ENOENT', 'absent']);
	const markOf = {r: 0, w: 1, x: 2};
	for (let i = 0; i < count; i++) {
		const right = column.right[i];
		if ((run >= 0 && column.run[i] !== run) || network[i] || !right)
			continue;
		let mark = markOf[texts[right]];
		if (absent.has(column.reason[i]) || (!denied[i] && absent.has(column.errno[i])))
			mark = 4;
		else if (denied[i])
			mark = 3;
		else if (column.errno[i])
			continue; /* it failed, as it would have without callgate */
		for (const second of [false, true]) {
			const id = pathIdOf(i, second);
			if (id > 0)
				each(id, mark, i);
		}
	}
}

function fileTree(run) {
	if (fileTrees.has(run))
		return fileTrees.get(run);
	const marks = new Map();
	eachAccess(run, (id, mark) => {
		let counts = marks.get(id);
		if (!counts)
			marks.set(id, counts = [0, 0, 0, 0, 0]);
		counts[mark]++;
	});
	const entries = [...marks].map(([id, counts]) => ({path: texts[id].replace(/\/+$/, '') || '/', counts}));
	entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
	const paths = entries.map((one) => one.path);
	const sums = MARKS.map((name, mark) => {
		const sum = new Float64Array(entries.length + 1);
		entries.forEach((one, i) => { sum[i + 1] = sum[i] + one.counts[mark]; });
		return sum;
	});
	const files = MARKS.map((name, mark) => {
		const sum = new Float64Array(entries.length + 1);
		entries.forEach((one, i) => { sum[i + 1] = sum[i] + (one.counts[mark] ? 1 : 0); });
		return sum;
	});
	const tree = {paths, sums, files};
	fileTrees.set(run, tree);
	return tree;
}

/* The first place whose path is not less than `text`. */
function lowerBound(paths, text) {
	let low = 0, high = paths.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (paths[middle] < text)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds [low, high) to a child. '0' is the character after '/', so it ends the range of what is below a directory. */
function addToChild(tree, children, name, low, high, directory) {
	let child = children.get(name);
	if (!child)
		children.set(name, child = {name, counts: [0, 0, 0, 0, 0], directory: false});
	MARKS.forEach((mark, m) => { child.counts[m] += tree.sums[m][high] - tree.sums[m][low]; });
	child.directory = child.directory || directory;
}

/* The names in a directory, which ends with '/'. */
function childrenOf(tree, directory) {
	const children = new Map();
	const end = lowerBound(tree.paths, directory.slice(0, -1) + '0');
	for (let i = lowerBound(tree.paths, directory); i < end;) {
		const rest = tree.paths[i].slice(directory.length);
		const slash = rest.indexOf('/');
		const name = slash < 0 ? rest : rest.slice(0, slash);
		const next = slash < 0 ? i + 1 : lowerBound(tree.paths, directory + name + '0');
		if (name)
			addToChild(tree, children, name, i, next, slash >= 0);
		i = Math.max(next, i + 1);
	}
	return [...children.values()];
}

/* The children of a directory that have one of the marks. Directories with a single child are one with it. */
function getFiles(run, directory, wanted, from, limit) {
	const tree = fileTree(run);
	const hasMark = (child) => child.counts.some((n, mark) => n > 0 && wanted.includes(mark));
	const all = childrenOf(tree, directory).filter(hasMark);
	all.sort((a, b) => b.directory - a.directory || (a.name < b.name ? -1 : 1));
	const page = all.slice(from, from + limit).map((child) => {
		let path = directory + child.name, label = child.name;
		while (child.directory) {
			const below = childrenOf(tree, path + '/').filter(hasMark);
			const itself = tree.paths[lowerBound(tree.paths, path)] === path;
			if (below.length !== 1 || itself || !below[0].directory)
				break;
			path += '/' + below[0].name;
			label += '/' + below[0].name;
		}
		return {path, label, directory: child.directory, counts: child.counts};
	});
	return {children: page, total: all.length};
}

/* What every program needs comes last among examples. */
function isUsual(path) {
	return path === '/' || /^\/(usr|lib|lib64|bin|sbin|etc|dev|proc|sys)(\/|$)/.test(path);
}

/* How many files have each mark, and some examples. */
function summariseFiles(run) {
	const tree = fileTree(run);
	return MARKS.map((name, mark) => {
		const own = [], usual = [];
		for (let i = 0; i < tree.paths.length && own.length < 8; i++)
			if (tree.files[mark][i + 1] > tree.files[mark][i])
				(isUsual(tree.paths[i]) ? usual : own).push(tree.paths[i]);
		return {mark: name, files: tree.files[mark][tree.paths.length], first: own.concat(usual.slice(0, 8)).slice(0, 8)};
	});
}
