#!/bin/bash
# node: walks, writes, watches nothing, spawns, pipes, worker threads, streams.
. "$(dirname "$0")/../lib.sh"
need node
prepare()
{
	cp -r "$SRC/base" "$1/src"
	cat >"$1/main.js" <<'EOF'
const fs = require('fs'), path = require('path'), cp = require('child_process'),
	os = require('os'), crypto = require('crypto');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) { parentPort.postMessage(fs.readdirSync('src').length); return; }
function walk(d) { return fs.readdirSync(d, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1)
	.flatMap(e => e.isDirectory() ? walk(path.join(d, e.name)) : [path.join(d, e.name)]); }
(async () => {
	for (const f of walk('src'))
		console.log(f, fs.statSync(f).size,
			crypto.createHash('sha256').update(fs.readFileSync(f)).digest('hex').slice(0, 12));
	fs.mkdirSync('out/a/b', { recursive: true });
	await Promise.all([...Array(50).keys()].map(i => fs.promises.writeFile(`out/a/f${i}`, 'x'.repeat(i))));
	await fs.promises.rename('out/a/f1', 'out/a/b/f1'); await fs.promises.symlink('../f2', 'out/a/b/link');
	await fs.promises.cp('src', 'out/copy', { recursive: true }); await fs.promises.rm('out/copy/path.h');
	console.log(await fs.promises.readlink('out/a/b/link'), fs.realpathSync('out/a/b/link').endsWith('out/a/f2'));
	try { fs.readFileSync('missing'); } catch (e) { console.log(e.code, e.syscall); }
	try { fs.rmdirSync('out'); } catch (e) { console.log(e.code); }
	fs.chmodSync('out/a/f3', 0o600); fs.utimesSync('out/a/f3', 1, 2);
	console.log(fs.statSync('out/a/f3').mtimeMs, fs.accessSync('out/a/f3'));
	console.log(cp.execSync('echo from shell | tr a-z A-Z').toString().trim(),
		cp.spawnSync('sh', ['-c', 'exit 6']).status);
	const child = cp.spawn('cat'); let got = ''; child.stdout.on('data', d => got += d); child.stdin.end('piped');
	await new Promise(r => child.on('close', r)); console.log(got);
	const forked = cp.spawn(process.execPath,
		['-e', 'console.log(process.cwd().endsWith("w"), process.argv.length)'], { stdio: 'inherit' });
	await new Promise(r => forked.on('close', r));
	console.log(await new Promise(r => new Worker(__filename).on('message', r)));
	await new Promise(r =>
		fs.createReadStream('main.js').pipe(fs.createWriteStream('out/stream.js')).on('finish', r));
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'n-')); fs.rmSync(dir, { recursive: true });
	console.log(fs.existsSync(dir), process.cwd().endsWith('w'), fs.readdirSync('out').sort().join());
})();
EOF
}
same node node main.js
