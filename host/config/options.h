// SPDX-License-Identifier: Apache-2.0
// Options: the command line as the host uses it, and what to do when it can not be used
// (spec/host.md 1.1, 1.2, 1.5).
//
//   ParseResult parsed = ParseOptions(args, {.declare = [&](FlagSet& f, ControllerNames& n) {
//   ...plugins' own... }}); Print(parsed.out, parsed.err); if (parsed.outcome == Outcome::kInvalid)
//   log.Error(parsed.failure, "command failed"); if (parsed.outcome != Outcome::kRun) return
//   parsed.exit_code;
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/config/controllers.h"
#include "host/config/feature_gates.h"
#include "host/config/flags.h"
#include "host/config/version.h"
#include "kcm/rules/result.h"

namespace kcm::host::config {

using Nanos = std::chrono::nanoseconds;

struct LeaderElectionOptions {
  bool enabled = true;
  Nanos lease_duration{}, renew_deadline{}, retry_period{};
  std::string resource_lock, resource_name, resource_namespace;
  bool per_plugin = false;
};

struct ClientOptions {
  std::string kubeconfig, master, content_type;
  double qps = 20;  // negative: unlimited
  int64_t burst = 30;
  bool use_service_account_credentials = false;
};

// `crt,key[:pattern,...]`
struct SniCertificate {
  std::string cert_file, key_file;
  std::vector<std::string> patterns;
};

struct ServingOptions {
  std::string bind_address;
  int64_t port = 10257;  // 0: no server
  bool permit_port_sharing = false, permit_address_sharing = false;
  std::string cert_dir, cert_file, key_file;
  std::vector<SniCertificate> sni;
  std::string min_tls_version;             // "", VersionTLS10..13
  std::vector<std::string> cipher_suites;  // IANA names; empty: defaults
  std::vector<int64_t> curve_preferences;  // empty: defaults
};

struct AuthenticationOptions {
  std::string kubeconfig;
  bool skip_lookup = false, tolerate_lookup_failure = false;
  Nanos token_cache_ttl{};
  std::string client_ca_file, request_header_ca_file;
  std::vector<std::string> request_header_allowed_names, username_headers, uid_headers,
      group_headers, extra_prefixes;
};

struct AuthorizationOptions {
  std::string kubeconfig;
  std::vector<std::string> always_allow_paths;
  Nanos authorized_ttl{}, unauthorized_ttl{};
};

struct MetricsOptions {
  std::vector<std::string> disabled;
  struct LabelValues {
    std::string metric, label;
    std::vector<std::string> values;
  };
  std::vector<LabelValues> allowed_labels;  // manifest, overridden by the flag
  bool show_hidden = false;
};

struct LogOptions {
  bool json = false;
  int verbosity = 0;
  std::string vmodule;
  Nanos flush_frequency{};
};

struct PluginOptions {
  std::vector<std::string> dirs;
  std::string trust_key, state_dir;
  bool watch = true, admin_api = true;
  Nanos probation{}, swap_timeout{};
  int64_t quarantine_threshold = 3;
};

struct Options {
  FlagSet flags;  // every value, by name; what plugins read
  ControllerNames names;
  std::vector<std::string> controllers;  // canonical
  FeatureGates gates;
  Emulation emulation;
  BuildInfo build;
  LeaderElectionOptions leader_election;
  ClientOptions client;
  ServingOptions serving;
  AuthenticationOptions authentication;
  AuthorizationOptions authorization;
  MetricsOptions metrics;
  LogOptions logs;
  PluginOptions plugins;
  bool profiling = true;
  bool warm_standby = true;
  Nanos min_resync_period{}, controller_start_interval{}, controller_shutdown_timeout{};
  bool leader_migration = false;
  std::string leader_migration_config;

  // Whether --controllers lets `name` (canonical) run. serviceaccount-token-controller is not asked
  // about here.
  bool ControllerEnabled(std::string_view name) const;
};

enum class Outcome : uint8_t {
  kRun,       // options are good
  kHelp,      // text on stdout, 0
  kVersion,   // text on stdout, 0
  kUsage,     // bad flag: usage and message on stderr, 1
  kArgument,  // positional arguments: message on stderr, 1
  kInvalid,   // found after parsing: logged as "command failed" err=failure, 1
};

struct ParseResult {
  Outcome outcome = Outcome::kRun;
  int exit_code = 0;
  std::string out,
      err;  // complete texts with newlines; err also holds deprecation notices when running
  std::string failure;                // kInvalid: one error, or [e1, e2, ...]
  std::vector<std::string> warnings;  // to be logged at start
  Options options;  // kRun, and kInvalid as far as it got (logging options are set)
};

struct ParseContext {
  // Adds flags and controller names of the plugins found. May be nullptr.
  std::function<Status(FlagSet&, ControllerNames&)> declare;
};

// `args` without argv[0]. Reads no file but that of
// --allow-metric-labels-manifest; looks whether the others are files.
ParseResult ParseOptions(const std::vector<std::string>& args, const ParseContext& context);

}  // namespace kcm::host::config
