#pragma once
// As much of SQLite as a profile needs: typed statements that keep the first error.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fathom {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// Runs statements without results; the error's text, or an empty string.
std::string execute(sqlite3* database, const char* sql);

/// A reference that may be absent (NULL).
struct OptionalId {
  uint32_t id;  ///< kNoId: absent
};

/// INSERT INTO table VALUES (...), prepared once. Wants every column of the table.
class Inserter {
 public:
  Inserter(sqlite3* database, const char* table);
  template <class... Values>
  void add(const Values&... values) {
    int column = 0;
    (bind(++column, values), ...);
    step();
  }
  /// What went wrong first, or an empty string.
  const std::string& error() const { return error_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void bind(int column, double value);
  void bind(int column, int64_t value);
  void bind(int column, uint64_t value) { bind(column, static_cast<int64_t>(value)); }
  void bind(int column, uint32_t value) { bind(column, static_cast<int64_t>(value)); }
  void bind(int column, int value) { bind(column, static_cast<int64_t>(value)); }
  void bind(int column, bool value) { bind(column, static_cast<int64_t>(value)); }
  void bind(int column, std::string_view value);
  void bind(int column, const std::string& value) { bind(column, std::string_view(value)); }
  void bind(int column, OptionalId value);
  void bind(int column, std::nullptr_t);
  void step();

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string error_;
};

/// Reads a whole table in the order of its row ids, which must count up without a gap: so a damaged
/// tree of pages cannot yield a row twice, lose one, or go round in circles.
/// A value of the wrong type or out of range is an error; reading on then yields zeros.
class Rows {
 public:
  /// `first` is the first row id: 0 where the table has an id column, and 1 otherwise.
  Rows(sqlite3* database, const char* table, const char* columns, int64_t first);
  bool next();

  uint32_t u32();
  uint64_t u64();
  int64_t i64();
  double real();
  bool flag();
  std::string text();
  /// NULL gives kNoId; otherwise the id must be below `limit`.
  uint32_t optional_id(size_t limit);
  uint32_t id(size_t limit);
  bool is_null();  ///< of the next column, without consuming it

  void fail(const std::string& what);
  bool failed() const { return !error_.empty(); }
  /// "table kernels, row 3: ...", or an empty string.
  const std::string& error() const { return error_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::string table_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int64_t expected_;
  int column_ = 0;
  std::string error_;
};

}  // namespace fathom
