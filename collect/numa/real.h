#pragma once
// The functions that this library stands in front of.

#include <dlfcn.h>

#include "numa/state.h"

namespace fathom::numa {

/// The next definition of a function; of a version where the C library has several.
template <class Function>
Function* find_real(const char* name, const char* version = nullptr) {
  const Inside inside;
  void* found = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(found);
}

/// Found at the first call. Null: there is none.
template <class Function>
class Real {
 public:
  constexpr explicit Real(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}
  Function* get() {
    Function* function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    if (function != nullptr) return function;
    function = find_real<Function>(name_, version_);
    __atomic_store_n(&function_, function, __ATOMIC_RELEASE);
    return function;
  }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return get()(arguments...);
  }

 private:
  const char* name_;
  const char* version_;
  Function* function_ = nullptr;
};

}  // namespace fathom::numa

#define FATHOM_HOOK extern "C" __attribute__((visibility("default")))
/// real_NAME: the function of that name.
#define FATHOM_REAL(name)                                           \
  static constinit fathom::numa::Real<decltype(name)> real_##name { \
#name                                                           \
  }
#define FATHOM_REAL_VERSION(name, version)                          \
  static constinit fathom::numa::Real<decltype(name)> real_##name { \
#name, version                                                  \
  }
