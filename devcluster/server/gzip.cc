// SPDX-License-Identifier: Apache-2.0
// Compressed answers (gzip.h).
#include "devcluster/server/gzip.h"

#include <strings.h>
#include <zlib.h>

#include <limits>

namespace kcm::devcluster {

bool AcceptsGzip(std::string_view header) {
  while (!header.empty()) {
    const size_t comma = header.find(',');
    std::string_view item = header.substr(0, comma);
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    const size_t end = item.find_first_of("; ");
    const std::string_view name = item.substr(0, end);
    if (name.size() != 4 || strncasecmp(name.data(), "gzip", 4) != 0) continue;
    return item.find("q=0") == std::string_view::npos ||
           item.find("q=0.") != std::string_view::npos;
  }
  return false;
}

std::optional<std::string> Gzip(std::string_view text) {
  if (text.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  z_stream z{};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&z, text.size()), '\0');
  std::string in(text);
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  if (result != Z_STREAM_END) return std::nullopt;
  return out;
}

}  // namespace kcm::devcluster
