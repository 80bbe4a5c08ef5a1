// SPDX-License-Identifier: Apache-2.0
// Tables out of a host's report.
#include "host/ctl/report.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace kcm::host::ctl {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

std::string Number(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Milliseconds(double value) { return Number(value, "%.1f ms"); }
std::string Count(const json& object, const char* key) {
  return std::to_string(object.at(key).get<uint64_t>());
}

// Terminals obey control characters; what a plugin calls itself is foreign text.
std::string Plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}
std::string Word(const json& object, const char* key) {
  const std::string text = Plain(object.at(key).get<std::string>());
  return text.empty() ? "-" : text;
}

const json& ListOf(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? kNone : *found;
}

// Runs `make` over the parsed report; whatever does not fit becomes one error.
Result<std::string> Over(const std::string& report,
                         const std::function<Result<std::string>(const json&)>& make) {
  try {
    return make(json::parse(report));
  } catch (const json::exception& e) {
    return MakeError(
        Code::kInternal,
        std::string(
            "the host's report is not what this kcmctl understands: use the kcmctl of the host's "
            "version: ") +
            e.what());
  }
}

void ForEachQueue(
    const json& report,
    const std::function<void(const std::string& controller, const json& queue)>& visit) {
  for (const json& plugin : report.at("plugins"))
    for (const json& controller : ListOf(plugin, "controllers"))
      for (const json& queue : ListOf(controller, "queues")) visit(Word(controller, "name"), queue);
}

// What is said of a host that does not lead, "" of one that does. One of before does not say.
std::string Standby(const json& report) {
  if (report.value("leading", true)) return {};
  return "This host does not lead: its controllers are prepared and do nothing, its queues are "
         "empty. Ask the one that holds the lease (kubectl -n kube-system get lease "
         "kube-controller-manager, unless --leader-elect-resource-name says otherwise).\n";
}

// A line for each queue of the controller that nobody works on.
std::string WithoutWorkers(const json& controller) {
  std::string lines;
  for (const json& q : ListOf(controller, "queues")) {
    if (q.value("workers", 1) > 0) continue;  // a host of before does not say
    lines += "\n" + Word(controller, "name") + ": queue " + Word(q, "name") +
             " has no workers: nothing of it is reconciled";
    if (q.contains("workersFlag")) lines += "; give --" + Word(q, "workersFlag") + " 1 or more";
    lines += "\n";
  }
  return lines;
}

// What the plugin's file holds when that is not what runs.
std::string OtherFile(const json& plugin) {
  if (plugin.contains("directoryFile"))
    return "\n" + Word(plugin, "name") + ": " + Word(plugin, "file") +
           " was given to kcmctl plugins swap: a restart of the host loads " +
           Word(plugin, "directoryFile") + "\n";
  if (!plugin.contains("fileBuildId")) return {};
  std::string out = "\n" + Word(plugin, "name") + ": " + Word(plugin, "file") + " holds build " +
                    Word(plugin, "fileBuildId");
  if (plugin.contains("fileTakenBack"))
    out += ", which was taken back (" + Word(plugin, "fileTakenBack") +
           "): the host leaves it alone until the file's bytes change, but a restart loads it; "
           "kcmctl plugins swap tries it again\n";
  else
    out += ", not the one that runs: a restart of the host loads it, kcmctl plugins swap at once\n";
  return out;
}

// Whether a plugin's last error is that of a refused file, which has a line of its own.
bool OfRefusedFile(const json& report, const json& plugin) {
  for (const json& f : ListOf(report, "refused"))
    if (f.at("file") == plugin.at("file") &&
        f.at("reason").get<std::string>().ends_with(plugin.at("lastError").get<std::string>()))
      return true;
  return false;
}

// NAMESPACE/NAME, or NAME of an object without a namespace.
bool IsObjectName(const std::string& key) {
  const size_t slash = key.find('/');
  if (key.empty() || key.find_first_of(" \t\n") != std::string::npos) return false;
  return slash == std::string::npos ||
         (slash > 0 && slash + 1 < key.size() && key.find('/', slash + 1) == std::string::npos);
}

std::string Due(const json& of, const char* key) {
  const double seconds = of.at(key).get<double>();
  return seconds > 0 ? Number(seconds, "in %.1f s") : "now";
}

}  // namespace

