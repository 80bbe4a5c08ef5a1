// SPDX-License-Identifier: Apache-2.0
// Validation table of spec/host.md 1.5.
#include "host/config/validation.h"

#include <algorithm>
#include <cctype>

#include "host/config/tls_names.h"
#include "host/file/regular_file.h"
#include "kcm/rules/go_duration.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/name_validation.h"

namespace kcm::host::config {
namespace {

using Errors = std::vector<std::string>;
using rules::GoQuote;

bool EqualFold(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool ContainsFold(const std::vector<std::string>& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& item) { return EqualFold(item, word); });
}

// A worker is a thread here, and the reference bounds few of these flags
// (docs/decisions/0007-workers-are-bounded.md).
constexpr int64_t kMostWorkers = 1000;

void CheckThreads(const FlagSet& flags, Errors* errors) {
  for (const Flag* flag : flags.All()) {
    const auto* n = std::get_if<int64_t>(&flag->value);
    if (!flag->workers || n == nullptr || *n <= kMostWorkers) continue;
    errors->push_back("--" + flag->declaration.name + " must not be more than " +
                      std::to_string(kMostWorkers) + ", but got " + std::to_string(*n) +
                      ": every worker is a thread of this process, give 1 to " +
                      std::to_string(kMostWorkers));
  }
}

// Files that the host or its controllers read. What is not there, or holds something else, is told
// by its reader; what is no file at all would keep a reader waiting, or feed it without end.
constexpr std::string_view kFileFlags[] = {
    "allow-metric-labels-manifest",
    "authentication-kubeconfig",
    "authorization-kubeconfig",
    "client-ca-file",
    "cloud-config",
    "cluster-signing-cert-file",
    "cluster-signing-key-file",
    "cluster-signing-kube-apiserver-client-cert-file",
    "cluster-signing-kube-apiserver-client-key-file",
    "cluster-signing-kubelet-client-cert-file",
    "cluster-signing-kubelet-client-key-file",
    "cluster-signing-kubelet-serving-cert-file",
    "cluster-signing-kubelet-serving-key-file",
    "cluster-signing-legacy-unknown-cert-file",
    "cluster-signing-legacy-unknown-key-file",
    "kubeconfig",
    "leader-migration-config",
    "plugin-trust-key",
    "pv-recycler-pod-template-filepath-hostpath",
    "pv-recycler-pod-template-filepath-nfs",
    "requestheader-client-ca-file",
    "root-ca-file",
    "service-account-private-key-file",
    "tls-cert-file",
    "tls-private-key-file",
};

void CheckFiles(const FlagSet& flags, Errors* errors) {
  for (const std::string_view name : kFileFlags) {
    const std::string& path = flags.String(name);
    if (path.empty()) continue;
    const Status usable = file::CheckRegularFile(path);
    if (usable.code() == Code::kInvalid)
      errors->push_back("--" + std::string(name) + ": " + usable.error().message);
  }
}

void CheckWorkers(const FlagSet& flags, Errors* errors) {
  for (const std::string name : {"cron-job", "daemonset", "ephemeralvolume",
                                 "horizontal-pod-autoscaler", "job", "statefulset"}) {
    const std::string flag = "concurrent-" + name + "-syncs";
    const int64_t n = flags.Int(flag);
    if (n < 1) errors->push_back(flag + " must be greater than 0, but got " + std::to_string(n));
  }
  if (const int64_t n = flags.Int("concurrent-device-taint-eviction-syncs"); n <= 0) {
    errors->push_back("concurrent-device-taint-eviction-syncs must be greater than zero, got " +
                      std::to_string(n));
  }
  if (const int64_t n = flags.Int("concurrent-resourceclaim-syncs"); n <= 0) {
    errors->push_back("concurrent-resourceclaim-syncs must be larger than 0, got " +
                      std::to_string(n));
  }
}

void CheckRange(const FlagSet& flags, const std::string& flag, int64_t most, Errors* errors) {
  const int64_t n = flags.Int(flag);
  const std::string got = ", but got " + std::to_string(n);
  if (n < 1) errors->push_back(flag + " must not be less than 1" + got);
  if (n > most) errors->push_back(flag + " must not be more than " + std::to_string(most) + got);
}

void CheckSigners(const FlagSet& flags, Errors* errors) {
  struct Signer {
    std::string flag;    // --cluster-signing-<flag>-cert-file
    std::string prefix;  // in the message; the reference names two of them differently
  };
  bool any = false;
  for (const Signer& s : {Signer{"kubelet-serving", "kubelet-serving"},
                          Signer{"kubelet-client", "kube-apiserver-client"},
                          Signer{"kube-apiserver-client", "kube-apiserver"},
                          Signer{"legacy-unknown", "legacy-unknown"}}) {
    const bool cert = !flags.String("cluster-signing-" + s.flag + "-cert-file").empty();
    const bool key = !flags.String("cluster-signing-" + s.flag + "-key-file").empty();
    any = any || cert || key;
    const std::string prefix = GoQuote("cluster-signing-" + s.prefix);
    if (key && !cert) errors->push_back(prefix + ": cannot specify key without cert");
    if (cert && !key) errors->push_back(prefix + ": cannot specify cert without key");
  }
  const bool all_signers = !flags.String("cluster-signing-cert-file").empty() ||
                           !flags.String("cluster-signing-key-file").empty();
  if (any && all_signers) {
    errors->push_back(
        "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags "
        "at the same time");
  }
}

void CheckCloud(const FlagSet& flags, Errors* errors) {
  const std::string& provider = flags.String("cloud-provider");
  if (!provider.empty() && provider != "external") {
    errors->push_back("cloud provider " + GoQuote(provider) +
                      " was specified, but built-in cloud providers are disabled. Please set "
                      "--cloud-provider=external "
                      "and migrate to an external cloud provider");
  }
  const std::string& ipam = flags.String("cidr-allocator-type");
  if (ipam != "RangeAllocator") {
    errors->push_back("built-in cloud providers are disabled. The ipam " + ipam +
                      " is not available");
  }
  const std::string& ranges = flags.String("service-cluster-ip-range");
  if (std::count(ranges.begin(), ranges.end(), ',') > 1) {
    errors->push_back("--service-cluster-ip-range can not contain more than two entries");
  }
}

void CheckServingFlags(const Options& o, Errors* errors) {
  const int64_t port = o.serving.port;
  if (port < 0) {
    errors->push_back("--secure-port " + std::to_string(port) +
                      " must be between 0 and 65535, inclusive. 0 for turning off secure port");
  }
  if (port > 65535) {
    errors->push_back("--secure-port " + std::to_string(port) +
                      " must be between 1 and 65535, inclusive. It cannot be turned off with 0");
  }
  for (const std::string name : {"username-headers", "uid-headers", "group-headers",
                                 "extra-headers-prefix", "allowed-names"}) {
    const std::string flag = "requestheader-" + name;
    for (const std::string& value : o.flags.Strings(flag)) {
      if (value.find_first_not_of(" \t\r\n") == value.npos)
        errors->push_back("empty value in " + GoQuote(flag));
    }
  }
  const std::vector<std::string>& uid = o.authentication.uid_headers;
  if (!uid.empty() && !o.gates.Enabled("RemoteRequestHeaderUID")) {
    errors->push_back("--requestheader-uid-headers needs feature gate RemoteRequestHeaderUID");
  }
  if (!uid.empty() && !ContainsFold(uid, "X-Remote-Uid")) {
    errors->push_back(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - "
        "API "
        "aggregation will not work");
  }
}

void CheckMetrics(const Options& o, Errors* errors) {
  const std::string& shown = o.flags.String("show-hidden-metrics-for-version");
  const std::string previous = "1." + std::to_string(kMinor - 1);
  if (!shown.empty() && shown != previous) {
    errors->push_back("metrics.showHiddenMetricsForVersion: Invalid value: " + GoQuote(shown) +
                      ": must be omitted or have the value '" + previous +
                      "'; only the previous minor version is allowed");
  }
  for (const auto& [key, value] : o.flags.Pairs("allow-metric-labels")) {
    if (std::count(key.begin(), key.end(), ',') != 1 || key.front() == ',' || key.back() == ',') {
      errors->push_back("metrics.allowListMapping: Invalid value: " + GoQuote(key) +
                        ": want metric,label");
    }
  }
}

void CheckLogs(const Options& o, Errors* errors) {
  const std::string& format = o.flags.String("logging-format");
  if (format != "text" && format != "json") {
    errors->push_back("format: Invalid value: " + GoQuote(format) + ": Unsupported log format");
  }
  if (format == "json" && !o.gates.Enabled("LoggingBetaOptions")) {
    errors->push_back(
        "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature");
  }
  if (format != "text" && !o.logs.vmodule.empty()) {
    errors->push_back("vmodule: Forbidden: Only supported for text log format");
  }
  if (o.logs.flush_frequency <= Nanos(0)) {
    errors->push_back(
        "flushFrequency: Invalid value: " + GoQuote(rules::FormatDuration(o.logs.flush_frequency)) +
        ": must be greater than zero");
  }
  if (o.gates.Enabled("LoggingAlphaOptions")) return;
  for (const std::string kind : {"json", "text"}) {
    if (o.flags.Bool("log-" + kind + "-split-stream")) {
      errors->push_back("options." + kind +
                        ".splitStream: Forbidden: Feature LoggingAlphaOptions is disabled");
    }
    if (o.flags.String("log-" + kind + "-info-buffer-size") != "0") {
      errors->push_back("options." + kind +
                        ".infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled");
    }
  }
}

// Ours: the server would refuse every attempt to get such a Lease, and the host would try for ever.
void CheckLease(const LeaderElectionOptions& le, Errors* errors) {
  if (le.resource_name.empty()) {
    errors->push_back(
        "--leader-elect-resource-name is empty: name the Lease that hosts compete for, as "
        "kube-controller-manager");
  } else if (const rules::Problems wrong = rules::ValidateDns1123Subdomain(le.resource_name);
             !wrong.empty()) {
    errors->push_back("--leader-elect-resource-name " + GoQuote(le.resource_name) +
                      " can not be the name of a Lease: " + rules::JoinProblems(wrong));
  }
  if (le.resource_namespace.empty()) {
    errors->push_back(
        "--leader-elect-resource-namespace is empty: name the namespace of the Lease, as "
        "kube-system");
  } else if (const rules::Problems wrong = rules::ValidateDns1123Label(le.resource_namespace);
             !wrong.empty()) {
    errors->push_back("--leader-elect-resource-namespace " + GoQuote(le.resource_namespace) +
                      " can not be the name of a namespace: " + rules::JoinProblems(wrong));
  }
}

// Ours: a value that would silently mean something else.
void CheckPlugins(const Options& o, Errors* errors) {
  if (o.plugins.probation < Nanos(0))
    errors->push_back("--plugin-probation-period must not be negative");
  if (o.plugins.swap_timeout <= Nanos(0))
    errors->push_back("--plugin-swap-timeout must be greater than 0");
  if (o.leader_election.per_plugin && !o.leader_election.enabled) {
    errors->push_back("--leader-elect-per-plugin needs --leader-elect");
  }
}

}  // namespace

