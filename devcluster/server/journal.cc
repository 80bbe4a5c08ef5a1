// SPDX-License-Identifier: Apache-2.0
// The journal (journal.h).
#include "devcluster/server/journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace kcm::devcluster {
namespace {

constexpr int64_t kApplicationId = 0x6b636d64;  // "kcmd": what the file's header says it is
constexpr int64_t kFormat = 1;                  // user_version

// A row of some 5 kB takes one page or two.
constexpr const char* kSettings =
    "PRAGMA page_size = 8192;"
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;";

// The log is copied back every 32 MB: more seldom than SQLite's default, because a copy holds up
// writers.
constexpr int kLogPages = 4096;

constexpr const char* kSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE objects (id INTEGER PRIMARY KEY, tab TEXT NOT NULL, key TEXT NOT NULL,"
    " revision INTEGER NOT NULL, sum INTEGER NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE TABLE counter (revision INTEGER NOT NULL) STRICT;"
    "INSERT INTO counter VALUES (1);"
    "PRAGMA application_id = 1801678180;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
static_assert(kApplicationId == 1801678180);

// Of everything that a row says, so that a value moved to another row is noticed too.
int64_t Sum(std::string_view table, std::string_view key, uint64_t revision,
            std::string_view body) {
  uLong sum = crc32(0, nullptr, 0);
  const auto add = [&sum](std::string_view s) {
    const uint64_t size = s.size();
    Bytef head[sizeof size];
    std::memcpy(head, &size, sizeof size);
    sum = crc32(sum, head, sizeof head);
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(s.data()), s.size());
  };
  add(table);
  add(key);
  add(std::to_string(revision));
  add(body);
  return static_cast<int64_t>(sum);
}

void BindText(sqlite3_stmt* s, int at, std::string_view text) {
  sqlite3_bind_text64(s, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

std::string_view TextColumn(sqlite3_stmt* s, int at) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s, at));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(s, at)));
}

}  // namespace

void Journal::FreeStatement::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& file) {
  // Made here and not by SQLite: the file holds Secrets, and the log takes its mode from it.
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return MakeError(Code::kInvalid, "cannot open " + file + ": " + std::strerror(errno) +
                                         ": make it readable and writable for this user");
  }
  ::close(fd);
  std::unique_ptr<Journal> journal(new Journal(file));
  if (sqlite3_open_v2(file.c_str(), &journal->db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return journal->WhyNot("open");
  }
  sqlite3_extended_result_codes(journal->db_, 1);
  if (const Status s = journal->Prepare(); !s.ok()) return s.error();
  return journal;
}

Journal::~Journal() {
  put_.reset();
  remove_.reset();
  raise_.reset();
  sqlite3_close(db_);
}

Error Journal::WhyNot(const char* what) const {
  const int code = db_ != nullptr ? sqlite3_extended_errcode(db_) : SQLITE_NOMEM;
  const std::string why = db_ != nullptr ? sqlite3_errmsg(db_) : "out of memory";
  std::string fix = "restart the server; if it stays, restore the data directory";
  Code kind = Code::kInternal;
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      fix = "restore the data directory from a copy, or start with an empty one";
      break;
    case SQLITE_FULL:
      fix = "free space on its disk";
      kind = Code::kUnavailable;
      break;
    case SQLITE_BUSY:
      fix = "another program has it open: end that one";
      break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      fix = "make the file and its directory writable for this user";
      break;
    case SQLITE_IOERR:
      fix = "check the disk, then restart the server";
      break;
    default:
      break;
  }
  return MakeError(kind, std::string("cannot ") + what + " " + file_ + ": " + why + ": " + fix);
}

bool Journal::Run(const char* sql) {
  return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Journal::Statement Journal::Compile(const char* sql) {
  sqlite3_stmt* s = nullptr;
  sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, nullptr);
  return Statement(s);
}

Result<int64_t> Journal::Number(const char* sql) {
  const Statement s = Compile(sql);
  if (!s || sqlite3_step(s.get()) != SQLITE_ROW) return WhyNot("read");
  return sqlite3_column_int64(s.get(), 0);
}

