// Asks the engine of a report's page what the page asks, without a browser: report-engine.js PAGE.html EXPRESSION. The
// expression is evaluated with q, the engine's questions, and the overview; what it gives is printed as JSON.
'use strict';
const fs = require('fs');

const page = fs.readFileSync(process.argv[2], 'utf8');
const script = page.slice(page.lastIndexOf('<script>') + 8, page.lastIndexOf('</script>'));
const begin = script.indexOf('function createEngine()');
const end = script.indexOf('\n}\n', script.indexOf('return {questions'));
const createEngine = new Function(script.slice(begin, end + 3) + 'return createEngine;')();
const q = createEngine().questions;

for (const [, kind, text] of page.matchAll(/<script type="application\/json" class="(rows|texts)">(.*?)<\/script>/gs))
	(kind === 'rows' ? q.addRows : q.addTexts)(text);
const overview = q.start(/<script type="application\/json" id="about">(.*?)<\/script>/s.exec(page)[1]);
const result = new Function('q', 'overview', 'return ' + process.argv[3])(q, overview);
console.log(JSON.stringify(result));
