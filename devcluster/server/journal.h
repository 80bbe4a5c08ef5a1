// SPDX-License-Identifier: Apache-2.0
// Journal: the objects of a store in one SQLite file, each as the JSON of its stored form.
//
//   Result<std::unique_ptr<Journal>> j = Journal::Open("/data/objects.sqlite");
//   (*j)->Load([&](const Journal::Row& row) { ...; return Ok(); });
//   (*j)->Append(changes);   // one transaction
//
// Guarantees: what Append returned Ok for is there after a kill or a power cut (write-ahead log,
// synchronous=FULL), all of it or, while Append still runs, all or nothing. revision() never goes
// back. A row that differs from what was written (each has a checksum), a file of something else
// and a file of a newer format are refused with an error that names the file.
// It does not know objects, tables or resources; it keeps no copy in memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kcm::devcluster {

// Used by one thread at a time.
class Journal {
 public:
  // Makes the file (mode 0600) when it is absent. Takes SQLite's exclusive lock on it.
  static Result<std::unique_ptr<Journal>> Open(const std::string& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The highest revision that an Append brought; 1 for a new file.
  uint64_t revision() const { return revision_; }

  struct Row {
    uint64_t id = 0;
    std::string_view table, key;
    uint64_t revision = 0;
    std::string_view body;
  };
  // All rows, in the order of their ids; views live for the call. Ends at the first error of `sink`
  // and returns it.
  Status Load(const std::function<Status(const Row&)>& sink);

  struct Change {
    uint64_t id = 0;  // of the row: chosen by the caller, one per key and never used again
    std::string_view table, key;
    uint64_t revision = 0;
    bool remove = false;
    std::string body;  // empty for remove
  };
  // Writes all changes in one transaction. An error leaves none of them: kUnavailable, the disk is
  // full and a later Append may succeed; kInternal, the file can not be trusted any more and every
  // later Append is refused (a failed fsync may have lost pages silently).
  Status Append(const std::vector<Change>& changes);

 private:
  struct FreeStatement {
    void operator()(sqlite3_stmt* s) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, FreeStatement>;

  explicit Journal(std::string file) : file_(std::move(file)) {}
  Status Prepare();
  Status CheckFormat();
  Status ReadRevision();
  bool Run(const char* sql);
  Result<int64_t> Number(const char* sql);
  Statement Compile(const char* sql);
  bool Write(const Change& change);
  bool WriteAll(const std::vector<Change>& changes);
  Error WhyNot(const char* what) const;
  static int AfterCommit(void* self, sqlite3* db, const char* name, int pages);

  const std::string file_;
  sqlite3* db_ = nullptr;
  uint64_t revision_ = 1;
  bool broken_ = false;
  Statement put_, remove_, raise_;
};

}  // namespace kcm::devcluster