Status Journal::CheckFormat() {
  const Result<int64_t> id = Number("PRAGMA application_id");
  if (!id.ok()) return id.error();
  const Result<int64_t> format = Number("PRAGMA user_version");
  if (!format.ok()) return format.error();
  const Result<int64_t> tables = Number("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.error();
  if (*id == 0 && *format == 0 && *tables == 0) return Ok();  // new
  if (*id != kApplicationId) {
    return MakeError(Code::kInvalid, file_ +
                                         " is a database of another program: choose another "
                                         "data directory");
  }
  if (*format != kFormat) {
    return MakeError(Code::kInvalid,
                     file_ + " has format " + std::to_string(*format) + ", this server reads " +
                         std::to_string(kFormat) +
                         ": start the server that wrote it, or choose another data directory");
  }
  return Ok();
}

Status Journal::ReadRevision() {
  const Result<int64_t> rows = Number("SELECT count(*) FROM counter");
  if (!rows.ok()) return rows.error();
  const Result<int64_t> counted = Number("SELECT coalesce(max(revision), 0) FROM counter");
  if (!counted.ok()) return counted.error();
  const Result<int64_t> used = Number("SELECT coalesce(max(revision), 1) FROM objects");
  if (!used.ok()) return used.error();
  if (*rows != 1 || *counted < *used) {
    return MakeError(Code::kInternal, file_ +
                                          " is damaged: its revision counter is behind its "
                                          "objects: restore the data directory from a copy");
  }
  revision_ = static_cast<uint64_t>(*counted);
  return Ok();
}

Status Journal::Prepare() {
  if (!Run("PRAGMA locking_mode = EXCLUSIVE")) return WhyNot("open");
  if (const Status s = CheckFormat(); !s.ok()) return s;
  if (!Run(kSettings)) return WhyNot("open");
  const Result<int64_t> id = Number("PRAGMA application_id");
  if (!id.ok()) return id.error();
  if (*id == 0 && !Run(kSchema)) return WhyNot("write");
  const Statement mode = Compile("PRAGMA journal_mode");
  if (!mode || sqlite3_step(mode.get()) != SQLITE_ROW) return WhyNot("read");
  if (TextColumn(mode.get(), 0) != "wal") {
    return MakeError(Code::kInvalid,
                     "cannot keep a write-ahead log beside " + file_ +
                         ": choose a data directory on a file system of this machine");
  }
  put_ = Compile(
      "INSERT INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE SET"
      " revision = ?4, sum = ?5, body = ?6");
  remove_ = Compile("DELETE FROM objects WHERE id = ?1");
  sqlite3_wal_hook(db_, &AfterCommit, this);
  raise_ = Compile("UPDATE counter SET revision = ?1");
  if (!put_ || !remove_ || !raise_) return WhyNot("use");
  return ReadRevision();
}

// A copy that fails leaves the log as it is, so nothing is lost; but a failed fsync of it may be
// forgotten by the kernel, and the next copy would then drop the log. Nothing is written after
// that.
int Journal::AfterCommit(void* self, sqlite3* db, const char* name, int pages) {
  if (pages < kLogPages) return SQLITE_OK;
  const int code = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if ((code & 0xff) == SQLITE_IOERR) static_cast<Journal*>(self)->broken_ = true;
  return SQLITE_OK;
}

Status Journal::Load(const std::function<Status(const Row&)>& sink) {
  const Statement s = Compile("SELECT id, tab, key, revision, sum, body FROM objects ORDER BY id");
  if (!s) return WhyNot("read");
  for (;;) {
    const int step = sqlite3_step(s.get());
    if (step == SQLITE_DONE) return Ok();
    if (step != SQLITE_ROW) return WhyNot("read");
    Row row;
    row.id = static_cast<uint64_t>(sqlite3_column_int64(s.get(), 0));
    row.table = TextColumn(s.get(), 1);
    row.key = TextColumn(s.get(), 2);
    row.revision = static_cast<uint64_t>(sqlite3_column_int64(s.get(), 3));
    row.body = TextColumn(s.get(), 5);
    if (Sum(row.table, row.key, row.revision, row.body) != sqlite3_column_int64(s.get(), 4)) {
      return MakeError(Code::kInternal,
                       file_ + " is damaged at " + std::string(row.table) + " " +
                           std::string(row.key) +
                           ": its checksum is wrong: restore the data directory from a copy");
    }
    if (Status taken = sink(row); !taken.ok()) return taken;
  }
}

bool Journal::Write(const Change& change) {
  sqlite3_stmt* s = change.remove ? remove_.get() : put_.get();
  sqlite3_bind_int64(s, 1, static_cast<int64_t>(change.id));
  if (!change.remove) {
    BindText(s, 2, change.table);
    BindText(s, 3, change.key);
    sqlite3_bind_int64(s, 4, static_cast<int64_t>(change.revision));
    sqlite3_bind_int64(s, 5, Sum(change.table, change.key, change.revision, change.body));
    BindText(s, 6, change.body);
  }
  const bool ok = sqlite3_step(s) == SQLITE_DONE && sqlite3_changes(db_) == 1;
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return ok;
}

bool Journal::WriteAll(const std::vector<Change>& changes) {
  if (!Run("BEGIN IMMEDIATE")) return false;
  uint64_t highest = revision_;
  for (const Change& change : changes) {
    if (!Write(change)) return false;
    highest = std::max(highest, change.revision);
  }
  sqlite3_bind_int64(raise_.get(), 1, static_cast<int64_t>(highest));
  const bool raised = sqlite3_step(raise_.get()) == SQLITE_DONE;
  sqlite3_reset(raise_.get());
  if (!raised || !Run("COMMIT")) return false;
  revision_ = highest;
  return true;
}

Status Journal::Append(const std::vector<Change>& changes) {
  if (broken_) {
    return MakeError(Code::kInternal,
                     "cannot write " + file_ +
                         " after an earlier failure: check the disk, then restart the server");
  }
  if (WriteAll(changes)) return Ok();
  Error error = WhyNot("write");
  // A full disk refuses bytes before anything is lost; every other failure leaves doubt.
  broken_ = error.code != Code::kUnavailable;
  if (sqlite3_get_autocommit(db_) == 0 && !Run("ROLLBACK")) broken_ = true;
  return error;
}

}  // namespace kcm::devcluster
