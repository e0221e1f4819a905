/* ---- the engine, in a worker or, where the browser has none for this page, on the page itself ---- */

let worker = null;
let engine = null;
let lastId = 0;
const waiting = new Map();

function startWorker() {
	const source = '"use strict";\n' + createEngine.toString() + '\ncreateEngine().serve(self);';
	const address = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));
	const policy = window.trustedTypes && trustedTypes.createPolicy('report', {createScriptURL: (url) => url});
	worker = new Worker(policy ? policy.createScriptURL(address) : address);
	worker.onmessage = (event) => {
		const {id, value, error} = event.data;
		const {resolve, reject} = waiting.get(id);
		waiting.delete(id);
		if (error)
			reject(new Error(error));
		else
			resolve(value);
	};
}

function startEngine() {
	try {
		startWorker();
	} catch (error) {
		worker = null;
		engine = createEngine();
	}
}

/* Asks the engine: ask('getRows', 0, 50). A promise of the answer. */
function ask(name, ...args) {
	if (!worker)
		return Promise.resolve().then(() => engine.questions[name](...args));
	return new Promise((resolve, reject) => {
		waiting.set(++lastId, {resolve, reject});
		worker.postMessage({id: lastId, name, args});
	});
}

function pause() {
	return new Promise((resolve) => { setTimeout(resolve, 0); });
}

/* Hands the data blocks of the page to the engine, some at a time, and drops them from the page. */
async function loadData() {
	for (const [kind, question] of [['rows', 'addRows'], ['texts', 'addTexts']]) {
		const blocks = [...document.querySelectorAll('script.' + kind)];
		for (let i = 0; i < blocks.length; i++) {
			await ask(question, blocks[i].textContent);
			blocks[i].remove();
			if (i % 4 === 3)
				await pause();
		}
	}
	return ask('start', byId('about').textContent);
}
