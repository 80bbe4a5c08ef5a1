// SPDX-License-Identifier: Apache-2.0
// Builds klog lines and hands them to one spdlog sink per host; nothing is registered with spdlog's
// globals.
#include "host/log/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>

#include "host/log/quote.h"
#include "host/log/vmodule.h"

namespace kcm::host::log {
namespace {

using FixedPairs = std::vector<std::pair<std::string, std::string>>;

// Passes each line to Options::sink.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& msg) override {
    write_(std::string(msg.payload.data(), msg.payload.size()));
  }
  void flush_() override {}

  const std::function<void(const std::string&)> write_;
};

// One line before it has a form.
struct Line {
  Severity severity;
  int level;
  std::string_view message;
  std::string_view error;
  std::string_view name;
  const FixedPairs& fixed;
  const Pair* pairs;
  size_t count;
  std::source_location at;
  bool plain = false;  // the text form does not quote the message
  clock::WallTime time = {};
};

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void AppendCaller(std::string& out, const std::source_location& at) {
  out += BaseName(at.file_name());
  out += ':';
  out += std::to_string(at.line());
}

void AppendTextHeader(std::string& out, const Line& line, int pid) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(line.time.time_since_epoch()).count();
  const auto seconds = static_cast<time_t>(micros / 1000000);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 80> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), "%c%02d%02d %02d:%02d:%02d.%06d %7d ",
                              "IWEF"[static_cast<size_t>(line.severity)], local.tm_mon + 1,
                              local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                              static_cast<int>(micros % 1000000), pid);
  out.append(buffer.data(), static_cast<size_t>(n));
  AppendCaller(out, line.at);
  out += "] ";
}

void AppendText(std::string& out, const Pair& pair) {
  out += ' ';
  out += pair.key;
  if (const auto* text = std::get_if<std::string_view>(&pair.value))
    return AppendTextValue(out, *text);
  out += '=';
  if (const auto* number = std::get_if<int64_t>(&pair.value)) {
    out += std::to_string(*number);
  } else if (const auto* real = std::get_if<double>(&pair.value)) {
    AppendTextDouble(out, *real);
  } else {
    out += std::get<bool>(pair.value) ? "true" : "false";
  }
}

std::string TextLine(const Line& line, int pid) {
  std::string out;
  out.reserve(160 + line.message.size());
  AppendTextHeader(out, line, pid);
  if (line.plain) return out.append(line.message);
  AppendQuoted(out, line.message);
  if (!line.error.empty()) AppendText(out, Pair("err", line.error));
  if (!line.name.empty()) AppendText(out, Pair("logger", line.name));
  for (const auto& [key, value] : line.fixed) AppendText(out, Pair(key, value));
  for (size_t i = 0; i < line.count; ++i) AppendText(out, line.pairs[i]);
  return out;
}

void AppendJson(std::string& out, const Pair& pair) {
  out += ',';
  AppendJsonString(out, pair.key);
  out += ':';
  if (const auto* text = std::get_if<std::string_view>(&pair.value)) {
    AppendJsonString(out, *text);
  } else if (const auto* number = std::get_if<int64_t>(&pair.value)) {
    out += std::to_string(*number);
  } else if (const auto* real = std::get_if<double>(&pair.value)) {
    AppendJsonDouble(out, *real);
  } else {
    out += std::get<bool>(pair.value) ? "true" : "false";
  }
}

// Order of keys: spec/host.md 12.2.
std::string JsonLine(const Line& line) {
  std::string out;
  out.reserve(200 + line.message.size());
  out += "{\"ts\":";
  AppendJsonDouble(out, static_cast<double>(line.time.time_since_epoch().count()) / 1e6);
  if (!line.name.empty()) AppendJson(out, Pair("logger", line.name));
  std::string caller;
  AppendCaller(caller, line.at);
  AppendJson(out, Pair("caller", caller));
  AppendJson(out, Pair("msg", line.message));
  const bool is_info = line.severity == Severity::kInfo || line.severity == Severity::kWarning;
  if (is_info) AppendJson(out, Pair("v", line.level));
  if (!line.error.empty()) AppendJson(out, Pair("err", line.error));
  for (const auto& [key, value] : line.fixed) AppendJson(out, Pair(key, value));
  for (size_t i = 0; i < line.count; ++i) AppendJson(out, line.pairs[i]);
  out += '}';
  return out;
}

