// SPDX-License-Identifier: Apache-2.0
// Re-reading of TLS files.
#include "host/client/rotation.h"

#include <algorithm>

#include "host/client/tls_context.h"
#include "host/file/regular_file.h"

namespace kcm::host::client {
namespace {

constexpr clock::Duration kPairAge = std::chrono::seconds(1);
constexpr clock::Duration kPollPeriod = std::chrono::minutes(5);
constexpr clock::Duration kRetryBase = std::chrono::milliseconds(5);  // queue back-off of 6.4
constexpr clock::Duration kRetryCap = std::chrono::seconds(1000);
constexpr size_t kMaxMaterial = 16 << 20;  // bundles of many authorities are long

Result<std::string> Read(const Material& material) {
  if (!material.data.empty()) return material.data;
  if (material.file.empty()) return std::string();
  return file::ReadRegularFile(material.file, kMaxMaterial);
}

}  // namespace

Rotation::Rotation(RotationOptions options) : options_(std::move(options)) {
  if (options_.metrics == nullptr) return;
  ca_reloads_ = options_.metrics->Counter(
      {.name = "rest_client_transport_ca_reload_total",
       .help = "Number of CA reload attempts, partitioned by result and reason.",
       .labels = {"result", "reason"},
       .buckets = {}});
}

Rotation::~Rotation() {
  clock::TimerId timer = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    timer = timer_;
  }
  options_.clock->Cancel(timer);
}

Result<TlsFiles> Rotation::Load() {
  TlsFiles files;
  for (const auto& [material, text] :
       {std::pair(&options_.ca, &files.ca_pem), std::pair(&options_.cert, &files.cert_pem),
        std::pair(&options_.key, &files.key_pem)}) {
    Result<std::string> read = Read(*material);
    if (!read.ok()) return read.error();
    *text = *std::move(read);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files_ = files;
    pair_read_ = ca_read_ = options_.clock->Monotonic();
  }
  if (!options_.cert.file.empty() && options_.cert.data.empty()) Arm(kPollPeriod);
  return files;
}

void Rotation::Arm(clock::Duration delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!stopped_) timer_ = options_.clock->After(delay, [this] { Poll(); });
}

void Rotation::Poll() {
  const Status checked = CheckPair();
  clock::Duration next = kPollPeriod;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    failures_ = checked.ok() ? 0 : std::min(failures_ + 1, 30);
    if (failures_ > 0) next = std::min(kRetryCap, kRetryBase * (int64_t{1} << (failures_ - 1)));
  }
  Arm(next);
}

void Rotation::BeforeHandshake() {
  if (options_.cert.file.empty() || !options_.cert.data.empty()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (options_.clock->Monotonic() - pair_read_ < kPairAge) return;
  }
  (void)CheckPair();  // logged there; the old pair goes on
}

Status Rotation::CheckPair() {
  std::lock_guard<std::mutex> check(check_mutex_);
  TlsFiles files;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files = files_;
  }
  const Result<std::string> cert = Read(options_.cert);
  const Result<std::string> key = Read(options_.key);
  Status status = !cert.ok() ? Status(cert.error()) : !key.ok() ? Status(key.error()) : Ok();
  if (status.ok()) {
    const bool changed = *cert != files.cert_pem || *key != files.key_pem;
    files.cert_pem = *cert;
    files.key_pem = *key;
    if (changed) status = options_.on_pair(files);
    if (changed && status.ok()) {
      options_.log.Info(0,
                        "Certificate rotation detected, shutting down client connections to start "
                        "using new credentials");
    }
  }
  if (!status.ok()) {
    options_.log.Error(status.error().message, "Loading the client certificate failed");
    return status;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  files_.cert_pem = files.cert_pem;
  files_.key_pem = files.key_pem;
  pair_read_ = options_.clock->Monotonic();
  return Ok();
}

void Rotation::BeforeRequest() {
  if (options_.ca.file.empty() || !options_.ca.data.empty()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const clock::MonoTime now = options_.clock->Monotonic();
    if (now - ca_read_ < kPollPeriod) return;
    ca_read_ = now;  // the others need not wait for this check
  }
  CheckCa();
}

void Rotation::CountCa(const char* result, const char* reason) const {
  ca_reloads_.With({result, reason}).Add();
}

void Rotation::CheckCa() {
  std::lock_guard<std::mutex> check(check_mutex_);
  const Result<std::string> ca = Read(options_.ca);
  if (!ca.ok() || ca->empty()) {
    CountCa("failure", ca.ok() ? "empty" : "read_error");
    options_.log.Error(ca.ok() ? "file is empty" : ca.error().message,
                       "Reloading the CA bundle failed", {{"path", options_.ca.file}});
    return;
  }
  TlsFiles files;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files = files_;
  }
  if (files.ca_pem == *ca) return CountCa("success", "unchanged");
  files.ca_pem = *ca;
  const std::string wrong = CheckCaBundle(*ca);
  const Status used =
      wrong.empty() ? options_.on_ca(files) : Status(MakeError(Code::kInvalid, wrong));
  if (!used.ok()) {
    CountCa("failure", "ca_parse_error");
    options_.log.Error(used.error().message, "Reloading the CA bundle failed",
                       {{"path", options_.ca.file}});
    return;
  }
  CountCa("success", "updated");
  std::lock_guard<std::mutex> lock(mutex_);
  files_.ca_pem = files.ca_pem;
}

}  // namespace kcm::host::client
