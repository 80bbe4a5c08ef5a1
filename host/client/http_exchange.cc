// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 framing: heads, fixed and chunked bodies.
#include "host/client/http_exchange.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kcm::host::client {
namespace {

constexpr size_t kMaxHead = 256 << 10;
constexpr size_t kMaxLine = 16 << 10;
constexpr size_t kReadSize = 16 << 10;  // one TLS record
constexpr int kMaxInterim = 16;         // 1xx answers in a row

Error Malformed(std::string what) {
  return TransportError(kCauseOther, "malformed HTTP response: " + std::move(what));
}
Error Cut() { return TransportError(kCauseEof, "unexpected EOF"); }

bool SameName(std::string_view x, std::string_view lower) {
  return x.size() == lower.size() &&
         std::equal(x.begin(), x.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

// Whether a comma separated header value holds `lower`.
bool HasToken(std::string_view value, std::string_view lower) {
  while (!value.empty()) {
    const size_t comma = value.find(',');
    if (SameName(Trim(value.substr(0, comma)), lower)) return true;
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
  return false;
}

template <class T>
bool ParseNumber(std::string_view text, T* out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Status TakeHeader(std::string_view name, std::string_view value, ResponseHead* out) {
  if (SameName(name, "content-length")) {
    int64_t length = -1;
    if (!ParseNumber(value, &length) || length < 0) return Malformed("bad Content-Length");
    if (out->content_length >= 0 && out->content_length != length)
      return Malformed("two Content-Lengths");
    out->content_length = length;
  } else if (SameName(name, "transfer-encoding")) {
    if (!SameName(value, "chunked")) return Malformed("unsupported Transfer-Encoding");
    out->chunked = true;
  } else if (SameName(name, "content-type")) {
    out->content_type = std::string(value);
  } else if (SameName(name, "connection")) {
    if (HasToken(value, "close")) out->keep_alive = false;
    if (HasToken(value, "keep-alive")) out->keep_alive = true;
  } else if (SameName(name, "retry-after")) {
    int64_t seconds = -1;
    if (ParseNumber(value, &seconds) && seconds >= 0) out->retry_after_seconds = seconds;
  }
  return Ok();
}

}  // namespace

Result<ResponseHead> ParseResponseHead(std::string_view head) {
  ResponseHead out;
  const std::string_view line = Trim(head.substr(0, head.find('\n')));
  if (line.size() < 12 || line.substr(0, 7) != "HTTP/1." || line[8] != ' ' ||
      !ParseNumber(line.substr(9, 3), &out.status) || out.status < 100) {
    return Malformed("bad status line");
  }
  out.keep_alive = line[7] != '0';
  while (true) {
    const size_t end = head.find('\n');
    if (end == std::string_view::npos) break;
    head.remove_prefix(end + 1);
    const std::string_view header = head.substr(0, head.find('\n'));
    const size_t colon = header.find(':');
    if (Trim(header).empty()) continue;
    if (colon == std::string_view::npos || colon == 0) return Malformed("header without a name");
    const Status taken = TakeHeader(header.substr(0, colon), Trim(header.substr(colon + 1)), &out);
    if (!taken.ok()) return taken.error();
  }
  return out;
}

Status HttpExchange::Send(std::string_view request, SocketDeadline deadline) {
  return connection_->Write(request, deadline);
}

Status HttpExchange::Fill(SocketDeadline deadline) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  }
  const size_t old = buffer_.size();
  buffer_.resize(old + kReadSize);
  const Result<size_t> n = connection_->Read(buffer_.data() + old, kReadSize, deadline);
  buffer_.resize(old + (n.ok() ? *n : 0));
  if (!n.ok()) return n.error();
  if (*n == 0) return Cut();
  got_bytes_ = true;
  return Ok();
}

Result<ResponseHead> HttpExchange::ReadHead(SocketDeadline deadline) {
  for (int interim = 0; interim < kMaxInterim; ++interim) {
    size_t end = 0;
    size_t searched = at_;
    while ((end = buffer_.find("\r\n\r\n", searched)) == std::string::npos) {
      if (buffer_.size() - at_ > kMaxHead) return Malformed("headers larger than 256 KiB");
      searched = std::max(at_, buffer_.size() < 3 ? size_t{0} : buffer_.size() - 3);
      const size_t before = at_;
      const Status filled = Fill(deadline);
      if (!filled.ok()) return filled.error();
      if (at_ != before) searched = at_;
    }
    Result<ResponseHead> head =
        ParseResponseHead(std::string_view(buffer_).substr(at_, end + 2 - at_));
    if (!head.ok()) return head;
    at_ = end + 4;
    if (head->status < 200) continue;
    reusable_ = head->keep_alive;
    if (head->status == 204 || head->status == 304) {
      state_ = State::kDone;
    } else if (head->chunked) {
      state_ = State::kChunkHead;
    } else if (head->content_length >= 0) {
      left_ = static_cast<uint64_t>(head->content_length);
      state_ = left_ > 0 ? State::kFixed : State::kDone;
    } else {
      state_ = State::kUntilClose;
      reusable_ = false;
    }
    return head;
  }
  return Malformed("only 1xx answers");
}

Result<std::string> HttpExchange::ReadLine(size_t limit, SocketDeadline deadline) {
  for (;;) {
    const size_t end = buffer_.find('\n', at_);
    if (end != std::string::npos) {
      std::string line(Trim(std::string_view(buffer_).substr(at_, end - at_)));
      at_ = end + 1;
      return line;
    }
    if (buffer_.size() - at_ > limit) return Malformed("line too long");
    const Status filled = Fill(deadline);
    if (!filled.ok()) return filled.error();
  }
}

Result<size_t> HttpExchange::ReadSome(char* to, size_t size, SocketDeadline deadline) {
  size = static_cast<size_t>(std::min<uint64_t>(size, left_));
  if (at_ < buffer_.size()) {
    size = std::min(size, buffer_.size() - at_);
    std::memcpy(to, buffer_.data() + at_, size);
    at_ += size;
  } else if (size >= kReadSize) {  // large body: without a copy
    const Result<size_t> n = connection_->Read(to, size, deadline);
    if (!n.ok()) return n;
    if (*n == 0) return Cut();
    size = *n;
  } else {
    const Status filled = Fill(deadline);
    if (!filled.ok()) return filled.error();
    return ReadSome(to, size, deadline);
  }
  left_ -= size;
  return size;
}

Result<size_t> HttpExchange::ReadUntilClose(char* to, size_t size, SocketDeadline deadline) {
  if (at_ < buffer_.size()) {
    size = std::min(size, buffer_.size() - at_);
    std::memcpy(to, buffer_.data() + at_, size);
    at_ += size;
    return size;
  }
  const Result<size_t> n = connection_->Read(to, size, deadline);
  if (n.ok() && *n == 0) state_ = State::kDone;
  return n;
}

// Moves to the data of the next chunk, or to kDone.
Status HttpExchange::NextChunk(SocketDeadline deadline) {
  if (state_ == State::kChunkEnd) {
    const Result<std::string> line = ReadLine(kMaxLine, deadline);
    if (!line.ok()) return line.error();
    if (!line->empty()) return Malformed("bytes after a chunk");
    state_ = State::kChunkHead;
  }
  const Result<std::string> line = ReadLine(kMaxLine, deadline);
  if (!line.ok()) return line.error();
  const std::string_view size = Trim(std::string_view(*line).substr(0, line->find(';')));
  if (!ParseNumber(size, &left_, 16)) return Malformed("bad chunk size");
  if (left_ > 0) {
    state_ = State::kChunkData;
    return Ok();
  }
  state_ = State::kTrailers;
  size_t trailers = 0;
  for (;;) {
    const Result<std::string> trailer = ReadLine(kMaxLine, deadline);
    if (!trailer.ok()) return trailer.error();
    if (trailer->empty()) break;
    trailers += trailer->size();
    if (trailers > kMaxHead) return Malformed("trailers too large");
  }
  state_ = State::kDone;
  return Ok();
}

Result<size_t> HttpExchange::ReadBody(char* to, size_t size, SocketDeadline deadline) {
  if (state_ == State::kChunkHead || state_ == State::kChunkEnd) {
    const Status next = NextChunk(deadline);
    if (!next.ok()) return next.error();
  }
  switch (state_) {
    case State::kFixed:
    case State::kChunkData: {
      const Result<size_t> n = ReadSome(to, size, deadline);
      if (n.ok() && left_ == 0) state_ = state_ == State::kFixed ? State::kDone : State::kChunkEnd;
      return n;
    }
    case State::kUntilClose:
      return ReadUntilClose(to, size, deadline);
    case State::kDone:
      return size_t{0};
    case State::kHead:
    case State::kChunkHead:
    case State::kChunkEnd:
    case State::kTrailers:
      break;
  }
  return Malformed("body read out of turn");
}

}  // namespace kcm::host::client
