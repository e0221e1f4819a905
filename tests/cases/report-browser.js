// Opens pages of `callgate audit report` in headless Chromium: report-browser.js DIRECTORY with real.html (one run),
// two.html (two runs), many.html (three), hostile.html with strings.json, strange.html (an edited log), large.html
// (500,000 records). NODE_PATH names the directory of playwright-core and axe-core. SCREENSHOTS names a directory for
// pictures.
'use strict';
const fs = require('fs');
const path = require('path');
const {chromium} = require('playwright-core');
const axe = require('axe-core');

const dir = process.argv[2];
const LONGEST_TASK_MS = 200;
let failures = 0;

function check(holds, what) {
	if (holds)
		return;
	failures++;
	console.log('FAIL: ' + what);
}

async function open(browser, name, scheme = 'light', fragment = '') {
	const context = await browser.newContext({viewport: {width: 1280, height: 900}, colorScheme: scheme,
		permissions: ['clipboard-read', 'clipboard-write']});
	const page = await context.newPage();
	page.trouble = [];
	page.on('console', (message) => page.trouble.push(message.type() + ': ' + message.text()));
	page.on('pageerror', (error) => page.trouble.push('error: ' + error.message));
	page.on('dialog', (dialog) => page.trouble.push('dialog: ' + dialog.message()));
	page.on('popup', () => page.trouble.push('popup'));
	page.on('framenavigated', (frame) => page.moved = (page.moved || 0) + 1);
	page.on('request', (request) => {
		if (!/^(blob:|file:.*[.]html)/.test(request.url()))
			page.trouble.push('request: ' + request.url());
	});
	await page.addInitScript(() => {
		window.longTasks = [];
		new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((one) => one.duration)))
			.observe({type: 'longtask', buffered: true});
	});
	await page.goto('file://' + path.join(dir, name) + fragment);
	await page.waitForSelector('html[data-ready]', {timeout: 60000});
	return page;
}

function quiet(page, name) {
	check(page.trouble.length === 0, name + ': ' + page.trouble.slice(0, 5).join('; '));
}

async function found(page) {
	return Number((await page.textContent('#found')).split(' ')[0].replace(/,/g, ''));
}

/* Sets a filter and waits until the list has followed. */
async function filter(page, selector, value) {
	const before = await page.textContent('#found');
	if ((await page.$eval(selector, (node) => node.tagName)) === 'SELECT')
		await page.selectOption(selector, value);
	else
		await page.fill(selector, value);
	await page.waitForFunction((text) => document.querySelector('#found').textContent !== text, before, {timeout: 10000})
		.catch(() => check(false, 'filter ' + selector + ' ' + value + ' changes nothing'));
	return found(page);
}

/* Clears the filters, and waits until the list has all records. */
async function clear(page, all) {
	await page.click('#clear');
	await page.waitForFunction((n) => document.querySelector('#found').textContent.replace(/,/g, '').startsWith(n + ' '),
		String(all), {timeout: 10000});
}

async function accessible(page, name) {
	await page.evaluate(axe.source);
	const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
	for (const one of result.violations)
		if (['serious', 'critical'].includes(one.impact))
			check(false, name + ': axe: ' + one.id + ': ' + one.help + ': ' + one.nodes.slice(0, 3)
				.map((node) => node.html.slice(0, 160) + ' ' + (node.any[0] || {message: ''}).message).join(' | '));
}

async function screenshot(page, name) {
	if (process.env.SCREENSHOTS)
		await page.screenshot({path: path.join(process.env.SCREENSHOTS, name + '.png')});
}

