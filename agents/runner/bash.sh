# The bash interpreter of a context. An interactive shell reads these lines from descriptor 0, and after them, for each
# run, the lines that agents/context makes: "__callgate_begin; eval 'code' </dev/null" and "__callgate_end". It is
# interactive because SIGINT then ends a command line and not the shell. The code is not run in a function: what it
# declares would be local. @NONCE@ is replaced.
set +H +o history +m 2>/dev/null
shopt -u expand_aliases checkwinsize 2>/dev/null
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
exec {__callgate_out}>&1 {__callgate_err}>&2
__callgate_count=0 __callgate_restore=
__callgate_emit() { printf '\036@NONCE@%d:%s\n' $((${#1} + 1)) "$1" >&"$2"; }
# __callgate_begin [NAME=VALUE]...
__callgate_begin() {
	local pair name
	__callgate_count=$((__callgate_count + 1))
	__callgate_emit "{\"type\":\"number_of_executions\",\"execution_count\":$__callgate_count}" \
		"$__callgate_out"
	__callgate_restore=
	for pair; do
		name=${pair%%=*}
		if [[ -v $name ]]; then
			__callgate_restore+="export $name=${!name@Q};"
		else
			__callgate_restore+="unset $name;"
		fi
		export "$pair"
	done
}
# __callgate_end NUMBER
__callgate_end() {
	local status=$?
	eval "$__callgate_restore"
	__callgate_restore=
	((status == 0)) || __callgate_emit \
		"{\"type\":\"error\",\"name\":\"ExitStatus\",\"value\":\"$status\",\"traceback\":\"\"}" \
		"$__callgate_out"
	__callgate_emit_on_both "{\"type\":\"end\",\"run\":$1}"
}
# On both pipes: what was written to either before has then been read.
__callgate_emit_on_both() {
	__callgate_emit "$1" "$__callgate_out"
	__callgate_emit "$1" "$__callgate_err"
}
__callgate_emit_on_both '{"type":"ready"}'
