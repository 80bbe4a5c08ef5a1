// SPDX-License-Identifier: Apache-2.0
// What plugins bring to the command line: their flags and controller names, read before it is
// parsed.
#pragma once
#include <string>
#include <vector>

#include "host/config/controllers.h"
#include "host/config/flags.h"
#include "kcm/rules/result.h"

namespace kcm::host::main {

// Loads every plugin file of --plugin-dir for as long as it takes to read its declaration. Files
// that are refused are passed over: loading them for good reports them. Errors: a flag or
// controller name that clashes, naming the file. With --plugin-trust-key an unsigned file is not
// even looked into.
// --plugin-state-dir is made, or refused when crash records could not be kept there. A crash while
// a file is mapped leaves a record there, and a quarantined build is not mapped; then flags and
// controllers that nobody knows are declared as well, as its own.
Status DeclarePlugins(const std::vector<std::string>& args, config::FlagSet* flags,
                      config::ControllerNames* names);

}  // namespace kcm::host::main
