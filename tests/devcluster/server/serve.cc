// SPDX-License-Identifier: Apache-2.0
// Serves the embedded API server until stdin closes: for replay of recorded exchanges. Writes PORT
// and a kubeconfig.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "devcluster/server/server.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: devcluster_serve PORT tls|http KUBECONFIG\n");
    return 2;
  }
  kcm::devcluster::ServerOptions options;
  options.port = static_cast<uint16_t>(std::atoi(argv[1]));
  options.tls = std::string(argv[2]) == "tls";
  kcm::devcluster::Server server(options);
  const kcm::Status started = server.Start();
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 1;
  }
  std::ofstream(argv[3]) << server.Kubeconfig();
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "compact") server.Compact();
  }
  server.Stop();
  return 0;
}