std::vector<std::string> Validate(const Options& o) {
  Errors errors;
  if (o.leader_election.enabled && o.leader_election.resource_lock != "leases") {
    errors.push_back("resourceLock value must be \"leases\"");
  }
  if (o.leader_election.enabled) CheckLease(o.leader_election, &errors);
  for (std::string& error : o.names.UnknownErrors(o.controllers))
    errors.push_back(std::move(error));
  CheckCloud(o.flags, &errors);
  CheckWorkers(o.flags, &errors);
  CheckThreads(o.flags, &errors);
  CheckFiles(o.flags, &errors);
  CheckRange(o.flags, "concurrent-service-endpoint-syncs", 50, &errors);
  CheckRange(o.flags, "max-endpoints-per-slice", 1000, &errors);
  CheckRange(o.flags, "mirroring-concurrent-service-endpoint-syncs", 50, &errors);
  CheckRange(o.flags, "mirroring-max-endpoints-per-subset", 1000, &errors);
  if (o.flags.Duration("attach-detach-reconcile-sync-period") < std::chrono::seconds(1)) {
    errors.push_back(
        "duration time must be greater than one second as set via command line option "
        "reconcile-sync-loop-period");
  }
  CheckSigners(o.flags, &errors);
  CheckServingFlags(o, &errors);
  CheckMetrics(o, &errors);
  CheckLogs(o, &errors);
  CheckPlugins(o, &errors);
  return errors;
}

