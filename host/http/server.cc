// SPDX-License-Identifier: Apache-2.0
// Wires listener, TLS, authentication, authorization and routes around Poco's HTTP server.
#include "host/http/server.h"

#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequestImpl.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/ThreadPool.h>
#include <Poco/Timespan.h>

#include <cerrno>
#include <condition_variable>
#include <istream>
#include <mutex>
#include <optional>
#include <thread>

#include "host/clock/thread.h"
#include "host/config/validation.h"
#include "host/http/authentication.h"
#include "host/http/authorization.h"
#include "host/http/certificates.h"
#include "host/http/listener.h"
#include "host/http/routes.h"
#include "host/http/tls_server.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::http {
namespace {

constexpr size_t kMaxBody = 1 << 20;
constexpr int kMaxConnections = 100;  // each holds a thread while it lasts
constexpr int kMaxWaiting = 100;
constexpr int kStackBytes = 256 * 1024;
constexpr auto kRefreshPeriod = std::chrono::seconds(30);
constexpr int kIdleSeconds = 90;
constexpr int kFirstByteSeconds = 32;

Response Unauthorized() { return StatusError(401, "Unauthorized", "Unauthorized", false); }

Response Forbidden(const User& user, const std::string& method, const std::string& path,
                   const std::string& reason) {
  std::string verb = method;
  for (char& c : verb) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  std::string message = "forbidden: User " + rules::GoQuote(user.name) + " cannot " + verb +
                        " path " + rules::GoQuote(path);
  if (!reason.empty()) message += ": " + reason;
  return StatusError(403, "Forbidden", message, true);
}

// nullopt when it is longer than allowed.
std::optional<std::string> ReadBody(Poco::Net::HTTPServerRequestImpl& wire) {
  std::string body;
  // Poco would read a POST without length until the client hangs up; by HTTP it has no body.
  if (!wire.hasContentLength() && !wire.getChunkedTransferEncoding()) return body;
  std::istream& in = wire.stream();
  std::string block(4096, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    body.append(block.data(), static_cast<size_t>(in.gcount()));
    if (body.size() > kMaxBody) return std::nullopt;
  }
  return body;
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions o)
      : options(std::move(o)),
        health(options.metrics, options.log),
        authenticator(options.authentication, options.authentication_client, options.clock,
                      options.log),
        authorizer(options.authorization, options.authorization_client, options.clock) {}

  Response Serve(Poco::Net::HTTPServerRequestImpl& wire);
  Response Dispatch(const Request& request);
  void Answer(const Response& response, Poco::Net::HTTPServerRequestImpl& wire,
              Poco::Net::HTTPServerResponse& out);
  void Exchange(Poco::Net::HTTPServerRequestImpl& wire, Poco::Net::HTTPServerResponse& out);
  Result<std::shared_ptr<TlsContext>> PrepareTls();
  void Maintain();

  ServerOptions options;
  HealthRegistry health;
  Authenticator authenticator;
  Authorizer authorizer;
  Routes routes;
  std::unique_ptr<CertificateStore> certificates;
  int port = 0;
  std::unique_ptr<Poco::ThreadPool> threads;
  std::unique_ptr<Poco::Net::HTTPServer> http;
  std::thread maintenance;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
};

namespace {

class RequestHandler : public Poco::Net::HTTPRequestHandler {
 public:
  using Work = std::function<void(Poco::Net::HTTPServerRequest&, Poco::Net::HTTPServerResponse&)>;
  explicit RequestHandler(const Work& work) : work_(work) {}
  void handleRequest(Poco::Net::HTTPServerRequest& request,
                     Poco::Net::HTTPServerResponse& response) override {
    work_(request, response);
  }

