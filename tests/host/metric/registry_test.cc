// SPDX-License-Identifier: Apache-2.0
// Metric families and what a scrape shows (spec/host.md 10).
#include "host/metric/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "host/metric/process.h"

namespace kcm::host::metric {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Description Describe(const std::string& name, std::vector<std::string> labels = {},
                     std::vector<double> buckets = {}) {
  Description d;
  d.name = name;
  d.help = "Help of " + name;
  d.labels = std::move(labels);
  d.buckets = std::move(buckets);
  return d;
}

TEST(RegistryText, FamiliesByNameSeriesByLabels) {
  Registry registry;
  const Metric requests = registry.Counter(Describe("requests_total", {"code", "host"}));
  requests.With({"500", "b"}).Add();
  requests.With({"200", "a"}).Add(2.5);
  requests.With({"200", "a"}).Add();
  Description stable = Describe("depth");
  stable.stability = "STABLE";
  const Series depth = registry.Gauge(stable).With({});
  depth.Set(7);
  depth.Add(-2);
  registry.Gauge(Describe("no_series", {"x"}));
  EXPECT_EQ(registry.Expose(false, false),
            "# HELP depth [STABLE] Help of depth\n"
            "# TYPE depth gauge\n"
            "depth 5\n"
            "# HELP requests_total [ALPHA] Help of requests_total\n"
            "# TYPE requests_total counter\n"
            "requests_total{code=\"200\",host=\"a\"} 3.5\n"
            "requests_total{code=\"500\",host=\"b\"} 1\n");
}

TEST(RegistryText, Histogram) {
  Registry registry;
  const Series seconds =
      registry.Histogram(Describe("seconds", {"verb"}, {0.005, 1, 10})).With({"GET"});
  for (const double v : {0.005, 0.5, 1.0, 99.0}) seconds.Observe(v);
  EXPECT_EQ(registry.Expose(false, false),
            "# HELP seconds [ALPHA] Help of seconds\n"
            "# TYPE seconds histogram\n"
            "seconds_count{verb=\"GET\"} 4\n"
            "seconds_sum{verb=\"GET\"} 100.505\n"
            "seconds_bucket{verb=\"GET\",le=\"0.005\"} 1\n"
            "seconds_bucket{verb=\"GET\",le=\"1\"} 3\n"
            "seconds_bucket{verb=\"GET\",le=\"10\"} 3\n"
            "seconds_bucket{verb=\"GET\",le=\"+Inf\"} 4\n");
  EXPECT_DOUBLE_EQ(seconds.Value(), 100.505);
}

TEST(RegistryText, EscapesHelpAndLabelValues) {
  Registry registry;
  Description d = Describe("m", {"l"});
  d.help = "two\nlines \\ \"q\"";
  d.stability = "";
  registry.Gauge(d).With({"a\"b\\c\nd"}).Set(1);
  EXPECT_EQ(registry.Expose(false, false),
            "# HELP m two\\nlines \\\\ \"q\"\n# TYPE m gauge\nm{l=\"a\\\"b\\\\c\\nd\"} 1\n");
  EXPECT_EQ(
      registry.Expose(true, false),
      "# HELP m two\\nlines \\\\ \\\"q\\\"\n# TYPE m gauge\nm{l=\"a\\\"b\\\\c\\nd\"} 1.0\n# EOF\n");
}

TEST(RegistryOpenMetrics, NamesTypesAndNumbers) {
  Registry registry;
  registry.Counter(Describe("requests_total")).With({}).Add(3);
  registry.Counter(Describe("odd_count")).With({}).Add(1e21);
  registry.Gauge(Describe("ratio")).With({}).Set(0.5);
  registry.Histogram(Describe("seconds", {}, {1})).With({}).Observe(2);
  EXPECT_EQ(registry.Expose(true, false),
            "# HELP odd_count [ALPHA] Help of odd_count\n"
            "# TYPE odd_count unknown\n"
            "odd_count 1e+21\n"
            "# HELP ratio [ALPHA] Help of ratio\n"
            "# TYPE ratio gauge\n"
            "ratio 0.5\n"
            "# HELP requests [ALPHA] Help of requests_total\n"
            "# TYPE requests counter\n"
            "requests_total 3.0\n"
            "# HELP seconds [ALPHA] Help of seconds\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{le=\"1.0\"} 0\n"
            "seconds_bucket{le=\"+Inf\"} 1\n"
            "seconds_sum 2.0\n"
            "seconds_count 1\n"
            "# EOF\n");
}

TEST(RegistryShapes, SameShapeIsSharedAnotherIsRefused) {
  Registry registry;
  const Metric first = registry.Counter(Describe("m_total", {"a"}));
  Description again = Describe("m_total", {"a"});
  again.help = "another help";
  registry.Counter(again).With({"x"}).Add();
  EXPECT_EQ(first.With({"x"}).Value(), 1);
  const struct {
    const char* name;
    Type type;
    Description description;
  } rows[] = {
      {"other type", Type::kGauge, Describe("m_total", {"a"})},
      {"other labels", Type::kCounter, Describe("m_total", {"b"})},
      {"no name", Type::kCounter, Describe("")},
      {"bad name", Type::kCounter, Describe("a-b")},
      {"digit first", Type::kCounter, Describe("1a")},
      {"bad label", Type::kCounter, Describe("a", {"b-c"})},
      {"reserved label", Type::kCounter, Describe("a", {"__b"})},
      {"label twice", Type::kCounter, Describe("a", {"b", "b"})},
      {"le in a histogram", Type::kHistogram, Describe("a", {"le"}, {1})},
      {"no buckets", Type::kHistogram, Describe("a")},
      {"buckets fall", Type::kHistogram, Describe("a", {}, {1, 1})},
      {"buckets in a gauge", Type::kGauge, Describe("a", {}, {1})},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Result<Metric> result = registry.Try(row.type, row.description);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message,
                HasSubstr("register metric \"" + row.description.name + "\": "));
  }
  EXPECT_TRUE(registry.Try(Type::kGauge, Describe("a")).ok()) << "a refusal leaves nothing behind";
}

