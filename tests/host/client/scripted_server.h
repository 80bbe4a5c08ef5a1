// SPDX-License-Identifier: Apache-2.0
// ScriptedServer: answers HTTP requests with prepared bytes, one step per request: for faults on
// the wire that no proper server produces (cut bodies, closed connections, odd framing).
#pragma once
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/StreamSocket.h>
#include <sys/socket.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kcm::test {

struct Step {
  std::string
      answer;  // bytes as they go out; "" with close_after: the connection ends without an answer
  bool close_after = false;
  bool hang = false;  // no answer, the connection stays open
};

inline std::string Http(int status, const std::string& body, const std::string& headers = "",
                        const std::string& type = "application/json") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<Step> steps)
      : steps_(std::move(steps)), listener_(Poco::Net::SocketAddress("127.0.0.1", 0)) {
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_.impl()->sockfd(), SHUT_RDWR);
    acceptor_.join();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const Poco::Net::StreamSocket& s : sockets_) ::shutdown(s.impl()->sockfd(), SHUT_RDWR);
    }
    for (std::thread& t : threads_) t.join();
  }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(listener_.address().port());
  }
  std::vector<std::string> requests() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }
  size_t connections() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return sockets_.size();
  }
  // Blocks until `n` requests have arrived.
  void AwaitRequests(size_t n) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return requests_.size() >= n; });
  }
  // Blocks until a connection has been closed by this side.
  void AwaitClosed(size_t n) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return closed_ >= n; });
  }

 private:
  void Accept() {
    for (;;) {
      try {
        Poco::Net::StreamSocket socket = listener_.acceptConnection();
        std::lock_guard<std::mutex> lock(mutex_);
        sockets_.push_back(socket);
        threads_.emplace_back([this, socket] { Serve(socket); });
      } catch (const std::exception&) {
        return;
      }
    }
  }

  // Head and body of the next request; "" at the end.
  static std::string ReadRequest(Poco::Net::StreamSocket* socket) {
    std::string in;
    size_t want = std::string::npos;
    char buffer[4096];
    while (want == std::string::npos || in.size() < want) {
      const int n = socket->receiveBytes(buffer, sizeof buffer);
      if (n <= 0) return "";
      in.append(buffer, static_cast<size_t>(n));
      const size_t end = in.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      const size_t length = in.find("Content-Length: ");
      want = end + 4 + (length < end ? std::stoul(in.substr(length + 16)) : 0);
    }
    return in;
  }

  void Serve(Poco::Net::StreamSocket socket) {
    try {
      for (;;) {
        std::string request = ReadRequest(&socket);
        if (request.empty()) return;
        Step step;
        {
          std::lock_guard<std::mutex> lock(mutex_);
          step = requests_.size() < steps_.size() ? steps_[requests_.size()]
                                                  : Step{Http(500, ""), false, false};
          requests_.push_back(std::move(request));
          changed_.notify_all();
        }
        if (step.hang) continue;
        for (size_t sent = 0; sent < step.answer.size();) {
          sent += static_cast<size_t>(socket.sendBytes(
              step.answer.data() + sent, static_cast<int>(step.answer.size() - sent)));
        }
        if (step.close_after) {
          ::shutdown(socket.impl()->sockfd(), SHUT_RDWR);
          std::lock_guard<std::mutex> lock(mutex_);
          ++closed_;
          changed_.notify_all();
          return;
        }
      }
    } catch (const std::exception&) {
      // The client went away: the test sees it on its side.
    }
  }

  const std::vector<Step> steps_;
  Poco::Net::ServerSocket listener_;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> requests_;             // guarded by mutex_
  std::vector<Poco::Net::StreamSocket> sockets_;  // guarded by mutex_
  std::vector<std::thread> threads_;              // guarded by mutex_ while accepting
  size_t closed_ = 0;                             // guarded by mutex_
};

}  // namespace kcm::test