std::string Table(const Rows& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(width[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

Result<std::string> PluginTables(const std::string& report) {
  return Over(report, [](const json& r) -> Result<std::string> {
    Rows plugins{{"PLUGIN", "VERSION", "BUILD", "STATE", "SWAPS", "LAST PAUSE", "FILE"}};
    Rows controllers{{"CONTROLLER", "PLUGIN", "ACTIVE", "GENERATION", "RUNS", "RETRIES", "ERRORS"}};
    std::string errors;
    for (const json& p : r.at("plugins")) {
      const bool swapped = p.at("swaps").get<uint64_t>() > 0;
      plugins.push_back({Word(p, "name"), Word(p, "version"), Word(p, "buildId"), Word(p, "state"),
                         Count(p, "swaps"),
                         swapped ? Milliseconds(p.at("lastPauseMs").get<double>()) : "-",
                         Word(p, "file")});
      if (p.contains("lastError") && !OfRefusedFile(r, p))
        errors += "\n" + Word(p, "name") + ": last error: " + Word(p, "lastError") + "\n";
      errors += OtherFile(p);
      if (p.contains("underWay")) errors += "\n" + Word(p, "underWay") + "\n";
      for (const json& w : ListOf(p, "waiting"))
        errors += "\n" + Word(w, "controller") + " of " + Word(p, "name") +
                  " does not start (tries: " + Count(w, "tries") + ", " +
                  (w.contains("retryInSeconds") ? "the next " + Due(w, "retryInSeconds")
                                                : "waits for another build") +
                  "): " + Word(w, "error") + "\n";
      for (const json& c : ListOf(p, "controllers")) {
        const std::string idle = WithoutWorkers(c);
        controllers.push_back({Word(c, "name"), Word(p, "name"),
                               !c.at("active").get<bool>() ? "no"
                               : idle.empty()              ? "yes"
                                                           : "idle",
                               Count(c, "generation"), Count(c, "runs"), Count(c, "retries"),
                               Count(c, "errors")});
        errors += idle;
        if (c.contains("unsynced"))
          errors += "\n" + Word(c, "name") + " is not active yet, its caches are not filled (" +
                    Word(c, "unsynced") +
                    "): does the server have these resources, does RBAC allow to list and watch "
                    "them? The log says what the server answers\n";
      }
    }
    std::string out = Table(plugins) + "\n" + Table(controllers) + errors;
    for (const json& h : ListOf(r, "hung"))
      out += "\n" + Word(h, "controller") + " of " + Word(h, "plugin") + " (build " +
             Word(h, "build") + ") is over and does not return from " + Word(h, "call") + ": " +
             Number(h.at("seconds").get<double>(), "%.1f s") +
             "; its thread and its mapping are kept\n";
    if (!ListOf(r, "refused").empty()) out += "\n";
    for (const json& f : ListOf(r, "refused")) out += "refused: " + Word(f, "reason") + "\n";
    const std::string standby = Standby(r);
    return out + (standby.empty() ? "" : "\n" + standby);
  });
}

Result<std::string> QueueTables(const std::string& report, const std::string& controller) {
  return Over(report, [&](const json& r) -> Result<std::string> {
    Rows queues{{"CONTROLLER", "QUEUE", "READY", "WAITING", "PROCESSING"}};
    Rows keys{{"QUEUE", "KEY", "STATE", "FAILURES", "DUE"}};
    std::set<std::string> known;  // one controller may have several queues
    ForEachQueue(r, [&](const std::string& name, const json& q) {
      known.insert(name);
      if (!controller.empty() && name != controller) return;
      queues.push_back(
          {name, Word(q, "name"), Count(q, "ready"), Count(q, "waiting"), Count(q, "processing")});
      for (const json& k : ListOf(q, "keys"))
        keys.push_back({Word(q, "name"), Word(k, "key"), Word(k, "state"),
                        std::to_string(k.at("failures").get<int64_t>()), Due(k, "dueInSeconds")});
    });
    if (!controller.empty() && queues.size() == 1) {
      std::string names;
      for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
      return MakeError(Code::kNotFound,
                       "no controller " + controller +
                           " with queues; there are: " + (names.empty() ? "none" : names));
    }
    std::string out = Standby(r) + Table(queues);
    if (keys.size() > 1) out += "\n" + Table(keys);
    return out;
  });
}

Result<std::string> WhyText(const std::string& report, const std::string& key) {
  return Over(report, [&](const json& r) -> Result<std::string> {
    Rows rows{{"CONTROLLER", "QUEUE", "STATE", "FAILURES", "DUE"}};
    std::string errors;
    ForEachQueue(r, [&](const std::string& name, const json& q) {
      for (const json& k : ListOf(q, "keys")) {
        if (k.at("key").get<std::string>() != key) continue;
        rows.push_back({name, Word(q, "name"), Word(k, "state"),
                        std::to_string(k.at("failures").get<int64_t>()), Due(k, "dueInSeconds")});
        if (const std::string error = k.value("error", ""); !error.empty())
          errors += "\n" + name + " failed last with: " + Plain(error) + "\n";
      }
    });
    if (rows.size() > 1) return Table(rows) + errors;
    if (!IsObjectName(key))
      return MakeError(Code::kInvalid,
                       Plain(key) +
                           ": no queue holds this key; give NAMESPACE/NAME, or NAME "
                           "for an object without a namespace");
    if (const std::string standby = Standby(r); !standby.empty()) return standby;
    return "No queue holds " + Plain(key) +
           ": nothing is to be done for it, and nothing failed that is to be tried again.\n"
           "If such an object exists (kubectl get), its last reconciles ended well, or it is of no "
           "kind that an active controller reconciles (kcmctl plugins list); the log names the "
           "keys that were dropped.\n";
  });
}

Result<std::string> SwapText(const std::string& before, const std::string& after) {
  return Over(after, [&](const json& now) -> Result<std::string> {
    return Over(before, [&](const json& then) -> Result<std::string> {
      std::string out;
      for (const json& p : now.at("plugins")) {
        for (const json& old : then.at("plugins")) {
          if (old.at("name") != p.at("name") || old.at("swaps") == p.at("swaps")) continue;
          out += Word(p, "name") + ": build " + Word(old, "buildId") + " -> " + Word(p, "buildId") +
                 ", paused for " + Milliseconds(p.at("lastPauseMs").get<double>()) + ", " +
                 Word(p, "state") + "\n";
        }
      }
      return out.empty() ? std::string("nothing changed\n") : out;
    });
  });
}

}  // namespace kcm::host::ctl
