// The child: prints the number and the sum of each list in the JSON file named.
const kinds = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
const sums = {};
for (const [kind, sizes] of Object.entries(kinds))
	sums[kind] = { files: sizes.length, bytes: sizes.reduce((a, b) => a + b, 0) };
process.stdout.write(JSON.stringify(sums));
