// SPDX-License-Identifier: Apache-2.0
// Finding and reading zone files.
#include "plugins/pod/cronjob/zones.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

namespace kcm::pod::cronjob {
namespace {

using rules::TimeZone;

constexpr std::string_view kDatabases[] = {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/",
                                           "/usr/lib/locale/TZ/", "/etc/zoneinfo/"};
constexpr char kLocalFile[] = "/etc/localtime";
constexpr size_t kMostBytes = 1 << 20;

// Not more than kMostBytes; nullopt: no such file.
std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes(kMostBytes, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.bad()) return std::nullopt;
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

Result<TimeZone> FromDatabase(std::string_view name) {
  // A name, not a path.
  if (name.find("..") != std::string_view::npos || name.starts_with('/') ||
      name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos) {
    return MakeError(Code::kInvalid, "time: invalid location name");
  }
  for (const std::string_view database : kDatabases) {
    const auto bytes = ReadFile(std::string(database) + std::string(name));
    if (bytes && !bytes->empty()) return TimeZone::FromTzif(*bytes);
  }
  return MakeError(Code::kNotFound, "unknown time zone " + std::string(name));
}

TimeZone OfProcess() {
  const char* environment = std::getenv("TZ");
  std::string_view name = environment == nullptr ? kLocalFile : environment;
  if (name.starts_with(':')) name.remove_prefix(1);
  if (name.empty() || name == "UTC") return TimeZone::Utc();
  if (name.starts_with('/')) {
    const auto bytes = ReadFile(std::string(name));
    Result<TimeZone> zone = bytes ? TimeZone::FromTzif(*bytes) : TimeZone::Utc();
    return zone.ok() ? *std::move(zone) : TimeZone::Utc();
  }
  Result<TimeZone> zone = FromDatabase(name);
  return zone.ok() ? *std::move(zone) : TimeZone::Utc();
}

}  // namespace

Result<std::shared_ptr<const TimeZone>> Zones::Find(std::string_view name) {
  if (name.empty()) name = "UTC";
  const std::lock_guard lock(mutex_);
  if (const auto it = known_.find(name); it != known_.end()) return it->second;
  Result<TimeZone> zone = name == "UTC"     ? TimeZone::Utc()
                          : name == "Local" ? OfProcess()
                                            : FromDatabase(name);
  if (!zone.ok()) return zone.error();
  auto shared = std::make_shared<const TimeZone>(*std::move(zone));
  known_.emplace(std::string(name), shared);
  return shared;
}

rules::ZoneLookup Zones::Lookup() {
  return [this](std::string_view name) { return Find(name); };
}

}  // namespace kcm::pod::cronjob
