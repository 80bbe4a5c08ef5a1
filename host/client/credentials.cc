// SPDX-License-Identifier: Apache-2.0
// Tokens, token files, basic authentication; the exec plugin is exec_plugin.cc.
#include "host/client/credentials.h"

#include <mutex>
#include <utility>

#include "host/client/base64.h"
#include "host/client/exec_plugin.h"
#include "host/file/regular_file.h"

namespace kcm::host::client {
namespace {

// Cached 60 s, less 10 s so that a rotated token is there before the old one ends (2.2).
constexpr clock::Duration kTokenFileAge = std::chrono::seconds(50);

class StaticCredentials : public Credentials {
 public:
  explicit StaticCredentials(std::string value) : value_(std::move(value)) {}
  Result<std::string> Authorization() override { return value_; }
  void Rejected(const std::string&) override {}

 private:
  const std::string value_;
};

class FileCredentials : public Credentials {
 public:
  FileCredentials(const Config& config, const CredentialsContext& context)
      : file_(config.token_file, context.clock, context.log), fallback_(config.token) {}
  Result<std::string> Authorization() override {
    Result<std::string> token = file_.Get();
    if (!token.ok() && !fallback_.empty()) return "Bearer " + fallback_;
    if (!token.ok()) return token;
    return "Bearer " + *token;
  }
  void Rejected(const std::string&) override {}

 private:
  TokenFile file_;
  const std::string fallback_;  // used until the file has been read once
};

std::string TrimSpace(std::string text) {
  constexpr char kSpace[] = " \t\r\n";
  text.erase(text.find_last_not_of(kSpace) + 1);
  text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

Result<std::string> ReadToken(const std::string& path) {
  Result<std::string> read = file::ReadRegularFile(path);
  if (!read.ok())
    return MakeError(Code::kUnauthorized,
                     "failed to read token file \"" + path + "\": " + read.error().message);
  std::string text = TrimSpace(*std::move(read));
  if (text.empty())
    return MakeError(Code::kUnauthorized, "read empty token from file \"" + path + "\"");
  if (text.find_first_of("\r\n") != std::string::npos) {
    return MakeError(Code::kUnauthorized, "token file \"" + path + "\" holds more than one line");
  }
  return text;
}

}  // namespace

struct TokenFile::Impl {
  const std::string path;
  clock::Clock* const clock;
  const log::Logger log;
  std::mutex mutex;
  std::string token;        // guarded by mutex
  clock::MonoTime read_at;  // guarded by mutex; meaningful when token is not empty
};

TokenFile::TokenFile(std::string path, clock::Clock* clock, log::Logger log)
    : impl_(new Impl{std::move(path), clock, std::move(log), {}, {}, {}}) {}
TokenFile::~TokenFile() = default;

Result<std::string> TokenFile::Get() {
  const clock::MonoTime now = impl_->clock->Monotonic();
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (!impl_->token.empty() && now - impl_->read_at < kTokenFileAge) return impl_->token;
  }
  Result<std::string> fresh = ReadToken(impl_->path);
  std::string kept;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (fresh.ok()) {
      impl_->token = *fresh;
      impl_->read_at = now;
    }
    kept = impl_->token;
  }
  if (fresh.ok() || kept.empty()) return fresh;
  impl_->log.Error(fresh.error().message, "Unable to rotate token");
  return kept;
}

std::unique_ptr<Credentials> MakeCredentials(const Config& config, CredentialsContext context) {
  if (!config.token_file.empty()) return std::make_unique<FileCredentials>(config, context);
  if (!config.token.empty()) return std::make_unique<StaticCredentials>("Bearer " + config.token);
  if (!config.username.empty() || !config.password.empty()) {
    return std::make_unique<StaticCredentials>(
        "Basic " + EncodeBase64(config.username + ":" + config.password));
  }
  if (config.exec && config.client_cert.empty())
    return MakeExecCredentials(config, std::move(context));
  return std::make_unique<StaticCredentials>("");
}

}  // namespace kcm::host::client
