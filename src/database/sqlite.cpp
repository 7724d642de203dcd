#include "database/sqlite.h"

#include <cmath>

#include "base/text.h"
#include "model/profile.h"

namespace fathom {

std::string execute(sqlite3* database, const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(database, sql, nullptr, nullptr, &message) == SQLITE_OK) return "";
  std::string text = message ? message : sqlite3_errmsg(database);
  sqlite3_free(message);
  return text;
}

namespace {

/// The number of a table's columns; 0 if it is unknown.
int count_columns(sqlite3* database, const char* table) {
  sqlite3_stmt* statement = nullptr;
  std::string sql = format("SELECT * FROM %s LIMIT 0", table);
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  int count = statement ? sqlite3_column_count(statement) : 0;
  sqlite3_finalize(statement);
  return count;
}

}  // namespace

Inserter::Inserter(sqlite3* database, const char* table) : database_(database) {
  std::string sql = format("INSERT INTO %s VALUES (", table);
  for (int i = count_columns(database, table); i > 0; --i) sql += i > 1 ? "?," : "?)";
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    error_ = sqlite3_errmsg(database);
  statement_.reset(statement);
}

void Inserter::bind(int column, double value) {
  if (!std::isfinite(value) && error_.empty()) error_ = "a value is not a finite number";
  sqlite3_bind_double(statement_.get(), column, value);
}
void Inserter::bind(int column, int64_t value) {
  sqlite3_bind_int64(statement_.get(), column, value);
}
void Inserter::bind(int column, std::string_view value) {
  // An empty view may have no data, which SQLite would take for NULL.
  const char* data = value.empty() ? "" : value.data();
  sqlite3_bind_text64(statement_.get(), column, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void Inserter::bind(int column, OptionalId value) {
  if (value.id == kNoId) return bind(column, nullptr);
  bind(column, static_cast<int64_t>(value.id));
}
void Inserter::bind(int column, std::nullptr_t) {
  sqlite3_bind_null(statement_.get(), column);
}

void Inserter::step() {
  if (!error_.empty()) return;
  if (sqlite3_step(statement_.get()) != SQLITE_DONE) error_ = sqlite3_errmsg(database_);
  sqlite3_reset(statement_.get());
}

Rows::Rows(sqlite3* database, const char* table, const char* columns, int64_t first)
    : database_(database), table_(table), expected_(first) {
  std::string sql = format("SELECT rowid, %s FROM %s ORDER BY rowid", columns, table);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    fail(sqlite3_errmsg(database));
  statement_.reset(statement);
}

bool Rows::next() {
  if (failed()) return false;
  int status = sqlite3_step(statement_.get());
  if (status == SQLITE_DONE) return false;
  if (status != SQLITE_ROW) {
    fail(sqlite3_errmsg(database_));
    return false;
  }
  if (sqlite3_column_int64(statement_.get(), 0) != expected_++) {
    fail("the rows are out of order");
    return false;
  }
  column_ = 1;
  return true;
}

void Rows::fail(const std::string& what) {
  if (error_.empty())
    error_ = format("table %s, row %lld: %s", table_.c_str(), (long long)expected_, what.c_str());
}

int64_t Rows::i64() {
  int column = column_++;
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER)
    return sqlite3_column_int64(statement_.get(), column);
  fail("a number is missing");
  return 0;
}
uint64_t Rows::u64() {
  return static_cast<uint64_t>(i64());
}
uint32_t Rows::u32() {
  int64_t value = i64();
  if (value < 0 || value > int64_t{0xffffffff}) {
    fail("a number is out of range");
    return 0;
  }
  return static_cast<uint32_t>(value);
}
bool Rows::flag() {
  int64_t value = i64();
  if (value != 0 && value != 1) fail("a flag is neither 0 nor 1");
  return value == 1;
}
double Rows::real() {
  int column = column_++;
  int type = sqlite3_column_type(statement_.get(), column);
  double value = sqlite3_column_double(statement_.get(), column);
  if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && std::isfinite(value)) return value;
  fail("a number is missing");
  return 0;
}
std::string Rows::text() {
  int column = column_++;
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) {
    fail("a text is missing");
    return {};
  }
  const unsigned char* data = sqlite3_column_text(statement_.get(), column);
  if (!data) {
    fail("a text cannot be read");
    return {};
  }
  return {reinterpret_cast<const char*>(data),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}
bool Rows::is_null() {
  return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL;
}
uint32_t Rows::optional_id(size_t limit) {
  if (!is_null()) return id(limit);
  ++column_;
  return kNoId;
}
uint32_t Rows::id(size_t limit) {
  int64_t value = i64();
  if (value >= 0 && static_cast<uint64_t>(value) < limit) return static_cast<uint32_t>(value);
  fail(format("a reference to %lld, which does not exist", (long long)value));
  return 0;
}

}  // namespace fathom
