/* ---- questions and answers ---- */

const questions = {addRows, addTexts, start, applyFilter, getRows, getRecord, findRecord, getFiles, getProcesses,
	getEndpoints, getLatency, getBins, summarise, compareRuns};

/* Answers messages {id, name, args} by {id, value} or {id, error}. */
function serve(scope) {
	scope.onmessage = (event) => {
		const {id, name, args} = event.data;
		try {
			scope.postMessage({id, value: questions[name](...args)});
		} catch (error) {
			scope.postMessage({id, error: String(error && error.stack || error)});
		}
	};
}

return {questions, serve};
