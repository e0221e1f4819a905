#include "cli/account.h"

#include "base/banned.h"

extern const struct account_service account_service;

const struct account_service account_service = {.of_uid = getpwuid, .named = getpwnam, .group_named = getgrnam};
