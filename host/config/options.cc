// SPDX-License-Identifier: Apache-2.0
// From arguments to Options, step by step in the reference's order.
#include "host/config/options.h"

#include <algorithm>

#include "host/config/go_syntax.h"
#include "host/config/metric_labels.h"
#include "host/config/validation.h"

namespace kcm::host::config {
namespace {

constexpr std::string_view kPurpose =
    "The Kubernetes controller manager runs the control loops that move the cluster's state "
    "towards what its objects ask "
    "for. This build keeps the loops in plugins, which can be added and replaced while it runs.";

std::vector<std::string> SplitCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

std::vector<SniCertificate> SniOf(const std::vector<std::string>& pairs) {
  std::vector<SniCertificate> out;
  for (const std::string& pair : pairs) {
    const size_t colon = pair.find(':');
    const size_t comma = pair.find(',');
    SniCertificate sni;
    sni.cert_file = pair.substr(0, comma);
    sni.key_file = pair.substr(comma + 1, colon == pair.npos ? colon : colon - comma - 1);
    if (colon != pair.npos) sni.patterns = SplitCommas(pair.substr(colon + 1));
    out.push_back(std::move(sni));
  }
  return out;
}

void FillServing(const FlagSet& f, Options* o) {
  ServingOptions& s = o->serving;
  s.bind_address = f.String("bind-address");
  s.port = f.Int("secure-port");
  s.permit_port_sharing = f.Bool("permit-port-sharing");
  s.permit_address_sharing = f.Bool("permit-address-sharing");
  s.cert_dir = f.String("cert-dir");
  s.cert_file = f.String("tls-cert-file");
  s.key_file = f.String("tls-private-key-file");
  s.sni = SniOf(f.Strings("tls-sni-cert-key"));
  s.min_tls_version = f.String("tls-min-version");
  s.cipher_suites = f.Strings("tls-cipher-suites");
  s.curve_preferences = f.Ints("tls-curve-preferences");

  AuthenticationOptions& a = o->authentication;
  a.kubeconfig = f.String("authentication-kubeconfig");
  a.skip_lookup = f.Bool("authentication-skip-lookup");
  a.tolerate_lookup_failure = f.Bool("authentication-tolerate-lookup-failure");
  a.token_cache_ttl = f.Duration("authentication-token-webhook-cache-ttl");
  a.client_ca_file = f.String("client-ca-file");
  a.request_header_ca_file = f.String("requestheader-client-ca-file");
  a.request_header_allowed_names = f.Strings("requestheader-allowed-names");
  a.username_headers = f.Strings("requestheader-username-headers");
  a.uid_headers = f.Strings("requestheader-uid-headers");
  a.group_headers = f.Strings("requestheader-group-headers");
  a.extra_prefixes = f.Strings("requestheader-extra-headers-prefix");

  o->authorization.kubeconfig = f.String("authorization-kubeconfig");
  o->authorization.always_allow_paths = f.Strings("authorization-always-allow-paths");
  o->authorization.authorized_ttl = f.Duration("authorization-webhook-cache-authorized-ttl");
  o->authorization.unauthorized_ttl = f.Duration("authorization-webhook-cache-unauthorized-ttl");
}

void FillGeneric(const FlagSet& f, Options* o) {
  LeaderElectionOptions& le = o->leader_election;
  le.enabled = f.Bool("leader-elect");
  le.lease_duration = f.Duration("leader-elect-lease-duration");
  le.renew_deadline = f.Duration("leader-elect-renew-deadline");
  le.retry_period = f.Duration("leader-elect-retry-period");
  le.resource_lock = f.String("leader-elect-resource-lock");
  le.resource_name = f.String("leader-elect-resource-name");
  le.resource_namespace = f.String("leader-elect-resource-namespace");
  le.per_plugin = f.Bool("leader-elect-per-plugin");

  ClientOptions& c = o->client;
  c.kubeconfig = f.String("kubeconfig");
  c.master = f.String("master");
  c.content_type = f.String("kube-api-content-type");
  c.qps = f.Float("kube-api-qps");
  c.burst = f.Int("kube-api-burst");
  c.use_service_account_credentials = f.Bool("use-service-account-credentials");

  LogOptions& l = o->logs;
  l.json = f.String("logging-format") == "json";
  l.verbosity = static_cast<int>(f.Int("v"));
  l.vmodule = f.String("vmodule");
  l.flush_frequency = f.Duration("log-flush-frequency");

  PluginOptions& p = o->plugins;
  p.dirs = f.Strings("plugin-dir");
  p.trust_key = f.String("plugin-trust-key");
  p.state_dir = f.String("plugin-state-dir");
  p.watch = f.Bool("plugin-watch");
  p.admin_api = f.Bool("admin-api");
  p.probation = f.Duration("plugin-probation-period");
  p.swap_timeout = f.Duration("plugin-swap-timeout");
  p.quarantine_threshold = f.Int("plugin-quarantine-threshold");

  o->profiling = f.Bool("profiling");
  o->warm_standby = f.Bool("warm-standby");
  o->min_resync_period = f.Duration("min-resync-period");
  o->controller_start_interval = f.Duration("controller-start-interval");
  o->controller_shutdown_timeout = f.Duration("controller-shutdown-timeout");
  o->leader_migration = f.Bool("enable-leader-migration");
  o->leader_migration_config = f.String("leader-migration-config");
}

// Typed groups, gates, metrics; what is wrong with them goes to `errors`.
void Fill(Options* o, std::vector<std::string>* errors, std::vector<std::string>* warnings) {
  FlagSet& f = o->flags;
  o->controllers = o->names.Canonicalize(f.Strings("controllers"));
  f.SetStrings("controllers", o->controllers);
  const std::string& version = f.String("version");
  o->build = Build(version.starts_with('v') ? version : "");
  FillGeneric(f, o);
  FillServing(f, o);
  o->emulation =
      ParseEmulation(f.Strings("emulated-version"), f.Strings("min-compatibility-version"), errors);
  o->gates =
      FeatureGates::Evaluate(f.Pairs("feature-gates"), o->emulation.emulated, errors, warnings);
  o->metrics.disabled = f.Strings("disabled-metrics");
  o->metrics.show_hidden = !f.String("show-hidden-metrics-for-version").empty();
  Result<std::vector<MetricsOptions::LabelValues>> labels =
      AllowedMetricLabels(f.Pairs("allow-metric-labels"), f.String("allow-metric-labels-manifest"));
  if (labels.ok()) {
    o->metrics.allowed_labels = *std::move(labels);
  } else {
    errors->push_back(labels.error().message);
  }
}

ParseResult Fail(ParseResult result, Outcome outcome, std::string text) {
  result.outcome = outcome;
  result.exit_code = 1;
  (outcome == Outcome::kInvalid ? result.failure : result.err) += text;
  return result;
}

ParseResult Print(ParseResult result, Outcome outcome, std::string text) {
  result.outcome = outcome;
  result.out = std::move(text);
  return result;
}

}  // namespace

bool Options::ControllerEnabled(std::string_view name) const {
  const std::vector<std::string> off = names.DisabledByDefault();
  const bool on_by_default = std::find(off.begin(), off.end(), name) == off.end();
  return IsEnabled(controllers, name, on_by_default);
}

ParseResult ParseOptions(const std::vector<std::string>& args, const ParseContext& context) {
  ParseResult r;
  Options& o = r.options;
  o.flags = FlagSet::Builtin();
  o.names = ControllerNames::Builtin();
  if (context.declare) {
    const Status declared = context.declare(o.flags, o.names);
    if (!declared.ok()) return Fail(std::move(r), Outcome::kInvalid, declared.error().message);
  }
  o.flags.SetHelp("controllers", o.names.Help());

  const Result<std::vector<std::string>> positional = o.flags.Parse(args);
  for (const std::string& notice : o.flags.notices()) r.err += notice + "\n";
  if (!positional.ok()) {
    std::string text = o.flags.Usage(kComponent) + "Error: " + positional.error().message + "\n";
    return Fail(std::move(r), Outcome::kUsage, std::move(text));
  }
  if (o.flags.Bool("help")) {
    std::string text = std::string(kPurpose) + "\n\n" + o.flags.Usage(kComponent);
    return Print(std::move(r), Outcome::kHelp, std::move(text));
  }
  if (std::any_of(positional->begin(), positional->end(),
                  [](const std::string& a) { return !a.empty(); })) {
    return Fail(std::move(r), Outcome::kArgument,
                "Error: \"" + std::string(kComponent) + "\" does not take any arguments, got " +
                    GoQuoteList(*positional) + "\n");
  }
  const std::string& version = o.flags.String("version");
  if (version == "raw") return Print(std::move(r), Outcome::kVersion, RawVersion(Build("")) + "\n");
  if (const Result<bool> wanted = ParseGoBool(version); wanted.ok() && *wanted) {
    return Print(std::move(r), Outcome::kVersion, "Kubernetes " + Build("").git_version + "\n");
  }

  std::vector<std::string> errors;
  Fill(&o, &errors, &r.warnings);
  for (std::string& error : Validate(o)) errors.push_back(std::move(error));
  for (std::string& warning : Warnings(o)) r.warnings.push_back(std::move(warning));
  if (!errors.empty()) return Fail(std::move(r), Outcome::kInvalid, Aggregate(errors));
  if (o.serving.port != 0) {
    const Status serving = CheckServing(o.serving, o.authorization);
    if (!serving.ok()) return Fail(std::move(r), Outcome::kInvalid, serving.error().message);
  }
  return r;
}

}  // namespace kcm::host::config
