// SPDX-License-Identifier: Apache-2.0
// Finds backends and exchanges requests with them (backend.h).
#include "devcluster/server/backend.h"

#include <Poco/Exception.h>
#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/HTTPSClientSession.h>
#include <Poco/StreamCopier.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <istream>
#include <memory>
#include <ostream>

#include "devcluster/kinds/base64.h"
#include "devcluster/server/tls.h"
#include "kcm/rules/json_node.h"

namespace kcm::devcluster {
namespace {

using rules::JsonNode;
using rules::Node;

constexpr int kConnectSeconds = 3;
constexpr int kHttpsPort = 443;

std::string Text(Node n) { return std::string(n.String()); }

// The first ready address of the service's endpoints, "" without one.
std::string EndpointOf(const State& state, const std::string& ns, const std::string& service) {
  for (const Json& slice :
       state.reader->List(Gvr{"discovery.k8s.io", "v1", "endpointslices"}, ns)) {
    const Node s = JsonNode(slice);
    if (s.Path("metadata.labels").Get("kubernetes.io/service-name").String() != service) continue;
    for (const Node e : s.Get("endpoints").Items()) {
      if (!e.Path("conditions.ready").Bool(true) || e.Get("addresses").empty()) continue;
      return Text(e.Get("addresses").At(0));
    }
  }
  return {};
}

struct BioFree {
  void operator()(BIO* b) const { BIO_free(b); }
};

void Trust(SSL_CTX* context, const Backend& backend) {
  const std::unique_ptr<BIO, BioFree> in(
      BIO_new_mem_buf(backend.ca_pem.data(), static_cast<int>(backend.ca_pem.size())));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  while (const Certificate c{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store, c.get());
  }
  ERR_clear_error();
  X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(context), backend.name.c_str(),
                              backend.name.size());
}

Poco::Net::Context::Ptr ContextFor(const Backend& backend) {
  using Poco::Net::Context;
  Context::Ptr context(new Context(Context::TLS_CLIENT_USE, "", "", "",
                                   backend.insecure ? Context::VERIFY_NONE : Context::VERIFY_STRICT,
                                   9, backend.ca_pem.empty(), "HIGH:!aNULL:!eNULL"));
  context->enableExtendedCertificateVerification(false);
  if (!backend.insecure) Trust(context->sslContext(), backend);
  return context;
}

// May throw Poco's exceptions.
Answer Ask(const Backend& backend, const BackendCall& call) {
  Poco::Net::HTTPSClientSession session(backend.host, static_cast<Poco::UInt16>(backend.port),
                                        ContextFor(backend));
  const Poco::Timespan timeout(static_cast<long>(call.timeout.count()), 0);
  session.setTimeout(Poco::Timespan(kConnectSeconds, 0), timeout, timeout);
  Poco::Net::HTTPRequest request(call.method, call.target, Poco::Net::HTTPMessage::HTTP_1_1);
  request.setHost(backend.name);
  request.set("Accept", call.accept);
  request.set("X-Remote-User", call.user);
  for (const std::string& group : call.groups) request.add("X-Remote-Group", group);
  if (!call.body.empty()) {
    request.setContentType(call.content_type);
    request.setContentLength64(static_cast<Poco::Int64>(call.body.size()));
  }
  std::ostream& out = session.sendRequest(request);
  out.write(call.body.data(), static_cast<std::streamsize>(call.body.size()));
  Poco::Net::HTTPResponse response;
  std::istream& in = session.receiveResponse(response);
  Answer a;
  a.code = static_cast<int>(response.getStatus());
  a.content_type = response.getContentType();
  Poco::StreamCopier::copyToString(in, a.body);
  return a;
}

}  // namespace

std::optional<Backend> FindBackend(const State& state, const Json& api_service, Unavailable* why) {
  const Node spec = JsonNode(api_service).Get("spec");
  const std::string ns = Text(spec.Path("service.namespace"));
  const std::string name = Text(spec.Path("service.name"));
  const std::string shown = "service/" + name + " in \"" + ns + "\"";
  const auto service = state.reader->Get(Gvr{"", "v1", "services"}, ns, name);
  if (!service) {
    *why = {"ServiceNotFound", shown + " is not present"};
    return std::nullopt;
  }
  Backend out;
  out.port = static_cast<int>(spec.Path("service.port").Int(kHttpsPort));
  out.name = name + "." + ns + ".svc";
  out.insecure = spec.Get("insecureSkipTLSVerify").Bool();
  out.ca_pem = kinds::DecodeBase64(spec.Get("caBundle").String()).value_or("");
  const Node s = JsonNode(*service).Get("spec");
  if (s.Get("type").String() == "ExternalName") {
    out.host = Text(s.Get("externalName"));
  } else {
    out.host = EndpointOf(state, ns, name);
    if (out.host.empty()) out.host = Text(s.Get("clusterIP"));
  }
  if (out.host.empty() || out.host == "None") {
    *why = {"MissingEndpoints", shown + " has no ready address"};
    return std::nullopt;
  }
  return out;
}

std::optional<Answer> Exchange(const Backend& backend, const BackendCall& call, Unavailable* why) {
  std::string error;
  try {
    return Ask(backend, call);
  } catch (const Poco::Exception& e) {
    error = e.displayText();
  } catch (const std::exception& e) {
    error = e.what();
  }
  *why = {"FailedDiscoveryCheck", "no answer from https://" + backend.host + ":" +
                                      std::to_string(backend.port) + call.target + ": " + error};
  return std::nullopt;
}

}  // namespace kcm::devcluster
