// Servers on unix sockets: an echo, a connection handed to a child, a cluster that shares one listener.
const net = require("net"), cluster = require("cluster"), child_process = require("child_process"), fs = require("fs");

function read(path, then) {
	let text = "";
	return net.connect(path).on("data", (data) => (text += data)).on("close", () => then(text));
}

function echo() {
	const server = net.createServer((peer) => peer.pipe(peer)).listen("./echo.sock", () => {
		console.log("listening", server.address(), fs.lstatSync("echo.sock").isSocket());
		read("echo.sock", (text) => {
			console.log("echo:", text);
			server.close(() => pass());
		}).end("hello");
	});
}

function pass() {
	const path = process.cwd() + "/pass.sock";
	const server = net.createServer().listen(path, () => {
		const child = child_process.fork(__filename, ["child"]);
		server.on("connection", (peer) => child.send("take", peer));
		read(path, (text) => {
			console.log("passed:", text);
			server.close(() => share());
		});
	});
}

function share() {
	let ready = 0;
	cluster.fork();
	cluster.fork();
	cluster.on("listening", () => {
		if (++ready === 2)
			read("cluster.sock", (text) => {
				console.log("cluster:", text);
				for (const worker of Object.values(cluster.workers)) worker.kill();
			});
	});
}

if (cluster.isWorker)
	net.createServer((peer) => peer.end("worker")).listen("cluster.sock");
else if (process.argv[2] === "child")
	process.on("message", (message, peer) => {
		peer.end("from the child");
		process.disconnect();
	});
else
	echo();
