libcallgate_audit_a_SOURCES += audit/audit.h audit/record.h
