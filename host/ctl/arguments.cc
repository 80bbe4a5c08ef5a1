// SPDX-License-Identifier: Apache-2.0
// Reads the command line of kcmctl.
#include "host/ctl/arguments.h"

#include <charconv>
#include <functional>
#include <map>

#include "kcm/rules/go_duration.h"

namespace kcm::host::ctl {
namespace {

constexpr int kMostKeys = 10000;  // what the host answers at most

Error Usage(const std::string& what) {
  return MakeError(Code::kInvalid, what + " (see kcmctl --help)");
}

using Setter = std::function<Status(const std::string& value)>;
using Setters = std::map<std::string, Setter, std::less<>>;

Setter Text(std::string* target, const std::string& flag) {
  return [target, flag](const std::string& value) -> Status {
    if (value.empty()) return Usage(flag + " is empty");
    *target = value;
    return Ok();
  };
}

Status SetKeys(const std::string& text, int* keys) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMostKeys)
    return Usage("--keys: \"" + text + "\" is not a number from 0 to " + std::to_string(kMostKeys));
  *keys = value;
  return Ok();
}

Status SetOutput(const std::string& text, Output* output) {
  if (text != "table" && text != "json")
    return Usage("--output: \"" + text + "\" is neither table nor json");
  *output = text == "json" ? Output::kJson : Output::kTable;
  return Ok();
}

Status SetTimeout(const std::string& text, clock::Duration* timeout) {
  const Result<clock::Duration> d = rules::ParseDuration(text);
  if (!d.ok() || *d <= clock::Duration::zero())
    return Usage("--timeout: \"" + text + "\" is not a positive duration as 30s or 2m");
  *timeout = *d;
  return Ok();
}

Setters SettersOf(Arguments* a) {
  Setters s;
  s["--server"] = Text(&a->access.server, "--server");
  s["--ca"] = Text(&a->access.ca, "--ca");
  s["--cert-dir"] = Text(&a->access.cert_dir, "--cert-dir");
  s["--tls-server-name"] = Text(&a->access.tls_server_name, "--tls-server-name");
  s["--kubeconfig"] = Text(&a->access.kubeconfig, "--kubeconfig");
  s["--token-file"] = Text(&a->access.token_file, "--token-file");
  s["--client-cert"] = Text(&a->access.client_cert, "--client-cert");
  s["--client-key"] = Text(&a->access.client_key, "--client-key");
  s["--timeout"] = [a](const std::string& v) { return SetTimeout(v, &a->access.timeout); };
  s["--keys"] = [a](const std::string& v) { return SetKeys(v, &a->keys); };
  s["--output"] = [a](const std::string& v) { return SetOutput(v, &a->output); };
  s["-o"] = s["--output"];
  return s;
}

// Flags are set, the other words are returned.
Result<std::vector<std::string>> ReadFlags(const std::vector<std::string>& args,
                                           const Setters& setters) {
  std::vector<std::string> words;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].empty() || args[i].front() != '-') {
      words.push_back(args[i]);
      continue;
    }
    const size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    const auto setter = setters.find(name);
    if (setter == setters.end()) return Usage("unknown flag " + name);
    std::string value;
    if (equals != std::string::npos) {
      value = args[i].substr(equals + 1);
    } else {
      if (++i == args.size()) return Usage(name + " needs a value");
      value = args[i];
    }
    if (Status s = setter->second(value); !s.ok()) return s.error();
  }
  return words;
}

struct Form {
  const char* group;
  const char* verb;
  Command command;
  const char* operand;  // nullptr: none
  bool optional = false;
};
constexpr Form kForms[] = {
    {"plugins", "list", Command::kList, nullptr},
    {"plugins", "inspect", Command::kInspect, "FILE"},
    {"plugins", "swap", Command::kSwap, "FILE"},
    {"plugins", "rollback", Command::kRollback, "NAME"},
    {"plugins", "rescan", Command::kRescan, nullptr},
    {"queues", nullptr, Command::kQueues, "CONTROLLER", true},
    {"why", nullptr, Command::kWhy, "NAMESPACE/NAME"},
};

Status SetCommand(const std::vector<std::string>& words, Arguments* a) {
  for (const Form& form : kForms) {
    if (words.empty() || words[0] != form.group) continue;
    if (form.verb != nullptr && (words.size() < 2 || words[1] != form.verb)) continue;
    const size_t used = form.verb == nullptr ? 1 : 2;
    const std::string title =
        std::string(form.group) + (form.verb == nullptr ? "" : std::string(" ") + form.verb);
    const size_t most = used + (form.operand == nullptr ? 0 : 1);
    if (words.size() > most) return Usage(title + ": unexpected argument " + words[most]);
    if (words.size() < most && !form.optional) return Usage(title + " needs " + form.operand);
    a->command = form.command;
    if (words.size() == most && form.operand != nullptr) a->operand = words[used];
    return Ok();
  }
  if (!words.empty() && words[0] == "plugins")
    return Usage("plugins needs one of list, inspect, swap, rollback, rescan");
  return Usage(words.empty() ? "no command: plugins, queues or why"
                             : "unknown command " + words[0]);
}

}  // namespace

Result<Arguments> ParseArguments(const std::vector<std::string>& args) {
  Arguments a;
  for (const std::string& arg : args)
    if (arg == "--help" || arg == "-h" || arg == "help") return a;
  Result<std::vector<std::string>> words = ReadFlags(args, SettersOf(&a));
  if (!words.ok()) return words.error();
  if (Status s = SetCommand(*words, &a); !s.ok()) return s.error();
  if (a.access.client_cert.empty() != a.access.client_key.empty())
    return Usage("--client-cert and --client-key go together");
  if (!a.access.server.starts_with("https://"))
    return Usage("--server: \"" + a.access.server +
                 "\" is not an https:// address: the host serves nothing else");
  return a;
}

std::string HelpText() {
  return R"(kcmctl: looks into a running kcm-host and replaces its plugins.

  kcmctl plugins list                what is loaded: build, state, controllers, what was refused and why
  kcmctl plugins inspect FILE        what a plugin file declares, as JSON (asks no host)
  kcmctl plugins swap FILE           replaces the loaded plugin of that name while the host runs; FILE is on the host's machine
  kcmctl plugins rollback NAME       back to the build before the last swap, as long as it is on probation
  kcmctl plugins rescan              looks at the plugin directories now
  kcmctl queues [CONTROLLER]         queue lengths and the keys in them
      --keys N                       keys shown per queue (default 10)
  kcmctl why NAMESPACE/NAME          which queues hold this object, since how many failures, and when it is tried

  --server URL                       the host's secure port (default https://127.0.0.1:10257)
  --kubeconfig FILE                  credentials; its address is not used, its CA only without --ca and --cert-dir
  --ca FILE | --cert-dir DIR         what the host's certificate is checked with: a CA, or the host's own --cert-dir
  --tls-server-name NAME             the name in the host's certificate, when it is not the address
  --token-file FILE                  a bearer token
  --client-cert FILE --client-key FILE
  --timeout D                        longest wait for an answer (default 60s)
  -o, --output table|json

The host checks every request as it checks /metrics: the user needs the verb get (lists) or post (the rest) on the
non-resource URLs /plugins and /plugins/*. Certificates are always verified.
Exit codes: 0 done, 1 failed (the reason is on stderr), 2 wrong arguments.
)";
}

}  // namespace kcm::host::ctl
