#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace fathom {

/// What went wrong decides the exit code of the program; see docs/design.md, section 1.
enum class ErrorKind { cannot_answer = 1, usage = 2, bad_input = 3 };

/// An error that a person can act on: what was wrong, where, and what to do next.
struct Error {
  ErrorKind kind = ErrorKind::bad_input;
  std::string what;   ///< one clause, without a full stop: "not an ELF file"
  std::string where;  ///< a file, with an offset or a line if there is one; may be empty
  std::string hint;   ///< what to do next; may be empty

  /// "where: what; hint" on one line.
  std::string message() const;
};

/// Ends the process because an invariant of Fathom itself is broken. Never for bad input.
[[noreturn]] inline void broken_invariant(const char* what, const char* file, int line) {
  std::fprintf(stderr, "fathom: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}
#define FATHOM_INVARIANT(condition) \
  ((condition) ? (void)0 : ::fathom::broken_invariant(#condition, __FILE__, __LINE__))

/// Either a value or an Error; used at each boundary that bad input can reach.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    FATHOM_INVARIANT(ok());
    return *std::get_if<T>(&state_);
  }
  const T& value() const& {
    FATHOM_INVARIANT(ok());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    FATHOM_INVARIANT(ok());
    return std::move(*std::get_if<T>(&state_));
  }
  const Error& error() const {
    FATHOM_INVARIANT(!ok());
    return *std::get_if<Error>(&state_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::variant<T, Error> state_;
};

/// For operations that yield nothing: `Result<Done>`.
struct Done {};

}  // namespace fathom
