// SPDX-License-Identifier: Apache-2.0
// Content negotiation and bodies of /flagz and /statusz.
#include "host/http/z_pages.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace kcm::host::http {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kWarning =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for "
    "debugging purposes only.\n";

std::string_view TrimSpaces(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Takes the part up to `separator` off `rest`.
std::string_view Next(std::string_view* rest, char separator) {
  const std::string_view part = rest->substr(0, rest->find(separator));
  rest->remove_prefix(std::min(part.size() + 1, rest->size()));
  return TrimSpaces(part);
}

Wanted Serve(std::string_view entry, std::string_view kind) {
  const std::string type(Next(&entry, ';'));
  std::map<std::string, std::string> parameters;
  while (!entry.empty()) {
    const std::string_view parameter = Next(&entry, ';');
    const size_t equals = parameter.find('=');
    if (equals != parameter.npos)
      parameters[std::string(parameter.substr(0, equals))] = parameter.substr(equals + 1);
  }
  if (type == "*/*" || type == "text/plain" || type == "text/*") return {Format::kText, ""};
  const Format format = type == "application/json"   ? Format::kJson
                        : type == "application/yaml" ? Format::kYaml
                                                     : Format::kNone;
  const std::string& version = parameters["v"];
  const bool object = parameters["g"] == "config.k8s.io" && parameters["as"] == kind &&
                      (version == "v1beta1" || version == "v1alpha1");
  if (format == Format::kNone || !object) return {};
  return {format, version};
}

// Flat enough for a writer of ten lines; JSON strings are YAML strings.
std::string Yaml(const OrderedJson& object, const std::string& indent) {
  std::string out;
  for (const auto& [key, value] : object.items()) {
    out +=
        indent + OrderedJson(key).dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + ":";
    if (value.is_object() && !value.empty()) {
      out += "\n" + Yaml(value, indent + "  ");
    } else {
      out += " " + value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
    }
  }
  return out;
}

Response ObjectPage(OrderedJson object, const Wanted& wanted, const std::string& page,
                    const std::string& kind) {
  Response r;
  object["kind"] = kind;
  object["apiVersion"] = "config.k8s.io/" + wanted.version;
  const std::string type = wanted.format == Format::kJson ? "application/json" : "application/yaml";
  r.content_type = type + ";v=" + wanted.version + ";g=config.k8s.io;as=" + kind;
  r.body = wanted.format == Format::kJson
               ? object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n"
               : Yaml(object, "");
  if (wanted.version == "v1alpha1") {
    r.headers.emplace_back("Warning", "299 - \"This version of the " + page +
                                          " endpoint is deprecated. Please use a newer version.\"");
  }
  return r;
}

Response NotAcceptable() { return TextError(406, "406 Not Acceptable"); }

}  // namespace

Wanted Negotiate(std::string_view accept, std::string_view kind) {
  if (TrimSpaces(accept).empty()) return {Format::kText, ""};
  while (!accept.empty()) {
    Wanted wanted = Serve(Next(&accept, ','), kind);
    if (wanted.format != Format::kNone) return wanted;
  }
  return {};
}

Response FlagzPage(const Flagz& page, const std::string& accept) {
  const Wanted wanted = Negotiate(accept, "Flagz");
  if (wanted.format == Format::kNone) return NotAcceptable();
  if (wanted.format != Format::kText) {
    OrderedJson object = {
        {"kind", ""}, {"apiVersion", ""}, {"metadata", {{"name", page.component}}}};
    object["flags"] = OrderedJson::object();
    for (const auto& [name, value] : page.flags) object["flags"][name] = value;
    return ObjectPage(std::move(object), wanted, "flagz", "Flagz");
  }
  Response r;
  r.body = "\n" + page.component + " flagz\n" + std::string(kWarning);
  // The reference picks a separator at random so that nobody parses this; any of its four is right.
  for (const auto& [name, value] : page.flags) r.body += name + "=" + value + "\n";
  return r;
}

Response StatuszPage(const Statusz& page, const std::string& accept) {
  const Wanted wanted = Negotiate(accept, "Statusz");
  if (wanted.format == Format::kNone) return NotAcceptable();
  if (wanted.format != Format::kText) {
    OrderedJson object = {{"kind", ""},
                          {"apiVersion", ""},
                          {"metadata", {{"name", page.component}}},
                          {"startTime", page.start_time},
                          {"uptimeSeconds", page.uptime_seconds},
                          {"goVersion", page.compiler},
                          {"binaryVersion", page.binary_version},
                          {"emulationVersion", page.emulation_version}};
    object["paths"] = page.paths;
    return ObjectPage(std::move(object), wanted, "statusz", "Statusz");
  }
  Response r;
  r.body = "\n" + page.component + " statusz\n" + std::string(kWarning) +
           "\nStarted: " + page.start_time + "\nUp: " + std::to_string(page.uptime_seconds) +
           " s\nCompiler: " + page.compiler + "\nBinary version: " + page.binary_version +
           "\nEmulation version: " + page.emulation_version + "\nPaths:";
  for (const std::string& path : page.paths) r.body += " " + path;
  r.body += "\n";
  return r;
}

}  // namespace kcm::host::http
