/* ---- words for what the log says ---- */

const REASONS = {
	not_granted: 'no rule grants it', read_only: 'it may only be read', denied_by_rule: 'a rule denies it',
	not_executable: 'it may not be executed', not_public: 'not everybody on the host may read it',
	private: 'a private rule excepts it', foreign_terminal: 'the terminal is not one of the run',
	outside_run: 'the process is not one of the run', absent: 'there is no such file on the host either',
	expected_probe: 'the C library asks for it in every program and does without', decoy: 'it is a decoy',
	no_rule: 'no network rule names the host', port_not_granted: 'no rule grants this port of the host',
	method_not_granted: 'no rule grants this method', path_not_granted: 'no rule grants this path of the host',
	proto_not_granted: 'the connection does not have the protocol of the rule', not_observed: 'a secret',
	no_overlay: 'there is no scratch space for the write', address_unknown: 'the address stands for no name',
	denied_addr: 'no address of the host is public; "private" in its rule would permit private ones',
	sni_mismatch: 'TLS names another host',
	host_mismatch: 'the request names another host', rate_limited: 'there were too many in this second',
};
const EXPECTED = ['absent', 'expected_probe'];

function reasonText(reason) {
	return REASONS[reason] ? REASONS[reason] + ' (' + reason + ')' : reason || 'refused';
}

function number(value) {
	return Number(value).toLocaleString('en-US');
}

function amount(value, one, many) {
	return number(value) + ' ' + (Number(value) === 1 ? one : many || one + 's');
}

function duration(ns) {
	if (!(ns >= 0))
		return '';
	if (ns < 1e3)
		return Math.round(ns) + ' ns';
	for (const [limit, unit, name] of [[1e6, 1e3, 'µs'], [1e9, 1e6, 'ms'], [6e10, 1e9, 's']])
		if (ns < limit)
			return (ns / unit).toFixed(ns / unit < 10 ? 2 : 1) + ' ' + name;
	return Math.floor(ns / 6e10) + ' min ' + Math.round(ns % 6e10 / 1e9) + ' s';
}

function bytes(value) {
	for (const [unit, name] of [[1073741824, 'GiB'], [1048576, 'MiB'], [1024, 'KiB']])
		if (value >= unit)
			return (value / unit).toFixed(1) + ' ' + name;
	return number(value) + ' B';
}

/* For what an edited log may have in place of an object. */
function asObject(value) {
	return value && typeof value === 'object' ? value : {};
}

/* "a, b and 3 more" of texts of records. */
function listOf(items, total, most = 4) {
	const shown = items.slice(0, most), more = total - shown.length;
	const nodes = [];
	shown.forEach((item, i) => nodes.push(i ? ', ' : '', data(item, 300)));
	if (more > 0)
		nodes.push(' and ' + number(more) + ' more');
	return nodes;
}
