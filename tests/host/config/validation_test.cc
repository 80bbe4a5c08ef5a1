// SPDX-License-Identifier: Apache-2.0
// Table of start-up validation (spec/host.md 1.5) and of emulated versions.
#include "host/config/validation.h"

#include <gtest/gtest.h>

namespace kcm::host::config {
namespace {

TEST(Validation, ErrorTexts) {
  const struct {
    std::vector<std::string> args;
    const char* want;  // "" = legal
  } rows[] = {
      {{"--leader-elect-resource-lock=endpoints"}, "resourceLock value must be \"leases\""},
      {{"--leader-elect-resource-lock=endpoints", "--leader-elect=false"}, ""},
      {{"--leader-elect-resource-name="},
       "--leader-elect-resource-name is empty: name the Lease that hosts compete for, as "
       "kube-controller-manager"},
      {{"--leader-elect-resource-name=My_Lease"},
       "--leader-elect-resource-name \"My_Lease\" can not be the name of a Lease: a lowercase RFC "
       "1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
       "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
       "validation "
       "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
      {{"--leader-elect-resource-name=kcm.blue"}, ""},
      {{"--leader-elect-resource-namespace="},
       "--leader-elect-resource-namespace is empty: name the namespace of the Lease, as "
       "kube-system"},
      {{"--leader-elect-resource-namespace=kube.system"},
       "--leader-elect-resource-namespace \"kube.system\" can not be the name of a namespace: must "
       "not contain dots"},
      {{"--leader-elect-resource-name=", "--leader-elect-resource-namespace=A",
        "--leader-elect=false"},
       ""},
      {{"--cloud-provider=external"}, ""},
      {{"--cidr-allocator-type=CloudAllocator"},
       "built-in cloud providers are disabled. The ipam CloudAllocator is not available"},
      {{"--concurrent-cron-job-syncs=-1"},
       "concurrent-cron-job-syncs must be greater than 0, but got -1"},
      {{"--concurrent-daemonset-syncs=0"},
       "concurrent-daemonset-syncs must be greater than 0, but got 0"},
      {{"--concurrent-ephemeralvolume-syncs=0"},
       "concurrent-ephemeralvolume-syncs must be greater than 0, but got 0"},
      {{"--concurrent-horizontal-pod-autoscaler-syncs=0"},
       "concurrent-horizontal-pod-autoscaler-syncs must be greater than 0, but got 0"},
      {{"--concurrent-statefulset-syncs=0"},
       "concurrent-statefulset-syncs must be greater than 0, but got 0"},
      {{"--concurrent-device-taint-eviction-syncs=0"},
       "concurrent-device-taint-eviction-syncs must be greater than zero, got 0"},
      {{"--concurrent-resourceclaim-syncs=0"},
       "concurrent-resourceclaim-syncs must be larger than 0, got 0"},
      {{"--concurrent-service-endpoint-syncs=0"},
       "concurrent-service-endpoint-syncs must not be less than 1, but got 0"},
      {{"--concurrent-service-endpoint-syncs=51"},
       "concurrent-service-endpoint-syncs must not be more than 50, but got 51"},
      {{"--concurrent-service-endpoint-syncs=50"}, ""},
      {{"--max-endpoints-per-slice=0"},
       "max-endpoints-per-slice must not be less than 1, but got 0"},
      {{"--mirroring-concurrent-service-endpoint-syncs=51"},
       "mirroring-concurrent-service-endpoint-syncs must not be more than 50, but got 51"},
      {{"--mirroring-max-endpoints-per-subset=1001"},
       "mirroring-max-endpoints-per-subset must not be more than 1000, but got 1001"},
      {{"--attach-detach-reconcile-sync-period=999ms"},
       "duration time must be greater than one second as set via command line option "
       "reconcile-sync-loop-period"},
      {{"--attach-detach-reconcile-sync-period=1s"}, ""},
      {{"--cluster-signing-kubelet-serving-key-file=k"},
       "\"cluster-signing-kubelet-serving\": cannot specify key without cert"},
      {{"--cluster-signing-kubelet-client-cert-file=c"},
       "\"cluster-signing-kube-apiserver-client\": cannot specify cert without key"},
      {{"--cluster-signing-kube-apiserver-client-cert-file=c"},
       "\"cluster-signing-kube-apiserver\": cannot specify cert without key"},
      {{"--cluster-signing-legacy-unknown-cert-file=c"},
       "\"cluster-signing-legacy-unknown\": cannot specify cert without key"},
      {{"--cluster-signing-cert-file=c", "--cluster-signing-key-file=k",
        "--cluster-signing-legacy-unknown-cert-file=c",
        "--cluster-signing-legacy-unknown-key-file=k"},
       "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags "
       "at the same time"},
      {{"--service-cluster-ip-range=a,b,c"},
       "--service-cluster-ip-range can not contain more than two entries"},
      {{"--secure-port=-1"},
       "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port"},
      {{"--secure-port=65536"},
       "--secure-port 65536 must be between 1 and 65535, inclusive. It cannot be turned off with "
       "0"},
      {{"--secure-port=0"}, ""},
      {{"--emulated-version=1.32"},
       "[emulation version 1.32 is not between [1.33, 1.36.0], minCompatibilityVersion version "
       "1.32 is not between [1.33, 1.32]]"},
      {{"--emulated-version=1.37"}, "emulation version 1.37 is not between [1.33, 1.36.0]"},
      {{"--emulated-version=1.33"}, ""},
      {{"--emulated-version=kube=1.36"}, ""},
      {{"--min-compatibility-version=1.32"},
       "minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"},
      {{"--emulated-version=1.36.1"}, "patch version not allowed, got: kube=1.36.1"},
      {{"--emulated-version=kube=1.36,kube=1.35"},
       "duplicate version flag, kube=1.36 and kube=1.35"},
      {{"--emulated-version=foo=1.36"}, "component not registered: foo"},
      {{"--requestheader-username-headers= "}, "empty value in \"requestheader-username-headers\""},
      {{"--requestheader-username-headers="}, ""},
      {{"--requestheader-uid-headers=X-Other"},
       "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - "
       "API aggregation will not work"},
      {{"--requestheader-uid-headers=x-remote-uid"}, ""},
      {{"--show-hidden-metrics-for-version=1.30"},
       "metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the "
       "value '1.35'; only the previous minor version is allowed"},
      {{"--show-hidden-metrics-for-version=1.35"}, ""},
      {{"--logging-format=xml"}, "format: Invalid value: \"xml\": Unsupported log format"},
      {{"--logging-format=json"}, ""},
      {{"--logging-format=json", "--vmodule=a=1"},
       "vmodule: Forbidden: Only supported for text log format"},
      {{"--log-json-split-stream"},
       "options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled"},
      {{"--log-json-split-stream", "--feature-gates=LoggingAlphaOptions=true"}, ""},
      {{"--concurrent-deployment-syncs=0", "--concurrent-gc-syncs=-3"}, ""},
      {{"--concurrent-deployment-syncs=1000"}, ""},
      {{"--concurrent-deployment-syncs=1001"},
       "--concurrent-deployment-syncs must not be more than 1000, but got 1001: every worker is a "
       "thread of this process, give 1 to 1000"},
      {{"--concurrent-gc-syncs=2147483647", "--concurrent-job-syncs=2000"},
       "[--concurrent-gc-syncs must not be more than 1000, but got 2147483647: every worker is a "
       "thread of this process, give 1 to 1000, --concurrent-job-syncs must not be more than 1000, "
       "but got 2000: every worker is a thread of this process, give 1 to 1000]"},
      {{"--terminated-pod-gc-threshold=2147483647"}, ""},
      {{"--kubeconfig=/"}, "--kubeconfig: open /: is a directory: name a regular file"},
      {{"--root-ca-file=/dev/null"},
       "--root-ca-file: open /dev/null: is a device: name a regular file"},
      {{"--client-ca-file=/no/such/file"}, ""},
      {{"--leader-elect-per-plugin", "--leader-elect=false"},
       "--leader-elect-per-plugin needs --leader-elect"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.args));
    const ParseResult r = ParseOptions(row.args, {});
    EXPECT_EQ(r.failure, row.want);
    EXPECT_EQ(r.outcome == Outcome::kRun, std::string_view(row.want).empty());
  }
}

// A vendor's queue may count its workers with any flag.
TEST(Validation, FlagsOfPluginsThatCountWorkersAreBounded) {
  ParseContext context;
  context.declare = [](FlagSet& flags, ControllerNames&) {
    flags.SetWorkers("acme-parallel");  // not declared yet: nothing happens
    const Status declared = flags.Declare({.section = "Acme",
                                           .name = "acme-parallel",
                                           .type = FlagType::kInt32,
                                           .default_text = "5"});
    flags.SetWorkers("acme-parallel");
    return declared;
  };
  EXPECT_EQ(ParseOptions({"--acme-parallel=1000"}, context).failure, "");
  EXPECT_EQ(ParseOptions({"--acme_parallel=1001"}, context).failure,
            "--acme-parallel must not be more than 1000, but got 1001: every worker is a thread of "
            "this process, give 1 to 1000");
}

TEST(Validation, UsernameHeaderOnlyWarns) {
  const ParseResult r = ParseOptions({"--requestheader-username-headers=X-Other"}, {});
  EXPECT_EQ(r.outcome, Outcome::kRun);
  ASSERT_EQ(r.warnings.size(), 1u);
}

TEST(Validation, SeveralErrorsOnceEach) {
  EXPECT_EQ(Aggregate({}), "");
  EXPECT_EQ(Aggregate({"a"}), "a");
  EXPECT_EQ(Aggregate({"a", "b", "a"}), "[a, b]");
}

}  // namespace
}  // namespace kcm::host::config
