// Walks the time zones, has a child add up what was found, and writes report.json.
const { spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");

const kinds = {};
function walk(dir, depth) {
	for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
		const file = path.join(dir, entry.name);
		if (entry.isDirectory() && depth > 0)
			walk(file, depth - 1);
		if (entry.isFile()) {
			const kind = path.extname(entry.name) || "none";
			(kinds[kind] ??= []).push(fs.statSync(file).size);
		}
	}
}
walk("/usr/share/zoneinfo", 3);
fs.mkdirSync("data");
fs.writeFileSync("data/kinds.json", JSON.stringify(kinds));

const child = spawnSync(process.execPath, ["sum.js", "data/kinds.json"], { encoding: "utf8" });
if (child.status !== 0)
	throw new Error(child.stderr || String(child.error));
const sums = JSON.parse(child.stdout);
fs.writeFileSync("report.json.new", JSON.stringify({ node: process.version, sums }, null, 2) + "\n");
fs.renameSync("report.json.new", "report.json");
fs.rmSync("data", { recursive: true });

// What was not granted does not exist.
let shadow = "readable";
try {
	fs.readFileSync("/etc/shadow");
} catch (error) {
	shadow = error.code;
}
console.log(`${Object.keys(sums).length} kinds of files; /etc/shadow: ${shadow}`);
