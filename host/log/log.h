// SPDX-License-Identifier: Apache-2.0
// Structured log in klog's text and JSON forms (spec/host.md 12). An instance, no global: each host
// has its own.
//
//   log.Info(2, "Scaled up replica set", {{"deployment", key}, {"from", 3}, {"to", 5}});
//   log.Error(error.message, "Unable to sync", {{"key", key}});
// The caller ("file.cc:12" in both forms) is where the method was called. A vmodule pattern matches
// that file's name without suffix, or the logger's name: "--vmodule=deployment-controller=4" raises
// one controller. Constant message, capital first, no full stop, no value inside. Tokens, keys,
// payloads: never, at no level.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::log {

struct Pair {
  std::string_view key;
  std::variant<std::string_view, int64_t, double, bool> value;
  Pair(std::string_view k, std::string_view v) : key(k), value(v) {}
  Pair(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Pair(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Pair(std::string_view k, bool v) : key(k), value(v) {}
  Pair(std::string_view k, double v) : key(k), value(v) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Pair(std::string_view k, T v) : key(k), value(static_cast<int64_t>(v)) {}
};
using Pairs = std::initializer_list<Pair>;

// Empty when `vmodule` is well-formed ("pattern=N,pattern=N"), else what is wrong with it.
std::string CheckVmodule(std::string_view vmodule);

enum class Severity : uint8_t { kInfo, kWarning, kError, kFatal };

struct Options {
  bool json = false;
  int verbosity = 0;
  std::string vmodule;  // text only; parts that CheckVmodule refuses are ignored
  std::function<void(const std::string& line)> sink;  // nullptr: stderr
  clock::Clock* clock = nullptr;                      // nullptr: real time
};

class Sink;  // shared by all loggers of one host

// Cheap to copy; thread-safe. Logger values share their host's sink and verbosity.
class Logger {
 public:
  Logger();  // discards everything
  static Logger Make(const Options& options);

  // A logger that adds logger="<name>" (canonical controller name) and fixed pairs to every line.
  Logger Named(std::string_view name) const;
  Logger With(std::vector<std::pair<std::string, std::string>> pairs) const;

  bool Enabled(int level, std::source_location at = std::source_location::current()) const;
  void Info(int level, std::string_view message, Pairs pairs = {},
            std::source_location at = std::source_location::current()) const;
  // A line of text as it is, without quotes and pairs, as klog's Infof writes it. For the flag
  // dump.
  void Print(int level, std::string_view text,
             std::source_location at = std::source_location::current()) const;
  void Warning(std::string_view message, Pairs pairs = {},
               std::source_location at = std::source_location::current()) const;  // info severity W
  // An empty `error` is left out of the line.
  void Error(std::string_view error, std::string_view message, Pairs pairs = {},
             std::source_location at = std::source_location::current()) const;
  // For lines that cross the ABI. Info is written only when `level` is enabled; kFatal does not end
  // the process.
  void Write(Severity severity, int level, std::string_view message, std::string_view error,
             const Pair* pairs, size_t count,
             std::source_location at = std::source_location::current()) const;

  void SetVerbosity(int level) const;
  int verbosity() const;
  void Flush()
      const;  // Options::sink is called on the logging thread, one line (without newline) at a time

 private:
  std::shared_ptr<Sink> sink_;
  std::string name_;
  std::vector<std::pair<std::string, std::string>> fixed_;
};

}  // namespace kcm::host::log