TEST(RegistryShapesDeathTest, OurOwnMistakesDie) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Registry registry;
  EXPECT_DEATH(registry.Counter(Describe("a-b")), "register metric \"a-b\"");
  EXPECT_DEATH(registry.Counter(Describe("a", {"x"})).With({}),
               "0 label values given, it has 1 labels");
}

TEST(SeriesHandles, IgnoreWhatDoesNotFitAndNeverDangle) {
  Series none;
  none.Add();
  none.Set(1);
  none.Observe(1);
  EXPECT_EQ(none.Value(), 0);
  Series counter;
  Series gauge;
  {
    Registry registry;
    counter = registry.Counter(Describe("c_total")).With({});
    const Metric gauges = registry.Gauge(Describe("g", {"x"}));
    gauge = gauges.With({"1"});
    counter.Add(2);
    counter.Add(-1);
    counter.Add(std::numeric_limits<double>::quiet_NaN());
    counter.Observe(5);
    EXPECT_EQ(counter.Value(), 2);
    gauge.Set(1);
    gauges.Remove({"1"});
    EXPECT_THAT(registry.Expose(false, false), Not(HasSubstr("g{")));
    gauge.Set(2);
    EXPECT_EQ(gauges.With({"1"}).Value(), 0) << "a new series";
  }
  counter.Add();
  gauge.Set(3);
  EXPECT_EQ(counter.Value(), 3);
}

TEST(RegistryFlags, DisabledFamiliesAreNotShown) {
  Registry registry;
  registry.Counter(Describe("a_total")).With({}).Add();
  registry.Disable({"a_total", "b_total", "never"});
  registry.Counter(Describe("b_total")).With({}).Add();
  registry.Counter(Describe("c_total")).With({}).Add();
  const std::string text = registry.Expose(false, false);
  EXPECT_THAT(text, Not(HasSubstr("a_total")));
  EXPECT_THAT(text, Not(HasSubstr("b_total")));
  EXPECT_THAT(text, HasSubstr("c_total 1\n"));
}

