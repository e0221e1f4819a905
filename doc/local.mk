dist_man_MANS += $(MAN_PAGES)
bashcompletion_DATA = doc/callgate
EXTRA_DIST += doc/approval.md doc/architecture.md doc/e2b.md doc/experiments.md doc/glossary.md \
	doc/learnt.md doc/libraries.md doc/mcp.md doc/performance.md doc/programs.md doc/python.md doc/performance.svg \
	doc/report.md doc/security.md
EXTRA_DIST += doc/kernels.md doc/mutants.md doc/workspaces.md
EXTRA_DIST += $(addprefix doc/report/,summary.png denials.png trees.png records.png compare.png)
EXTRA_DIST += doc/callgate.bash-completion
CLEANFILES += doc/callgate

# Man pages: "MAN_PAGES += doc/NAME.SECTION" below.
MAN_PAGES =

# bash-completion(7) finds a program's completion by the program's name.
doc/callgate: doc/callgate.bash-completion
	$(AM_V_GEN)$(MKDIR_P) doc && cp $(srcdir)/doc/callgate.bash-completion $@
MAN_PAGES += doc/callgate.1 doc/callgate-audit.5 doc/callgate-serve.1
MAN_PAGES += doc/callgate-libraries.1 doc/callgate-policy.5
