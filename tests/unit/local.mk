# Unit tests, each linking only the library under test (and those below it). A block a test:
#   check_PROGRAMS += tests/unit/test_NAME
#   tests_unit_test_NAME_LDADD = libcallgate_FOLDER.a libcallgate_base.a $(UNIT_LIBS)
if HAVE_CHECK
UNIT_LIBS = $(CHECK_LIBS)
TESTS += $(check_PROGRAMS)
endif
