#!/bin/bash
# Every form of exec and chdir, natively and inside, in the workdir and below a redirected /tmp.
. "$(dirname "$0")/../lib.sh"
CG_OPTIONS=(-r "$SRC/tests/cases" -x /tmp)
# The kernel opens an ELF file's loader by itself: without a mount namespace no redirect leads it there.
redirected=(loaders)
layer mountns || redirected=()
same exec-redirected "$PYTHON" "$SRC/tests/cases/exec-forms.py" "/tmp/cg-forms-$$" "${redirected[@]}"
CG_OPTIONS=(-r "$SRC/tests/cases" -x "$T/w")
same exec-workdir "$PYTHON" "$SRC/tests/cases/exec-forms.py" "$T/w/forms" loaders