spdlog::sink_ptr MakeSpdlogSink(const Options& options) {
  if (options.sink) return std::make_shared<FunctionSink>(options.sink);
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

}  // namespace

class Sink {
 public:
  explicit Sink(const Options& options)
      : json_(options.json),
        vmodule_(options.json ? std::string_view() : std::string_view(options.vmodule)),
        clock_(options.clock),
        pid_(static_cast<int>(getpid())),
        verbosity_(options.verbosity),
        logger_("kcm", MakeSpdlogSink(options)) {
    logger_.set_pattern("%v");
    logger_.set_level(spdlog::level::trace);
    logger_.flush_on(spdlog::level::err);
  }

  bool Enabled(int level, const std::source_location& at, std::string_view name) const {
    if (level <= verbosity_.load(std::memory_order_relaxed)) return true;
    return !vmodule_.empty() && level <= vmodule_.LevelFor(at.file_name(), name);
  }

  void Write(Line line) {
    line.time =
        clock_ != nullptr
            ? clock_->Now()
            : std::chrono::time_point_cast<clock::Duration>(std::chrono::system_clock::now());
    logger_.log(SpdlogLevel(line.severity), json_ ? JsonLine(line) : TextLine(line, pid_));
  }

  void SetVerbosity(int level) { verbosity_.store(level, std::memory_order_relaxed); }
  int verbosity() const { return verbosity_.load(std::memory_order_relaxed); }
  void Flush() { logger_.flush(); }

 private:
  static spdlog::level::level_enum SpdlogLevel(Severity severity) {
    switch (severity) {
      case Severity::kInfo:
        return spdlog::level::info;
      case Severity::kWarning:
        return spdlog::level::warn;
      case Severity::kError:
        return spdlog::level::err;
      case Severity::kFatal:
        return spdlog::level::critical;
    }
    return spdlog::level::info;
  }

  const bool json_;
  const Vmodule vmodule_;
  clock::Clock* const clock_;
  const int pid_;
  std::atomic<int> verbosity_;
  spdlog::logger logger_;
};

Logger::Logger() = default;

Logger Logger::Make(const Options& options) {
  Logger logger;
  logger.sink_ = std::make_shared<Sink>(options);
  return logger;
}

Logger Logger::Named(std::string_view name) const {
  Logger named = *this;
  named.name_ = name;
  return named;
}

Logger Logger::With(std::vector<std::pair<std::string, std::string>> pairs) const {
  Logger with = *this;
  for (auto& pair : pairs) with.fixed_.push_back(std::move(pair));
  return with;
}

bool Logger::Enabled(int level, std::source_location at) const {
  return sink_ != nullptr && sink_->Enabled(level, at, name_);
}

void Logger::Info(int level, std::string_view message, Pairs pairs, std::source_location at) const {
  Write(Severity::kInfo, level, message, {}, pairs.begin(), pairs.size(), at);
}

void Logger::Print(int level, std::string_view text, std::source_location at) const {
  if (sink_ == nullptr || !sink_->Enabled(level, at, name_)) return;
  sink_->Write({Severity::kInfo, level, text, {}, name_, fixed_, nullptr, 0, at, true});
}

void Logger::Warning(std::string_view message, Pairs pairs, std::source_location at) const {
  Write(Severity::kWarning, 0, message, {}, pairs.begin(), pairs.size(), at);
}

void Logger::Error(std::string_view error, std::string_view message, Pairs pairs,
                   std::source_location at) const {
  Write(Severity::kError, 0, message, error, pairs.begin(), pairs.size(), at);
}

void Logger::Write(Severity severity, int level, std::string_view message, std::string_view error,
                   const Pair* pairs, size_t count, std::source_location at) const {
  if (sink_ == nullptr) return;
  if (severity == Severity::kInfo && !sink_->Enabled(level, at, name_)) return;
  sink_->Write({severity, level, message, error, name_, fixed_, pairs, count, at});
}

void Logger::SetVerbosity(int level) const {
  if (sink_ != nullptr) sink_->SetVerbosity(level);
}

int Logger::verbosity() const { return sink_ == nullptr ? 0 : sink_->verbosity(); }

void Logger::Flush() const {
  if (sink_ != nullptr) sink_->Flush();
}

}  // namespace kcm::host::log
