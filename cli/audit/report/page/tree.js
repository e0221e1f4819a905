/* ---- trees, whose branches are made when they are opened (WAI-ARIA: tree view) ---- */

const TREE_PAGE = 200; /* children that are shown at once */

/*
 * tree({label, empty, load, choose}): load(item, from) promises {children, total}, of the root with item null; a child
 * is {item, branch, nodes}. choose(item) is called by Enter and by a double click. empty: shown without children.
 */
function tree(options) {
	const root = el('ul', {role: 'tree', 'aria-label': options.label});
	const items = new Map();

	const visible = () => [...root.querySelectorAll('[role="treeitem"]')].filter((node) => {
		const outer = node.parentElement.closest('[role="treeitem"]');
		return !outer || !node.parentElement.hidden;
	}).filter((node) => node.offsetParent !== null);
	const focusOn = (node) => {
		if (!node)
			return;
		root.querySelectorAll('[tabindex="0"]').forEach((other) => other.setAttribute('tabindex', '-1'));
		node.setAttribute('tabindex', '0');
		node.focus();
	};

	async function addChildren(list, item, level, from) {
		const {children, total} = await options.load(item, from);
		for (const child of children)
			list.append(itemOf(child, level));
		const shown = from + children.length;
		if (shown < total && children.length)
			list.append(moreOf(list, item, level, shown, total));
	}
	function moreOf(list, item, level, shown, total) {
		const node = el('li', {role: 'treeitem', tabindex: '-1', 'aria-level': level}, el('div.node', null,
			el('span.label.quiet', null, number(total - shown) + ' more')));
		const more = async () => {
			node.remove();
			const place = list.children.length;
			await addChildren(list, item, level, shown);
			focusOn(list.children[place]);
		};
		items.set(node, {more});
		node.firstChild.addEventListener('click', more);
		return node;
	}
	function itemOf(child, level) {
		const node = el('li', {role: 'treeitem', tabindex: '-1', 'aria-level': level, 'aria-selected': 'false',
			'aria-expanded': child.branch ? 'false' : null}, el('div.node', null, child.nodes));
		items.set(node, {child, level, group: null});
		node.firstChild.addEventListener('click', () => {
			focusOn(node);
			toggle(node);
		});
		node.firstChild.addEventListener('dblclick', () => options.choose(child.item));
		return node;
	}
	async function toggle(node, open = node.getAttribute('aria-expanded') !== 'true') {
		const entry = items.get(node);
		if (!entry.child || !entry.child.branch)
			return;
		node.setAttribute('aria-expanded', String(open));
		if (open && !entry.group) {
			entry.group = el('ul', {role: 'group'});
			node.append(entry.group);
			await addChildren(entry.group, entry.child.item, entry.level + 1, 0);
		}
		if (entry.group)
			entry.group.hidden = !open;
	}

	function move(node, key) {
		const all = visible(), at = all.indexOf(node), expanded = node.getAttribute('aria-expanded');
		if (key === 'ArrowDown' || (key === 'ArrowRight' && expanded === 'true'))
			focusOn(all[at + 1]);
		else if (key === 'ArrowUp')
			focusOn(all[at - 1]);
		else if (key === 'Home' || key === 'End')
			focusOn(all[key === 'Home' ? 0 : all.length - 1]);
		else if (key === 'ArrowRight' && expanded === 'false')
			toggle(node, true);
		else if (key === 'ArrowLeft' && expanded === 'true')
			toggle(node, false);
		else if (key === 'ArrowLeft')
			focusOn(node.parentElement.closest('[role="treeitem"]'));
		else if (key === 'Enter' || key === ' ')
			choose(node);
		else
			return false;
		return true;
	}
	function choose(node) {
		const entry = items.get(node);
		if (entry.more)
			entry.more();
		else
			options.choose(entry.child.item);
	}
	root.addEventListener('keydown', (event) => {
		if (items.has(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey &&
			move(event.target, event.key))
			event.preventDefault();
	});

	const ready = addChildren(root, null, 1, 0).then(() => {
		if (root.firstElementChild)
			root.firstElementChild.setAttribute('tabindex', '0');
		else
			root.replaceWith(el('p.quiet', null, options.empty));
	});
	return {root, ready, expand: (node) => toggle(node, true)};
}

/* ---- processes ---- */

function processItem(one) {
	return {item: one, branch: one.children.length > 0, nodes: [
		el('span.label', null, el('span.quiet', null, one.pid + ' '), data(one.argv || one.exe || '?', 300)),
		one.denied ? el('span.chip.bad', null, number(one.denied) + ' denied') : null,
		el('span.quiet', null, amount(one.calls, 'call') + ', ' + duration(one.last - one.first))].filter(Boolean)};
}

async function showProcesses() {
	const {list, roots, total, lost} = await ask('getProcesses', state.run);
	const made = tree({label: 'Processes', empty: 'No process is on record.',
		load: async (item, from) => {
			const all = item ? item.children : roots;
			return {children: all.slice(from, from + TREE_PAGE).map((i) => processItem(list[i])), total: all.length};
		},
		choose: (item) => showRecords({pid: item.pid, run: item.run})});
	await made.ready;
	for (const node of [...made.root.children].slice(0, 20))
		await made.expand(node);
	fill(byId('processes-body'), el('p.help', null, amount(total, 'process', 'processes') + ' on record' +
		(lost ? ', of which ' + lost + ' have no root' : '') + '. Enter or a double click shows the records of a process.'),
	made.root);
}

/* ---- files ---- */

const MARK_CHIPS = [['read', 'plain'], ['written', 'warn'], ['run', 'good'], ['denied', 'bad'], ['absent', 'plain']];
const markChosen = [true, true, true, true, false];

function fileItem(child) {
	return {item: child, branch: child.directory, nodes: [
		el('span.label', null, data(child.label + (child.directory ? '/' : ''), 500)),
		MARK_CHIPS.map(([name, kind], mark) => child.counts[mark] > 0 && markChosen[mark] &&
			el('span.chip.' + kind, null, name + ' ' + number(child.counts[mark])))].flat().filter(Boolean)};
}

async function showFiles() {
	const wanted = markChosen.map((chosen, mark) => (chosen ? mark : -1));
	const made = tree({label: 'Files', empty: 'No such file is on record.',
		load: async (item, from) => {
			const {children, total} = await ask('getFiles', state.run, item ? item.path + '/' : '/', wanted, from, TREE_PAGE);
			return {children: children.map(fileItem), total};
		},
		choose: (item) => showRecords({under: item.path})});
	await made.ready;
	const boxes = MARK_CHIPS.map(([name], mark) => {
		const box = el('input', {type: 'checkbox', id: 'mark-' + name});
		box.checked = markChosen[mark];
		box.addEventListener('change', async () => {
			markChosen[mark] = box.checked;
			await showFiles();
			byId('mark-' + name).focus();
		});
		return el('label', {for: 'mark-' + name}, box, ' ' + name);
	});
	fill(byId('files-body'), el('div.row', {role: 'group', 'aria-label': 'Marks'}, boxes),
		el('p.help', null, 'Calls, by the right that the rules were asked for; “absent”: there was no such file. ' +
			'Enter or a double click shows the records about a path.'), made.root);
}
