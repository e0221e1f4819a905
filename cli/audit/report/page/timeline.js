/* ---- timeline ---- */

const SVG = 'http://www.w3.org/2000/svg';
const BINS = 240;
const LANE_HEIGHT = 60;
const LANES_MAX = 6;
const view = {from: 0, to: 1};

function svg(tag, attributes) {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	return element;
}

function wholeSpan() {
	return Math.max(1, ...state.span.filter((span, run) => state.run < 0 || state.run === run));
}

function drawLane(lane, picture) {
	const most = Math.max(1, ...lane.allowed.map((n, i) => n + lane.denied[i] + lane.network[i]));
	for (let i = 0; i < BINS; i++) {
		let y = LANE_HEIGHT;
		for (const kind of ['denied', 'network', 'allowed']) {
			const n = lane[kind][i];
			if (!n)
				continue;
			/* What is rare stays visible. */
			const height = Math.min(y, Math.max(kind === 'allowed' ? 1 : 4, n / most * (LANE_HEIGHT - 4)));
			y -= height;
			picture.append(svg('rect', {class: kind, x: i, y, width: 0.9, height}));
		}
	}
}

/* Dragging over the picture chooses a part of the time. */
function makeZoomable(picture) {
	let start = null, shade = null;
	const place = (event) => {
		const box = picture.getBoundingClientRect();
		return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
	};
	picture.addEventListener('pointerdown', (event) => {
		start = place(event);
		shade = svg('rect', {class: 'drag', x: start * BINS, y: 0, width: 0, height: LANE_HEIGHT});
		picture.append(shade);
		picture.setPointerCapture(event.pointerId);
	});
	picture.addEventListener('pointermove', (event) => {
		if (start === null)
			return;
		const now = place(event);
		shade.setAttribute('x', Math.min(start, now) * BINS);
		shade.setAttribute('width', Math.abs(now - start) * BINS);
	});
	picture.addEventListener('pointerup', (event) => {
		const now = place(event), from = Math.min(start, now), to = Math.max(start, now), span = view.to - view.from;
		start = null;
		shade.remove();
		if (to - from > 0.01)
			zoomTo(view.from + from * span, view.from + to * span);
	});
}

async function zoomTo(from, to) {
	const whole = wholeSpan(), span = Math.min(Math.max(to - from, 1000), whole);
	view.from = Math.min(Math.max(0, from), whole - span);
	view.to = view.from + span;
	await drawTimeline();
	const part = view.from > 0 || view.to < whole;
	setFilter({from: part ? view.from : 0, to: part ? view.to : 0});
}

function zoomBy(factor) {
	const middle = (view.from + view.to) / 2, half = (view.to - view.from) * factor / 2;
	return zoomTo(middle - half, middle + half);
}

function pan(part) {
	const step = (view.to - view.from) * part;
	return zoomTo(view.from + step, view.to + step);
}

async function drawTimeline() {
	const lanes = await ask('getBins', view.from, view.to, BINS);
	const shown = lanes.map((lane, run) => ({lane, run})).filter((one) => state.run < 0 || state.run === one.run);
	fill(byId('lanes'), shown.slice(0, LANES_MAX).map(({lane, run}) => {
		const sum = (kind) => lane[kind].reduce((total, n) => total + n, 0);
		const label = (state.runs.length > 1 ? 'Run ' + (run + 1) + ': ' : '') + number(sum('allowed')) + ' allowed, ' +
			number(sum('denied')) + ' denied and ' + number(sum('network')) + ' network events between ' +
			duration(view.from) + ' and ' + duration(view.to);
		const picture = svg('svg', {class: 'lane', viewBox: '0 0 ' + BINS + ' ' + LANE_HEIGHT, preserveAspectRatio: 'none',
			role: 'img', 'aria-label': label});
		drawLane(lane, picture);
		makeZoomable(picture);
		return el('div', null, state.runs.length > 1 ? el('p.quiet', null, data(shortName(state.runs[run], run), 120)) : null,
			picture);
	}), shown.length > LANES_MAX ? el('p.quiet', null, number(shown.length - LANES_MAX) + ' more runs: choose one above')
		: null, el('div.axis', null, [0, 1, 2, 3, 4].map((part) => el('span', null,
		duration(view.from + (view.to - view.from) * part / 4)))));
}

async function showTimeline() {
	const button = (text, label, act) => el('button', {type: 'button', 'aria-label': label, onclick: act}, text);
	view.from = 0;
	view.to = wholeSpan();
	fill(byId('timeline-body'), el('div.row', {role: 'toolbar', 'aria-label': 'Timeline', onkeydown: (event) => {
		const act = {'+': () => zoomBy(0.5), '-': () => zoomBy(2), 0: () => zoomTo(0, wholeSpan()),
			ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25)}[event.key];
		if (act) {
			event.preventDefault();
			act();
		}
	}}, button('+', 'Zoom in', () => zoomBy(0.5)), button('−', 'Zoom out', () => zoomBy(2)),
	button('◂', 'Earlier', () => pan(-0.5)), button('▸', 'Later', () => pan(0.5)),
	button('All', 'All of the run', () => zoomTo(0, wholeSpan())),
	el('span.key', null, 'allowed'), el('span.key.network', null, 'network'), el('span.key.denied', null, 'denied'),
	el('span.help', null, 'Since the start of the run. Drag over the picture to zoom in; the records below follow.')),
	el('div', {id: 'lanes'}));
	await drawTimeline();
}