 private:
  const Work& work_;
};

class HandlerFactory : public Poco::Net::HTTPRequestHandlerFactory {
 public:
  explicit HandlerFactory(RequestHandler::Work work) : work_(std::move(work)) {}
  Poco::Net::HTTPRequestHandler* createRequestHandler(
      const Poco::Net::HTTPServerRequest&) override {
    return new RequestHandler(work_);
  }

 private:
  RequestHandler::Work work_;
};

}  // namespace

Response Server::Impl::Serve(Poco::Net::HTTPServerRequestImpl& wire) {
  Request request;
  request.method = wire.getMethod();
  if (!ParseTarget(wire.getURI(), &request.path, &request.query))
    return TextError(400, "400 Bad Request");
  for (const auto& [name, value] : wire) request.headers.emplace_back(name, value);
  static const std::vector<CertPtr> kNone;
  const TlsSocket* tls = TlsSocket::Of(wire.socket());

  Result<User> user =
      authenticator.Authenticate(request.headers, tls == nullptr ? kNone : tls->PeerCertificates());
  if (!user.ok()) {
    options.log.Error(user.error().message, "Unable to authenticate the request");
    return Unauthorized();
  }
  request.user = *std::move(user);
  const Result<Decision> decision =
      authorizer.Authorize(request.user, request.method, request.path);
  if (!decision.ok()) {
    return TextError(500, "Internal Server Error: " + rules::GoQuote(request.path) + ": " +
                              decision.error().message);
  }
  if (!decision->allowed)
    return Forbidden(request.user, request.method, request.path, decision->reason);

  std::optional<std::string> body = ReadBody(wire);
  if (!body) return TextError(413, "request body is larger than 1 MiB");
  request.body = *std::move(body);
  return Dispatch(request);
}

Response Server::Impl::Dispatch(const Request& request) {
  const std::shared_ptr<const Handler> handler = routes.Find(request.path);
  if (handler == nullptr) return TextError(404, "404 page not found");
  return (*handler)(request);
}

void Server::Impl::Answer(const Response& response, Poco::Net::HTTPServerRequestImpl& wire,
                          Poco::Net::HTTPServerResponse& out) {
  out.setStatus(static_cast<Poco::Net::HTTPResponse::HTTPStatus>(response.status));
  out.setReason(Poco::Net::HTTPResponse::getReasonForStatus(out.getStatus()));
  out.set("Cache-Control", "no-cache, private");
  for (const auto& [name, value] : response.headers) out.add(name, value);
  out.setContentType(response.content_type);
  // What was not read of a body would be taken for the next request.
  if (response.status >= 400 && (wire.hasContentLength() || wire.getChunkedTransferEncoding()))
    out.setKeepAlive(false);
  out.sendBuffer(response.body.data(), response.body.size());
}

