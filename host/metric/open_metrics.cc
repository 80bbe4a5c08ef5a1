// SPDX-License-Identifier: Apache-2.0
// OpenMetrics text: see the header.
#include "host/metric/open_metrics.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace kcm::host::metric {
namespace {

constexpr std::string_view kTotal = "_total";

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// Numbers are floats in this format: 1 is written 1.0.
void AppendFloat(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

// name{labels,le="..."}
void AppendName(std::string& out, std::string_view name,
                const std::vector<prometheus::ClientMetric::Label>& labels,
                const double* le = nullptr) {
  out += name;
  if (labels.empty() && le == nullptr) {
    out += ' ';
    return;
  }
  char separator = '{';
  for (const auto& label : labels) {
    out += separator;
    out += label.name;
    out += "=\"";
    AppendEscaped(out, label.value);
    out += '"';
    separator = ',';
  }
  if (le != nullptr) {
    out += separator;
    out += "le=\"";
    AppendFloat(out, *le);
    out += '"';
  }
  out += "} ";
}

void AppendHistogram(std::string& out, const std::string& name,
                     const prometheus::ClientMetric& metric) {
  for (const auto& bucket : metric.histogram.bucket) {
    AppendName(out, name + "_bucket", metric.label, &bucket.upper_bound);
    out += std::to_string(bucket.cumulative_count) + "\n";
  }
  AppendName(out, name + "_sum", metric.label);
  AppendFloat(out, metric.histogram.sample_sum);
  out += '\n';
  AppendName(out, name + "_count", metric.label);
  out += std::to_string(metric.histogram.sample_count) + "\n";
}

void AppendFamily(std::string& out, const prometheus::MetricFamily& family) {
  const bool is_counter = family.type == prometheus::MetricType::Counter;
  const bool is_total = is_counter && family.name.ends_with(kTotal);
  const std::string name =
      is_total ? family.name.substr(0, family.name.size() - kTotal.size()) : family.name;
  const bool is_histogram = family.type == prometheus::MetricType::Histogram;
  const char* type = is_histogram ? "histogram"
                     : is_total   ? "counter"
                     : is_counter ? "unknown"
                                  : "gauge";
  std::string help;
  for (const char c : family.help) {
    if (c == '"') help += '\\';
    help += c;
  }
  if (!help.empty()) out += "# HELP " + name + " " + help + "\n";
  out += "# TYPE " + name + " " + type + "\n";
  for (const auto& metric : family.metric) {
    if (is_histogram) {
      AppendHistogram(out, name, metric);
      continue;
    }
    AppendName(out, family.name, metric.label);
    AppendFloat(out, is_counter ? metric.counter.value : metric.gauge.value);
    out += '\n';
  }
}

}  // namespace

std::string OpenMetricsText(const std::vector<prometheus::MetricFamily>& families) {
  std::string out;
  for (const auto& family : families) AppendFamily(out, family);
  out += "# EOF\n";
  return out;
}

}  // namespace kcm::host::metric
