// SPDX-License-Identifier: Apache-2.0
// The commands of kcmctl.
#include "host/ctl/ctl.h"

#include <filesystem>
#include <memory>

#include "host/ctl/admin_client.h"
#include "host/ctl/arguments.h"
#include "host/ctl/report.h"
#include "host/plugin/image.h"
#include "host/plugin/private_dir.h"

namespace kcm::host::ctl {
namespace {

constexpr int kAllKeys = 10000;  // why looks at every key that the host reports

// Loads the file as a host would, without its controllers' code, and describes it.
Result<std::string> Inspect(const std::string& file) {
  const Result<std::string> dir = plugin::MakePrivateDir();
  if (!dir.ok()) return dir.error();
  Result<std::string> text = MakeError(Code::kInternal, "");
  {
    const auto image = plugin::Image::Load(file, {*dir, ""});
    if (image.ok()) {
      text = plugin::Describe((*image)->declaration());
    } else {
      text = image.error();
    }
  }
  plugin::RemovePrivateDir(*dir);
  return text;
}

Result<std::string> Change(AdminClient& host, const std::function<Status()>& change) {
  const Result<std::string> before = host.Report(0);
  if (!before.ok()) return before;
  if (Status s = change(); !s.ok()) return s.error();
  const Result<std::string> after = host.Report(0);
  if (!after.ok()) return after;
  return SwapText(*before, *after);
}

Result<std::string> Show(const Result<std::string>& report, Output output,
                         const std::function<Result<std::string>(const std::string&)>& table) {
  if (!report.ok() || output == Output::kJson) return report;
  return table(*report);
}

Result<std::string> Ask(const Arguments& a) {
  const std::unique_ptr<clock::Clock> clock = clock::MakeRealClock();
  Result<AdminClient> opened = AdminClient::Open(a.access, clock.get());
  if (!opened.ok()) return opened.error();
  AdminClient& host = *opened;
  switch (a.command) {
    case Command::kList:
      return Show(host.Report(0), a.output, PluginTables);
    case Command::kQueues:
      return Show(host.Report(a.keys), a.output,
                  [&](const std::string& r) { return QueueTables(r, a.operand); });
    case Command::kWhy: {
      const Result<std::string> report = host.Report(kAllKeys);
      if (!report.ok()) return report;
      return WhyText(*report, a.operand);
    }
    case Command::kSwap: {
      std::error_code error;
      const std::filesystem::path file = std::filesystem::absolute(a.operand, error);
      if (error) return MakeError(Code::kInvalid, a.operand + ": " + error.message());
      return Change(host, [&] { return host.Swap(file.lexically_normal().string()); });
    }
    case Command::kRollback:
      return Change(host, [&] { return host.Rollback(a.operand); });
    case Command::kRescan:
      return Change(host, [&] { return host.Rescan(); });
    case Command::kInspect:
    case Command::kHelp:
      break;
  }
  return MakeError(Code::kInternal, "no such command");
}

}  // namespace

int Run(const std::vector<std::string>& args, const Write& out, const Write& err) {
  const Result<Arguments> a = ParseArguments(args);
  if (!a.ok()) {
    err("kcmctl: " + a.error().message + "\n");
    return 2;
  }
  if (a->command == Command::kHelp) {
    out(HelpText());
    return 0;
  }
  const Result<std::string> text = a->command == Command::kInspect ? Inspect(a->operand) : Ask(*a);
  if (!text.ok()) {
    err("kcmctl: " + text.error().message + "\n");
    return 1;
  }
  out(*text);
  return 0;
}

}  // namespace kcm::host::ctl
