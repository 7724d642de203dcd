// Loaded ahead of the program (LD_PRELOAD): tells the collectors of ends that no exit handler sees.
// Everything else about those ends stays as it is.

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#define FATHOM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Flush = void (*)(int reason, double seconds);

// As record::EndReason; this library includes nothing of the collectors.
constexpr int kReplaced = -1, kExit = 0, kAbort = 2;
constexpr double kPatienceSeconds = 2;
constexpr int kMaxCollectors = 8;

std::atomic<Flush> collectors[kMaxCollectors];
std::atomic<int> collector_count{0};
std::atomic<pid_t> process{0};

void tell(int reason) {
  // The child of a fork or vfork has nothing to tell, and a vfork's must not touch anything.
  if (process.load() != getpid()) return;
  for (int i = 0; i < collector_count.load(); ++i)
    if (const Flush flush = collectors[i].load()) flush(reason, kPatienceSeconds);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Found beforehand: looking a symbol up may lock or allocate, which a dying process must not.
using Leave = void (*)(int);
Leave real_exit, real_exit_c99;
void (*real_abort)();
int (*real_execve)(const char*, char* const[], char* const[]);
int (*real_execvpe)(const char*, char* const[], char* const[]);
int (*real_fexecve)(int, char* const[], char* const[]);

__attribute__((constructor)) void find_real_ones() {
  real_exit = next<Leave>("_exit");
  real_exit_c99 = next<Leave>("_Exit");
  real_abort = next<void (*)()>("abort");
  real_execve = next<decltype(real_execve)>("execve");
  real_execvpe = next<decltype(real_execvpe)>("execvpe");
  real_fexecve = next<decltype(real_fexecve)>("fexecve");
}

constexpr int kMaxArguments = 4096;

/// The arguments of execl and its like; false if there are too many.
bool gather(const char* first, va_list& rest, char* (&out)[kMaxArguments]) {
  int count = 0;
  for (const char* text = first;; text = va_arg(rest, const char*)) {
    if (count == kMaxArguments) return false;
    out[count++] = const_cast<char*>(text);
    if (text == nullptr) return true;
  }
}

}  // namespace

/// A collector announces what is to be called before the process ends.
FATHOM_EXPORT void fathom_exit_register(Flush flush) {
  if (process.exchange(getpid()) != getpid()) collector_count = 0;
  const int at = collector_count.load();
  if (at == kMaxCollectors) return;
  collectors[at] = flush;
  collector_count = at + 1;
}

FATHOM_EXPORT __attribute__((noreturn)) void _exit(int status) {
  tell(kExit);
  if (real_exit != nullptr) real_exit(status);
  __builtin_trap();
}

FATHOM_EXPORT __attribute__((noreturn)) void _Exit(int status) noexcept {
  tell(kExit);
  if (real_exit_c99 != nullptr) real_exit_c99(status);
  __builtin_trap();
}

FATHOM_EXPORT __attribute__((noreturn)) void abort() noexcept {
  tell(kAbort);
  if (real_abort != nullptr) real_abort();
  __builtin_trap();
}

FATHOM_EXPORT int execve(const char* path, char* const arguments[],
                         char* const environment[]) noexcept {
  tell(kReplaced);
  return real_execve(path, arguments, environment);
}

FATHOM_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return execve(path, arguments, environ);
}

FATHOM_EXPORT int execvpe(const char* file, char* const arguments[],
                          char* const environment[]) noexcept {
  tell(kReplaced);
  return real_execvpe(file, arguments, environment);
}

FATHOM_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  return execvpe(file, arguments, environ);
}

FATHOM_EXPORT int fexecve(int file, char* const arguments[], char* const environment[]) noexcept {
  tell(kReplaced);
  return real_fexecve(file, arguments, environment);
}

FATHOM_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  char* arguments[kMaxArguments];
  va_list rest;
  va_start(rest, first);
  const bool fits = gather(first, rest, arguments);
  va_end(rest);
  if (!fits) return errno = E2BIG, -1;
  return execve(path, arguments, environ);
}

FATHOM_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  char* arguments[kMaxArguments];
  va_list rest;
  va_start(rest, first);
  const bool fits = gather(first, rest, arguments);
  va_end(rest);
  if (!fits) return errno = E2BIG, -1;
  return execvpe(file, arguments, environ);
}

FATHOM_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  char* arguments[kMaxArguments];
  va_list rest;
  va_start(rest, first);
  const bool fits = gather(first, rest, arguments);
  char* const* environment = fits ? va_arg(rest, char* const*) : nullptr;
  va_end(rest);
  if (!fits) return errno = E2BIG, -1;
  return execve(path, arguments, environment);
}
