#!/bin/bash
# Every form of exec and chdir, natively and inside, in the workdir and below a redirected /tmp.
. "$(dirname "$0")/lib.sh"
CG_OPTIONS=(-r "$SRC/tests/cases" -x /tmp)
same exec-redirected "$PYTHON" "$SRC/tests/cases/exec-forms.py" "/tmp/cg-forms-$$"
CG_OPTIONS=(-r "$SRC/tests/cases" -x "$T/w")
same exec-workdir "$PYTHON" "$SRC/tests/cases/exec-forms.py" "$T/w/forms"