std::vector<std::string> Warnings(const Options& o) {
  std::vector<std::string> warnings;
  const std::vector<std::string>& users = o.authentication.username_headers;
  if (!users.empty() && !ContainsFold(users, "X-Remote-User")) {
    warnings.push_back(
        "--requestheader-username-headers is set without specifying the standard X-Remote-User "
        "header - API "
        "aggregation will not work");
  }
  for (const std::string& name : o.serving.cipher_suites) {
    const CipherSuite* suite = FindCipherSuite(name);
    if (suite != nullptr && suite->insecure)
      warnings.push_back("Use of insecure cipher '" + name + "' detected.");
  }
  return warnings;
}

Status CheckServing(const ServingOptions& serving, const AuthorizationOptions& authorization) {
  const auto invalid = [](std::string text) { return MakeError(Code::kInvalid, std::move(text)); };
  if (serving.cert_file.empty() != serving.key_file.empty()) {
    return invalid("--tls-cert-file and --tls-private-key-file must be set together");
  }
  for (const std::string& name : serving.cipher_suites) {
    if (FindCipherSuite(name) == nullptr)
      return invalid("Cipher suite " + name + " not supported or doesn't exist");
  }
  for (const int64_t curve : serving.curve_preferences) {
    if (curve < 1 || curve > 65535) {
      return invalid("curve preference " + std::to_string(curve) +
                     " is out of range (must be 1-65535)");
    }
  }
  if (!TlsVersionNumber(serving.min_tls_version)) {
    return invalid("unknown tls version " + GoQuote(serving.min_tls_version));
  }
  for (const std::string& path : authorization.always_allow_paths) {
    const size_t star = path.find('*');
    if (star != path.npos && star + 1 != path.size())
      return invalid("only trailing * allowed in " + GoQuote(path));
  }
  return Ok();
}

std::string Aggregate(const std::vector<std::string>& errors) {
  std::vector<std::string> unique;
  for (const std::string& error : errors) {
    if (std::find(unique.begin(), unique.end(), error) == unique.end()) unique.push_back(error);
  }
  if (unique.empty()) return "";
  if (unique.size() == 1) return unique.front();
  std::string out = "[";
  for (const std::string& error : unique) out += (out.size() > 1 ? ", " : "") + error;
  return out + "]";
}

}  // namespace kcm::host::config