async function tryReal(browser) {
	const page = await open(browser, 'real.html');
	const all = await found(page);
	check(all > 20, 'real: only ' + all + ' records');
	await screenshot(page, 'report-light');
	const refused = await filter(page, '#filter-verdict', 'denied');
	check(refused > 0 && refused < all, 'real: ' + refused + ' denied of ' + all);
	check((await page.$$('#grid .line')).length === (await page.$$('#grid .line.denied')).length,
		'real: not only denials');
	await clear(page, all);
	check(await filter(page, '#filter-text', 'PASSWD') > 0, 'real: search finds nothing');
	await page.fill('#filter-text', '');

	/* Trees by keyboard. */
	await page.focus('#files-body [role="treeitem"]');
	const items = (await page.$$('#files-body [role="treeitem"]')).length;
	await page.keyboard.press('End');
	await page.keyboard.press('Home');
	await page.keyboard.press('ArrowRight');
	await page.waitForFunction((n) => document.querySelectorAll('#files-body [role="treeitem"]').length > n, items);
	await page.keyboard.press('ArrowDown');
	check(await page.evaluate(() => document.activeElement.getAttribute('aria-level')) === '2', 'real: tree by keyboard');
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.activeElement.id === 'grid');
	check(await found(page) < all, 'real: a file of the tree chooses its records');
	await clear(page, all);

	/* The list by keyboard, and the address that it makes. */
	await page.focus('#grid');
	await page.keyboard.press('End');
	await page.waitForFunction(() => /^#record=\d+$/.test(location.hash));
	await page.keyboard.press('Home');
	await page.keyboard.press('ArrowDown');
	await page.waitForFunction(() => location.hash === '#record=2');
	await page.keyboard.press('Enter');
	check(await page.evaluate(() => document.activeElement.id) === 'detail', 'real: Enter goes to the fields');
	await page.keyboard.press('Escape');
	check(await page.evaluate(() => document.activeElement.id) === 'grid', 'real: Escape comes back');
	await page.keyboard.press('/');
	check(await page.evaluate(() => document.activeElement.id) === 'filter-text', 'real: "/" goes to the search');

	/* Zoom, copy, theme. */
	await page.click('[aria-label="Zoom in"]');
	await page.waitForFunction(() => document.querySelector('#found').textContent.includes('between'));
	await page.click('[aria-label="All of the run"]');
	await page.click('#denials-body button[aria-label^="Copy "]');
	await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Copied'));
	check((await page.evaluate(() => navigator.clipboard.readText())).startsWith('-'), 'real: the suggestion is copied');
	await page.click('#theme');
	await page.click('#theme');
	check(await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === 'rgb(18, 23, 29)', 'real: theme');
	quiet(page, 'real');
	await page.context().close();

	for (const scheme of ['light', 'dark']) {
		const shown = await open(browser, 'real.html', scheme, '#record=3');
		check((await shown.textContent('#detail h3')) === 'Record 3', scheme + ': deep link');
		await shown.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
		await accessible(shown, scheme);
		await screenshot(shown, 'report-records-' + scheme);
		await shown.evaluate(() => scrollTo(0, 0));
		await screenshot(shown, 'report-' + scheme + '-open');
		if (scheme === 'light') {
			await shown.emulateMedia({media: 'print'});
			const print = await shown.$eval('#records', (node) => getComputedStyle(node).display);
			check(print === 'none' && await shown.isVisible('#denials-body table'), 'print: not as it should be');
		}
		quiet(shown, scheme);
		await shown.context().close();
	}
}

async function tryTwo(browser) {
	const page = await open(browser, 'two.html', 'light', '#record=2.1');
	check((await page.textContent('#detail h3')) === 'Record 1 of run 2', 'two: deep link into the second run');
	check(await page.isVisible('#compare'), 'two: no comparison');
	check(/[1-9]\d* difference/.test(await page.textContent('#compare-files summary')), 'two: no file differs');
	check((await page.textContent('#compare-files')).includes('only-b'), 'two: a file of the second run alone');
	await page.selectOption('#run-select', '1');
	await page.waitForFunction(() => document.querySelectorAll('#summary-body article').length === 1);
	await accessible(page, 'two');
	await page.evaluate(() => document.querySelector('#compare').scrollIntoView());
	await screenshot(page, 'report-compare');
	quiet(page, 'two');
	await page.context().close();
}

/* Every string of the corpus is somewhere in the page as text, and none of them does anything. */
async function tryHostile(browser) {
	const page = await open(browser, 'hostile.html');
	const strings = JSON.parse(fs.readFileSync(path.join(dir, 'strings.json')));
	const own = await page.$$eval('script', (nodes) => nodes.filter((node) => node.type !== 'application/json').length);
	check(own === 1, 'hostile: ' + own + ' scripts');
	for (const button of await page.$$('main section > div > button'))
		await button.click();
	await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
	/* The path of each open, as its record's fields show it. */
	const paths = await page.evaluate(async (count) => {
		const shown = [];
		for (let i = 0; i < count; i++) {
			const title = 'Record ' + (i * 3 + 1);
			location.hash = '#record=' + (i * 3 + 1);
			while ((document.querySelector('#detail h3') || {}).textContent !== title)
				await new Promise((resolve) => { setTimeout(resolve, 2); });
			shown.push([...document.querySelectorAll('#detail dt')].find((node) => node.textContent === 'path').nextSibling
				.textContent);
		}
		return shown;
	}, strings.length);
	paths.forEach((shown, i) => {
		const plain = shown.replace(/\\u\{([0-9a-f]+)\}|(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})/g, (all, long, before, short) =>
			(before || '') + String.fromCodePoint(parseInt(long || short, 16)));
		check(plain === '/srv/' + strings[i], 'hostile: ' + JSON.stringify(strings[i].slice(0, 80)) + ' is shown as ' +
			JSON.stringify(shown.slice(0, 80)));
		check(!/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/.test(shown),
			'hostile: invisible characters are not escaped: ' + JSON.stringify(shown.slice(0, 80)));
	});
	const strange = await page.$$eval('main *', (nodes) => nodes.map((node) => node.tagName.toLowerCase()).filter((name) =>
		['img', 'iframe', 'object', 'embed', 'video', 'base', 'link', 'meta', 'math', 'plaintext', 'style', 'script',
			'textarea', 'frameset'].includes(name)));
	check(strange.length === 0, 'hostile: elements ' + strange.slice(0, 5));
	const handlers = await page.$$eval('*', (nodes) => nodes.filter((node) => [...node.attributes].some((one) =>
		one.name.startsWith('on'))).length);
	check(handlers === 0, 'hostile: ' + handlers + ' elements with handlers as attributes');
	const links = await page.$$eval('a', (nodes) => nodes.map((node) => node.getAttribute('href'))
		.filter((href) => !href.startsWith('#')));
	check(links.length === 0, 'hostile: links ' + links.slice(0, 3));
	const copied = await page.$$eval('button[aria-label^="Copy "]', (nodes) => nodes.length);
	check(copied > 50, 'hostile: only ' + copied + ' suggestions');
	check(await page.evaluate(() => window.hacked) === undefined, 'hostile: a string was run');
	quiet(page, 'hostile');
	await page.context().close();
}