void Server::Impl::Maintain() {
  const clock::BusyScope busy(*options.clock);
  std::unique_lock lock(mutex);
  for (int round = 1;
       !options.clock->WaitFor(lock, changed, kRefreshPeriod, [&] { return stopping; }); ++round) {
    lock.unlock();
    certificates->Reload();
    // The ConfigMap half as often: it costs the API server a request.
    authenticator.Refresh(round % 2 == 0 ? Authenticator::Source::kAll
                                         : Authenticator::Source::kFiles);
    lock.lock();
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// One request, from its header to its answer. What a handler throws becomes a 500.
void Server::Impl::Exchange(Poco::Net::HTTPServerRequestImpl& wire,
                            Poco::Net::HTTPServerResponse& out) {
  if (TlsSocket* socket = TlsSocket::Of(wire.socket()); socket != nullptr) socket->HeaderRead();
  Response answer;
  try {
    answer = Serve(wire);
  } catch (const std::exception& e) {
    options.log.Error(e.what(), "A request's handler failed");
    answer =
        TextError(500, "This request caused apiserver to panic. Look in the logs for details.");
  }
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
  if (options.log.Enabled(3) && ParseTarget(wire.getURI(), &path, &query)) {
    options.log.Info(3, "HTTP",
                     {{"verb", wire.getMethod()}, {"URI", path}, {"resp", answer.status}});
  }
  Answer(answer, wire, out);
}

Result<std::shared_ptr<TlsContext>> Server::Impl::PrepareTls() {
  if (Status trust = authenticator.Start(); !trust.ok()) return trust.error();
  auto opened = CertificateStore::Open(options.serving, options.log);
  if (!opened.ok()) return opened.error();
  certificates = *std::move(opened);
  auto tls = TlsContext::Make(options.serving, certificates.get(),
                              [this] { return authenticator.WantsClientCertificates(); });
  if (!tls.ok()) return tls.error();
  metric::Description errors;
  errors.name = "apiserver_tls_handshake_errors_total";
  errors.help = "Number of requests dropped with 'TLS handshake error from' error";
  const metric::Series count = options.metrics->Counter(errors).With({});
  (*tls)->on_handshake_error = [this, count](const std::string& reason) {
    count.Add();
    options.log.Info(5, "TLS handshake error", {{"err", reason}});
  };
  return tls;
}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  Impl* i = impl.get();
  const Status checked = config::CheckServing(i->options.serving, i->options.authorization);
  if (!checked.ok()) return checked.error();
  Result<std::shared_ptr<TlsContext>> tls = i->PrepareTls();
  if (!tls.ok()) return tls.error();
  AddStandardRoutes(i->options, &i->health, &i->routes);

  const Result<Listener> listener = Listen(i->options.serving);
  if (!listener.ok()) return listener.error();
  i->port = listener->port;
  Poco::Net::HTTPServerParams::Ptr params = new Poco::Net::HTTPServerParams;
  params->setMaxThreads(kMaxConnections);
  params->setMaxQueued(kMaxWaiting);
  params->setTimeout(Poco::Timespan(kFirstByteSeconds, 0));
  params->setKeepAliveTimeout(Poco::Timespan(kIdleSeconds, 0));
  i->threads = std::make_unique<Poco::ThreadPool>(1, kMaxConnections + 1, 60, kStackBytes);
  RequestHandler::Work work = [i](Poco::Net::HTTPServerRequest& request,
                                  Poco::Net::HTTPServerResponse& response) {
    i->Exchange(dynamic_cast<Poco::Net::HTTPServerRequestImpl&>(request), response);
  };
  i->http =
      std::make_unique<Poco::Net::HTTPServer>(new HandlerFactory(std::move(work)), *i->threads,
                                              TlsServerSocket(listener->fd, *tls), params);
  std::unique_ptr<Server> server(new Server(std::move(impl)));
  try {
    i->http->start();
  } catch (const Poco::Exception&) {
    return MakeError(Code::kUnavailable, clock::NoThreadText("the HTTPS server", EAGAIN));
  }
  i->maintenance = clock::StartThread("upkeep of the HTTPS server", [i] { i->Maintain(); });
  i->options.log.Info(0, "Serving securely", {{"port", i->port}});
  return server;
}

Server::~Server() { Stop(); }

int Server::port() const { return impl_->port; }
HealthRegistry& Server::health() { return impl_->health; }

void Server::Handle(const std::string& path, PathOptions options, Handler handler) {
  impl_->routes.Add(path, options, std::move(handler));
}

void Server::Remove(const std::string& path) { impl_->routes.Remove(path); }

void Server::Refresh() {
  impl_->certificates->Reload();
  impl_->authenticator.Refresh(Authenticator::Source::kAll);
}

void Server::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stopping) return;
    impl_->stopping = true;
  }
  impl_->changed.notify_all();
  impl_->authenticator.Stop();
  impl_->authorizer.Stop();
  if (impl_->maintenance.joinable()) impl_->maintenance.join();
  if (impl_->http) {
    impl_->http->stopAll(true);
    impl_->threads->joinAll();
    impl_->http.reset();
  }
}

}  // namespace kcm::host::http
