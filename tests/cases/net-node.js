// Node's clients of HTTP, no option of trust nor of a proxy: net-node.js HTTPS HTTP2 WEBSOCKET (the ports of node.test).
'use strict';
const https = require('https');
const http2 = require('http2');
const [h1, h2, ws] = process.argv.slice(2);
const url = `https://node.test:${h1}`;

// By the https module; gives status, body, and whether the connection had been used before.
function ask(path, agent, method = 'GET', body = null) {
	return new Promise((resolve, reject) => {
		const request = https.request(url + path, {agent, method}, (response) => {
			const parts = [];
			response.on('data', (part) => parts.push(part));
			response.on('end', () => resolve([response.statusCode, Buffer.concat(parts), request.reusedSocket]));
			response.on('error', reject);
		});
		request.on('error', reject);
		if (body)
			for (const part of body)
				request.write(part); // no length: chunked
		request.end();
	});
}

async function byFetch() {
	console.log('fetch', (await (await fetch(url + '/ok')).text()).trim());
	const answers = await Promise.all([...Array(20).keys()].map(async (i) => (await (await fetch(`${url}/size/${i}`)).text()).length));
	console.log('fetch parallel', answers.join(' '));
	const post = await fetch(url + '/echo', {method: 'POST', body: 'a'.repeat(100000)});
	console.log('fetch post', (await post.arrayBuffer()).byteLength);
	const stream = new ReadableStream({
		start(control) {
			for (let i = 0; i < 5; i++)
				control.enqueue(new Uint8Array(10000));
			control.close();
		},
	});
	const streamed = await fetch(url + '/echo', {method: 'POST', body: stream, duplex: 'half'});
	console.log('fetch stream', (await streamed.arrayBuffer()).byteLength);
	const refused = await fetch(url + '/secret');
	console.log('fetch', refused.status, (await refused.json()).reason);
	await fetch('https://elsewhere.test/').catch((error) => console.log('fetch elsewhere', error.cause.code));
}

async function byHttps() {
	const agent = new https.Agent({keepAlive: true, maxSockets: 1});
	for (let i = 0; i < 4; i++) {
		const [status, body, reused] = await ask('/ok', agent);
		console.log('https kept', status, String(body).trim(), reused);
	}
	const [status, body] = await ask('/echo', agent, 'POST', ['x'.repeat(70000), 'y']);
	console.log('https chunked', status, body.length);
	agent.destroy();
	const answers = await Promise.all([...Array(20)].map(() => ask('/ok', new https.Agent())));
	console.log('https parallel', answers.filter(([code]) => code === 200).length);
}

function byHttp2() {
	return new Promise((resolve, reject) => {
		const session = http2.connect(`https://node.test:${h2}`);
		let left = 21;
		let good = 0;
		session.on('error', reject);
		for (let i = 0; i <= 20; i++) {
			const stream = session.request({':path': i ? '/file' : '/secret'});
			let status;
			let text = '';
			stream.setEncoding('utf8');
			stream.on('response', (headers) => {
				status = headers[':status'];
			});
			stream.on('data', (part) => {
				text += part;
			});
			stream.on('error', reject);
			stream.on('end', () => {
				good += Number(i ? status === 200 && text === 'by files\n' : status === 403);
				if (--left === 0) {
					console.log('http2', good);
					session.close(resolve);
				}
			});
		}
	});
}

function chat(name, Client, path) {
	return new Promise((resolve) => {
		const socket = new Client(`wss://node.test:${ws}${path}`);
		socket.onopen = () => socket.send('x'.repeat(100000));
		socket.onmessage = (event) => {
			console.log(name, 'echo', event.data.length);
			socket.close(1000);
		};
		socket.onclose = (event) => {
			console.log(name, path, event.code);
			resolve();
		};
		socket.onerror = () => { // of the two, some have this alone
			console.log(name, path, 'refused');
			socket.onclose = null;
			resolve();
		};
	});
}

async function main() {
	await byFetch();
	await byHttps();
	await byHttp2();
	const clients = {global: globalThis.WebSocket};
	try {
		clients.ws = require('/usr/share/nodejs/ws');
	} catch {
		// not installed
	}
	for (const [name, client] of Object.entries(clients)) {
		if (client) {
			await chat(name, client, '/chat');
			await chat(name, client, '/other');
		}
	}
}

main().then(() => console.log('done'), (error) => {
	console.error(error);
	process.exit(1);
});