/* An edited log, with JSON of other types than callgate writes; and three runs. */
async function tryStrange(browser) {
	for (const [name, link, title] of [['strange.html', '#record=20', 'Record 20'],
		['many.html', '#record=2.1', 'Record 1 of run 2']]) {
		const page = await open(browser, name, 'dark', link);
		check((await page.textContent('#detail h3')) === title, name + ': deep link');
		check(await found(page) > 1000, name + ': only ' + await found(page) + ' records');
		check(await page.isHidden('#compare'), name + ': a comparison');
		quiet(page, name);
		await page.context().close();
	}
}

async function tryLarge(browser) {
	const begun = Date.now();
	const page = await open(browser, 'large.html');
	const ready = Date.now() - begun, loading = Math.max(0, ...await page.evaluate(() => window.longTasks));
	check(await found(page) === 500000, 'large: ' + await found(page) + ' records');
	const slowest = [];
	for (const [selector, value] of [['#filter-text', 'file-4711'], ['#filter-text', ''], ['#filter-verdict', 'denied'],
		['#filter-verdict', ''], ['#filter-call', 'unlink'], ['#filter-text', 'd17/'], ['#filter-slower', '20']]) {
		await page.evaluate(() => { window.longTasks.length = 0; });
		const from = Date.now();
		await filter(page, selector, value);
		slowest.push([Date.now() - from, Math.max(0, ...await page.evaluate(() => window.longTasks))]);
	}
	await page.evaluate(() => { window.longTasks.length = 0; });
	await clear(page, 500000);
	await page.focus('#grid');
	await page.keyboard.press('End');
	await page.waitForFunction(() => location.hash === '#record=500000', null, {timeout: 10000})
		.catch(() => check(false, 'large: End does not go to the last record'));
	for (let i = 0; i < 20; i++) {
		await page.evaluate((part) => { document.querySelector('#grid').scrollTop = part * 6e5; }, i);
		await page.waitForTimeout(20);
	}
	const lines = (await page.$$('#grid .line')).length;
	check(lines > 0 && lines < 100, 'large: ' + lines + ' rows are in the document');
	const scrolling = Math.max(0, ...await page.evaluate(() => window.longTasks));
	await page.evaluate(() => setTimeout(() => { for (const end = Date.now() + 300; Date.now() < end;); }, 0));
	await page.waitForFunction(() => Math.max(0, ...window.longTasks) > 250, null, {timeout: 5000})
		.catch(() => check(false, 'large: the browser does not tell of long tasks'));
	const longest = Math.max(...slowest.map((one) => one[1]), scrolling);
	check(longest <= LONGEST_TASK_MS, 'large: a task of ' + longest + ' ms');
	console.log('500,000 records: shown after ' + ready + ' ms (longest task ' + Math.round(loading) + ' ms); a filter ' +
		'takes ' + Math.max(...slowest.map((one) => one[0])) + ' ms at most, the longest task meanwhile ' +
		Math.round(longest) + ' ms');
	quiet(page, 'large');
	await page.context().close();
}

(async () => {
	const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: [
		'--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
		'--disable-component-update', '--disable-sync']});
	for (const [name, one] of [['real', tryReal], ['two', tryTwo], ['hostile', tryHostile],
		['strange', tryStrange], ['large', tryLarge]]) {
		const begun = Date.now();
		await one(browser).catch((error) => check(false, name + ': ' + error.message));
		console.log(name + ': ' + (Date.now() - begun) + ' ms');
	}
	await browser.close();
	process.exit(failures ? 1 : 0);
})();
