// SPDX-License-Identifier: Apache-2.0
// Words for refused credentials.
#include "host/client/refusal.h"

#include <algorithm>

#include "kcm/rules/go_quote.h"

namespace kcm::host::client {
namespace {

constexpr char kCertificateFix[] =
    "it has to be valid now and signed by a CA that the server trusts for clients (its "
    "--client-ca-file): renew it";

std::string Certificate(const Config& config) {
  if (config.client_cert.empty()) return "";
  return config.client_cert.data.empty() ? "client-certificate " + config.client_cert.file
                                         : "client-certificate-data";
}

// What goes into the Authorization header, in the order of MakeCredentials.
std::string HeaderCredential(const Config& config) {
  if (!config.token_file.empty()) return "tokenFile " + config.token_file;
  if (!config.token.empty()) return "token";
  if (!config.username.empty() || !config.password.empty()) return "username and password";
  if (config.exec && config.client_cert.empty()) return "exec plugin " + config.exec->command;
  return "";
}

std::string Place(const Config& config) {
  std::string out;
  if (!config.user.empty()) out += " of user " + rules::GoQuote(config.user);
  if (!config.kubeconfig.empty()) out += " in " + config.kubeconfig;
  return out;
}

// Where credentials are to be written.
std::string Home(const Config& config) {
  if (config.kubeconfig.empty()) return "name a file that has them with --kubeconfig";
  return "give " + (config.user.empty() ? "the user" : "user " + rules::GoQuote(config.user)) +
         " a client-certificate, a token or exec in " + config.kubeconfig;
}

}  // namespace

std::string CredentialsText(const Config& config) {
  std::string what = HeaderCredential(config);
  const std::string certificate = Certificate(config);
  if (!what.empty() && !certificate.empty()) what += " and ";
  what += certificate;
  return (what.empty() ? "no credentials" : what) + Place(config);
}

std::string CredentialsFix(const Config& config) {
  const std::string header = HeaderCredential(config);
  if (header.empty())
    return config.client_cert.empty() ? Home(config) : std::string(kCertificateFix);
  if (header.starts_with("token"))
    return "it has to be a token of this cluster that is neither expired nor revoked: put a fresh "
           "one there";
  if (header.starts_with("exec"))
    return "it has to give credentials of this cluster: run it by hand";
  return "the server has to know this user and password: correct them, or use a certificate or a "
         "token";
}

std::string CertificateText(const Config& config) {
  const std::string certificate = Certificate(config);
  if (certificate.empty())
    return "no client certificate" + Place(config) + ": the server asks for one: " + Home(config);
  return certificate + Place(config) + ": " + kCertificateFix;
}

bool IsCertificateAlert(std::string_view text) {
  constexpr std::string_view kAlerts[] = {
      "alert bad certificate",     "alert unsupported certificate", "alert certificate revoked",
      "alert certificate expired", "alert certificate unknown",     "alert unknown ca",
      "alert access denied",       "alert certificate required",
  };
  return std::any_of(std::begin(kAlerts), std::end(kAlerts), [text](std::string_view alert) {
    return text.find(alert) != std::string_view::npos;
  });
}

bool DoesNotKnowUs(const Error& error) {
  return error.http_status == 401 ||
         (error.http_status == 403 &&
          error.message.find("\"system:anonymous\"") != std::string::npos);
}

}  // namespace kcm::host::client
