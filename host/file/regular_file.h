// SPDX-License-Identifier: Apache-2.0
// Reading of files that somebody named: on the command line, in a kubeconfig, below a directory.
//
//   Result<std::string> pem = file::ReadRegularFile("/etc/kubernetes/pki/ca.crt");
//
// Only regular files are opened (links are followed): a directory, a FIFO, a device or a socket is
// refused at once, so that nobody waits for a writer or reads without end. Errors name the path:
// `open PATH: no such file or directory`, `open PATH: is a directory: name a regular file`,
// `read PATH: ...`, `PATH: larger than 1048576 bytes: name another file`. Thread-safe.
#pragma once
#include <cstddef>
#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::file {

// The whole file. Error: kNotFound when nothing has that name, kForbidden when this process may not
// open it, kInvalid for everything else.
Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes = 1 << 20);

// Whether ReadRegularFile could open it; reads nothing. Errors as above.
Status CheckRegularFile(const std::string& path);

}  // namespace kcm::host::file