TEST(RegistryFlags, LabelValuesOutsideTheListAreFolded) {
  Registry registry;
  const Metric before = registry.Counter(Describe("before_total", {"code", "host"}));
  registry.AllowLabels("before_total", "code", {"200", "404"});
  registry.AllowLabels("after_total", "code", {"200"});
  registry.AllowLabels("before_total", "no_such_label", {"x"});
  for (const char* code : {"200", "404", "500", "501"}) before.With({code, "h"}).Add();
  const Metric after = registry.Counter(Describe("after_total", {"code"}));
  after.With({"201"}).Add();
  const std::string text = registry.Expose(false, false);
  EXPECT_THAT(text, HasSubstr("before_total{code=\"200\",host=\"h\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("before_total{code=\"404\",host=\"h\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("before_total{code=\"unexpected\",host=\"h\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("after_total{code=\"unexpected\"} 1\n"));
}

TEST(RegistrySlis, AreASubsetAndCanBeReset) {
  Registry registry;
  RegisterProcessMetrics(registry);
  const Series check = registry.Gauge(Describe("kubernetes_healthcheck", {"name"})).With({"ping"});
  const Series checks =
      registry.Counter(Describe("kubernetes_healthchecks_total", {"name"})).With({"ping"});
  const Series other = registry.Counter(Describe("other_total")).With({});
  check.Set(1);
  checks.Add(5);
  other.Add();
  std::string slis = registry.Expose(false, true);
  EXPECT_THAT(slis, HasSubstr("kubernetes_healthcheck{name=\"ping\"} 1\n"));
  EXPECT_THAT(slis, HasSubstr("kubernetes_healthchecks_total{name=\"ping\"} 5\n"));
  EXPECT_THAT(slis, HasSubstr("process_start_time_seconds "));
  EXPECT_THAT(slis, Not(HasSubstr("other")));
  EXPECT_THAT(slis, Not(HasSubstr("process_cpu")));
  registry.ResetSlis();
  slis = registry.Expose(false, true);
  EXPECT_THAT(slis, Not(HasSubstr("healthcheck")));
  EXPECT_THAT(slis, HasSubstr("process_start_time_seconds "));
  EXPECT_THAT(registry.Expose(false, false), HasSubstr("other_total 1\n"));
  checks.Add();
  EXPECT_THAT(registry.Expose(false, true),
              HasSubstr("kubernetes_healthchecks_total{name=\"ping\"} 1\n"));
}

TEST(RegistryCollectors, RunBeforeAScrapeUntilRemoved) {
  Registry registry;
  const Series gauge = registry.Gauge(Describe("g")).With({});
  int runs = 0;
  const int id = registry.AddCollector([&] { gauge.Set(++runs); });
  EXPECT_THAT(registry.Expose(false, false), HasSubstr("g 1\n"));
  EXPECT_THAT(registry.Expose(true, false), HasSubstr("g 2.0\n"));
  registry.RemoveCollector(id);
  registry.RemoveCollector(id);
  EXPECT_THAT(registry.Expose(false, false), HasSubstr("g 2\n"));
}

TEST(RegistryThreads, ScrapesCountsAndRegistrationsTogether) {
  Registry registry;
  std::atomic<bool> stop{false};
  std::thread scraper([&] {
    while (!stop) registry.Expose(false, false);
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const Metric m = registry.Counter(Describe("m" + std::to_string(i % 10) + "_total", {"t"}));
        m.With({std::to_string(i % 7)}).Add();
        const int id = registry.AddCollector([] {});
        if (i % 50 == t) m.Remove({"0"});
        registry.RemoveCollector(id);
      }
    });
  }
  for (std::thread& t : writers) t.join();
  stop = true;
  scraper.join();
}

TEST(ProcessMetrics, AreThereAndPlausible) {
  Registry registry;
  RegisterProcessMetrics(registry);
  RegisterRegistryMetrics(registry);
  registry.Disable({"process_max_fds"});
  const std::string text = registry.Expose(false, false);
  const auto value = [&](const std::string& name) {
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GT(value("process_virtual_memory_max_bytes"), 0);
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GT(value("process_start_time_seconds"), 1.5e9);
  EXPECT_EQ(value("process_max_fds"), -1) << "disabled";
  EXPECT_EQ(value("disabled_metrics_total"), 1);
  EXPECT_EQ(value("hidden_metrics_total"), 0);
  EXPECT_THAT(
      text,
      HasSubstr("registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
}

}  // namespace
}  // namespace kcm::host::metric
